package compat

import (
	"bytes"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/homing-go/homing/routing"
)

// once is one call in a session, and one under routing.Without.
func (p Peer) once(t *testing.T, streamed bool) Outcome {
	server, url := record(t, p.Wire.answer)
	call := p.Open(t, url).of(streamed)
	id := routing.NewID()
	ctx := routing.NewContext(within(t), routing.NewSession(id))

	text, err := call(ctx, "hello")
	require.NoError(t, err)
	require.Equal(t, Answer, text)
	requests := server.all()
	require.Len(t, requests, 1)
	require.Equal(t, streamed, requests[0].streams(), "the request asks for the other kind of answer")
	got, err := judge(requests, id)
	require.NoError(t, err)
	if streamed {
		expect(t, p.Streamed, got)
	} else {
		expect(t, p.Plain, got)
	}

	_, err = call(routing.Without(ctx), "hello")
	require.NoError(t, err)
	requests = server.all()
	require.Len(t, requests, 2)
	require.Empty(t, requests[1].named(header), "after routing.Without")
	return got
}

// retried is a plain call and a stream whose first attempt fails.
func (p Peer) retried(t *testing.T) Outcome {
	var got [2]Outcome
	passed := t.Run("kinds", func(t *testing.T) {
		for i, name := range []string{"plain", "streamed"} {
			t.Run(name, func(t *testing.T) {
				t.Parallel() // for those that wait between attempts
				got[i] = p.retriedAs(t, i == 1)
			})
		}
	})
	if !passed {
		return ""
	}
	expect(t, p.Retried, got[0])
	expect(t, p.Retried, got[1])
	return got[0]
}

func (p Peer) retriedAs(t *testing.T, streamed bool) Outcome {
	server, url := record(t, p.failFirst())
	id := routing.NewID()
	ctx := routing.NewContext(within(t), routing.NewSession(id))
	text, err := p.Open(t, url).of(streamed)(ctx, "hello")
	requests := server.all()
	got, fault := judge(requests, id)
	require.NoError(t, fault)
	if err != nil {
		require.Len(t, requests, 1, "an error after a second attempt: %v", err)
		require.NotEqual(t, ContextLost, got)
		return NoRetries
	}
	require.Equal(t, Answer, text)
	require.Len(t, requests, 2)
	require.Equal(t, string(requests[0].body), string(requests[1].body), "the bytes of the second attempt")
	return got
}

func (p Peer) failFirst() func(request) reply {
	var first sync.Once
	return func(r request) reply {
		a := p.Wire.answer(r)
		first.Do(func() { a = p.Wire.fail() })
		return a
	}
}

// rounds is how many calls each of two sessions makes at the same time as the other.
const rounds = 6

// together is two sessions on one client, each of whose requests is on its way while
// one of the other is.
func (p Peer) together(t *testing.T) {
	server, url := record(t, p.inPairs())
	client := p.Open(t, url)
	prompts := [2]string{"I am the first.", "I am the second."}
	var ids [2]routing.ID
	var errs [2][rounds]error
	var both sync.WaitGroup
	for i := range ids {
		ids[i] = routing.NewID()
		ctx := routing.NewContext(within(t), routing.NewSession(ids[i]))
		both.Go(func() {
			for n := range rounds {
				_, errs[i][n] = client.of((n+i)%2 == 1)(ctx, prompts[i])
			}
		})
	}
	both.Wait()
	for i := range ids {
		for n, err := range errs[i] {
			require.NoError(t, err, "session %d, call %d", i+1, n+1)
		}
	}
	var of [2][]request
	for _, r := range server.all() {
		first, second := bytes.Contains(r.body, []byte(prompts[0])), bytes.Contains(r.body, []byte(prompts[1]))
		require.NotEqual(t, first, second, "a body with the prompts of both or of none")
		if first {
			of[0] = append(of[0], r)
		} else {
			of[1] = append(of[1], r)
		}
	}
	for i := range of {
		require.Len(t, of[i], rounds)
		var plain, streamed []request
		for _, r := range of[i] {
			if r.streams() {
				streamed = append(streamed, r)
			} else {
				plain = append(plain, r)
			}
		}
		p.expectAll(t, p.Plain, plain, ids[i])
		p.expectAll(t, p.Streamed, streamed, ids[i])
	}
}

func (p Peer) expectAll(t *testing.T, want Outcome, requests []request, id routing.ID) {
	t.Helper()
	got, err := judge(requests, id)
	require.NoError(t, err)
	expect(t, want, got)
}

// inPairs holds each request until another one is there. A session has one on its way
// at a time, so the other is of the other session.
func (p Peer) inPairs() func(request) reply {
	var mu sync.Mutex
	var waiting chan struct{}
	return func(r request) reply {
		mu.Lock()
		defer mu.Unlock()
		if waiting == nil {
			waiting = make(chan struct{})
			a := p.Wire.answer(r)
			a.until = waiting
			return a
		}
		close(waiting)
		waiting = nil
		return p.Wire.answer(r)
	}
}
