package model_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/routing"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"
)

const (
	roleChunk = `{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`
	wordChunk = `{"choices":[{"index":0,"delta":{"content":"word"}}]}`
	stopChunk = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
)

// Every request carries the session: the first attempt, a retry, a stream, a redirect
// inside of the origin, each turn of a tool loop, and all of them from a wrapped client.
func TestSessionOnEveryRequest(t *testing.T) {
	t.Parallel()
	redirect := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/moved", http.StatusTemporaryRedirect)
	}
	calls := answer(`{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"look","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`)
	generate := func(b *model.Base) error {
		_, err := b.Generate(routed(), ask("x"))
		return err
	}
	stream := func(b *model.Base) error {
		_, err := b.Stream(routed(), ask("x")).Response()
		return err
	}
	for name, test := range map[string]struct {
		steps []http.HandlerFunc
		call  func(b *model.Base) error
	}{
		"first attempt":      {[]http.HandlerFunc{answer(okAnswer)}, generate},
		"retries":            {[]http.HandlerFunc{status(503), status(429), answer(""), answer(okAnswer)}, generate},
		"stream":             {[]http.HandlerFunc{events(wordChunk, stopChunk, "[DONE]")}, stream},
		"retries of streams": {[]http.HandlerFunc{status(500), events(roleChunk), events(wordChunk, stopChunk)}, stream},
		"redirect":           {[]http.HandlerFunc{redirect, answer(okAnswer)}, generate},
		"redirect of stream": {[]http.HandlerFunc{redirect, events(wordChunk, stopChunk)}, stream},
		"tool turns": {[]http.HandlerFunc{calls, status(500), calls, answer(okAnswer)}, func(b *model.Base) error {
			look, err := model.NewTool("look", "", func(context.Context, struct{}) (string, error) { return "seen", nil })
			if err != nil {
				return err
			}
			box, err := model.NewToolbox(look)
			if err != nil {
				return err
			}
			for _, stepErr := range model.Run(context.Background(), model.NewTrajectory(b, routing.NewSession(testID)), box, model.RunConfig{}, model.User("x")) {
				err = errors.Join(err, stepErr)
			}
			return err
		}},
	} {
		for _, wrapped := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, wrapped %v", name, wrapped), func(t *testing.T) {
				t.Parallel()
				s, url := serve(t, test.steps...)
				b, err := model.New(model.Config{BaseURL: url, Model: "m", Retry: quick})
				if wrapped {
					b, err = model.Wrap(openai.NewClient(option.WithBaseURL(url), option.WithAPIKey("k")), model.Config{Model: "m", Retry: quick})
				}
				require.NoError(t, err)
				t.Cleanup(b.CloseIdleConnections)
				require.NoError(t, test.call(b))
				require.Len(t, s.requests(), len(test.steps))
				for i, r := range s.requests() {
					require.Equal(t, []string{string(testID)}, r.header.Values("X-Session-ID"), "request %d", i+1)
				}
			})
		}
	}
}

// A server that stays down is asked five times with Max 4, whatever the way to it.
func TestAttemptsOnPersistent503(t *testing.T) {
	t.Parallel()
	for _, wrapped := range []bool{false, true} {
		s, url := serve(t, status(503))
		cfg := model.Config{Model: "m", Retry: model.Retry{Max: 4, MinWait: quick.MinWait, MaxWait: quick.MaxWait}}
		var b *model.Base
		var err error
		if wrapped {
			b, err = model.Wrap(openai.NewClient(option.WithBaseURL(url), option.WithAPIKey("k")), cfg)
		} else {
			cfg.BaseURL = url
			b, err = model.New(cfg)
		}
		require.NoError(t, err)
		_, err = b.Generate(routed(), ask("x"))
		require.ErrorIs(t, err, model.KindOverloaded)
		require.Len(t, s.requests(), 5)
		_, err = b.Stream(routed(), ask("x")).Response()
		require.ErrorIs(t, err, model.KindOverloaded)
		require.Len(t, s.requests(), 10)
		b.CloseIdleConnections()
	}
}

// When all attempts are used up the error still has what the server said last, as an
// *Error and as the SDK's own type, for every form of body.
func TestTypedErrorAfterExhaustion(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ contentType, body, message string }{
		"openai":        {"application/json", `{"error":{"message":"no room","type":"server_error","code":"busy"}}`, "no room"},
		"text of error": {"application/json", `{"error":"no room"}`, "no room"},
		"old vllm":      {"application/json", `{"object":"error","message":"no room","type":"InternalServerError","param":null,"code":503}`, "no room"},
		"detail":        {"application/json", `{"detail":"no room"}`, "no room"},
		"text":          {"text/plain", "no room", "no room"},
		"html":          {"text/html", "<html>no room</html>", "<html>no room</html>"},
		"empty":         {"", "", ""},
	} {
		s, url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", test.contentType)
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(test.body))
		})
		b := open(t, model.Config{BaseURL: url})
		for range 2 {
			_, err := b.Generate(routed(), ask("x"))
			var failure *model.Error
			require.ErrorAs(t, err, &failure, name)
			require.Equal(t, 5, failure.Attempts, name)
			require.Equal(t, 503, failure.StatusCode, name)
			require.Equal(t, test.message, failure.Message, name)
			require.Equal(t, test.body, string(failure.Body), name)
			var sdk *openai.Error
			require.ErrorAs(t, err, &sdk, name)
			require.Equal(t, 503, sdk.StatusCode, name)
		}
		require.Len(t, s.requests(), 10, name)
	}
}

// A server that asks for a wait gets it, to the millisecond, each of 200 times; one that
// asks for more than the cap is not asked again.
func TestRetryAfterIsHonouredAlways(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(1, 2))
		var asked time.Duration
		var refusedAt time.Time
		requests := 0
		b, _ := inMemory(t, model.Config{Retry: model.Retry{MaxRetryAfter: 100 * time.Second}}, func(w http.ResponseWriter, r *http.Request) {
			if requests++; requests%2 == 0 {
				if got := time.Since(refusedAt); got != asked {
					t.Errorf("waited for %v, the server asked for %v", got, asked)
				}
				answer(okAnswer)(w, r)
				return
			}
			asked, refusedAt = time.Duration(1+random.IntN(100_000))*time.Millisecond, time.Now()
			code := []int{429, 500, 503, 529}[random.IntN(4)]
			w.Header().Set("Retry-After", strconv.FormatFloat(asked.Seconds(), 'f', 3, 64))
			w.WriteHeader(code)
		})
		for range 200 {
			_, err := b.Generate(routed(), ask("x"))
			require.NoError(t, err)
		}
		require.Equal(t, 400, requests)

		b, s := inMemory(t, model.Config{Retry: model.Retry{MaxRetryAfter: 100 * time.Second}}, status(429, "Retry-After", "101"))
		begin := time.Now()
		_, err := b.Generate(routed(), ask("x"))
		var failure *model.Error
		require.ErrorAs(t, err, &failure)
		require.Equal(t, 101*time.Second, failure.RetryAfter)
		require.Len(t, s.requests(), 1)
		require.Zero(t, time.Since(begin))
	})
}

// A failure inside of a success obeys the header of that success: the wait that it asks
// for is honoured, and one over the cap ends the call.
func TestRetryAfterBesideAnErrorInside(t *testing.T) {
	failing := func(wait string, step http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", wait)
			step(w, r)
		}
	}
	inside := `{"error":{"message":"slow","type":"rate_limit_error"}}`
	for name, step := range map[string]http.HandlerFunc{"plain": answer(inside), "stream": events(inside)} {
		for wait, attempts := range map[string]int{"17": 2, "121": 1, "1e300": 1} {
			t.Run(name+" "+wait, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b, s := inMemory(t, model.Config{}, failing(wait, step), events(wordChunk, stopChunk))
					ctx, cancel := context.WithTimeout(routed(), time.Hour)
					defer cancel()
					begin := time.Now()
					_, err := b.Stream(ctx, ask("x")).Response()
					require.Len(t, s.requests(), attempts)
					if attempts == 2 {
						require.NoError(t, err)
						require.Equal(t, 17*time.Second, time.Since(begin))
						return
					}
					var failure *model.Error
					require.ErrorAs(t, err, &failure)
					require.Equal(t, model.KindRateLimited, failure.Kind)
					require.Greater(t, failure.RetryAfter, 2*time.Minute)
					require.Zero(t, time.Since(begin))
				})
			})
		}
	}
}

// A stream that ends without a terminal signal is an error, however it ends and whatever
// came before; keep-alives do not make it whole.
func TestTruncatedStream(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]http.HandlerFunc{
		"after a chunk":         events(wordChunk),
		"inside of a chunk":     events(wordChunk, stopChunk[:len(stopChunk)-8]),
		"after keep-alives":     events(wordChunk, "", ": keep-alive", "null"),
		"empty finish reason":   events(`{"choices":[{"index":0,"delta":{"content":"word"},"finish_reason":""}]}`),
		"finish of other":       events(wordChunk, `{"choices":[{"index":1,"delta":{},"finish_reason":"stop"}]}`),
		"mark inside of a text": events(wordChunk, `{"choices":[{"index":0,"delta":{"content":"[DONE]"}}]}`),
		"connection breaks": func(w http.ResponseWriter, r *http.Request) {
			events(wordChunk)(w, r)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		},
		"no blank line": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte("data: " + wordChunk))
		},
	} {
		s, url := serve(t, step)
		stream := open(t, model.Config{BaseURL: url}).Stream(routed(), ask("x"))
		text := ""
		var last error
		for event, err := range stream.Events() {
			text += event.Text
			last = err
		}
		require.Contains(t, text, "word", name)
		require.ErrorIs(t, last, model.ErrTruncated, name)
		res, err := stream.Response()
		require.ErrorIs(t, err, model.ErrTruncated, name)
		require.Nil(t, res, name)
		require.Len(t, s.requests(), 1, name)
	}
}

// A loop that is left early holds no connection, twenty times of twenty.
func TestEarlyBreaksHoldNoConnection(t *testing.T) {
	t.Parallel()
	conns, url := counted(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		events(wordChunk)(w, r)
		w.(http.Flusher).Flush()
		<-r.Context().Done() // an abandoned stream is told to the server
	}))
	b := open(t, model.Config{BaseURL: url})
	for range 20 {
		stream := b.Stream(routed(), ask("x"))
		for _, err := range stream.Events() {
			require.NoError(t, err)
			break
		}
		_, err := stream.Response()
		require.ErrorIs(t, err, model.ErrAbandoned)
	}
	conns.await(t, 0)
	require.Equal(t, 20, conns.all())
}

// As many connections are opened as there are requests under way: 64 for 640 requests, 64
// at a time, against a server that takes 5 ms.
func TestConnectionsFor640Requests(t *testing.T) {
	t.Parallel()
	const inFlight, requests = 64, 640
	var arrived atomic.Int64
	all := make(chan struct{})
	conns, url := counted(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if arrived.Add(1) == inFlight {
			close(all)
		}
		<-all // so that there are as many at a time from the beginning
		time.Sleep(5 * time.Millisecond)
		if r.Header.Get("Accept") == "text/event-stream" {
			events(wordChunk, stopChunk, "[DONE]")(w, r)
		} else {
			answer(okAnswer)(w, r)
		}
	}))
	b := open(t, model.Config{BaseURL: url})
	var group sync.WaitGroup
	for i := range inFlight {
		group.Go(func() {
			ctx := routing.NewContext(context.Background(), routing.NewSession(routing.NewID()))
			for n := range requests / inFlight {
				var err error
				if (i+n)%2 == 0 {
					_, err = b.Generate(ctx, ask("x"))
				} else {
					_, err = b.Stream(ctx, ask("x")).Response()
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	require.EqualValues(t, requests, arrived.Load())
	require.Equal(t, inFlight, conns.all())
	b.CloseIdleConnections()
	conns.await(t, 0)
}

// A session whose requests fail takes nothing from the others: their idle connections
// stay open and are used again. Only the connection that an attempt broke is lost.
func TestFailingSessionLeavesIdleConnections(t *testing.T) {
	t.Parallel()
	const others = 16
	bad := routing.NewID()
	for _, wrapped := range []bool{false, true} {
		var arrived, failed atomic.Int64
		all := make(chan struct{})
		conns, url := counted(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Session-ID") != string(bad) {
				if arrived.Add(1) == others {
					close(all)
				}
				<-all
				answer(okAnswer)(w, r)
				return
			}
			switch failed.Add(1) {
			case 1, 2, 3, 4, 5:
				status(503)(w, r)
			case 6, 7, 8, 9, 10:
				answer(okAnswer[:20])(w, r)
			case 11:
				status(400)(w, r)
			case 12: // the caller cancels
				<-r.Context().Done()
			default:
				panic(http.ErrAbortHandler)
			}
		}))
		pool := model.NewTransport()
		t.Cleanup(pool.CloseIdleConnections)
		b := open(t, model.Config{BaseURL: url, HTTPClient: &http.Client{Transport: pool}})
		if wrapped {
			var err error
			b, err = model.Wrap(openai.NewClient(option.WithBaseURL(url), option.WithAPIKey("k"), option.WithHTTPClient(&http.Client{Transport: pool})), model.Config{Model: "m", Retry: quick})
			require.NoError(t, err)
		}
		everyone := func() {
			var group sync.WaitGroup
			for range others {
				group.Go(func() {
					if _, err := b.Generate(routed(), ask("x")); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
		}
		everyone()
		require.Equal(t, others, conns.all())
		broken := 0
		for _, test := range []struct {
			kind   model.Kind
			broken int
		}{{model.KindOverloaded, 0}, {model.KindTruncated, 0}, {model.KindBadRequest, 0}, {model.KindCanceled, 1}, {model.KindTransport, 5}} {
			ctx, cancel := context.WithTimeout(routing.NewContext(context.Background(), routing.NewSession(bad)), time.Minute)
			if test.kind == model.KindCanceled {
				time.AfterFunc(50*time.Millisecond, cancel)
			}
			_, err := b.Generate(ctx, ask("x"))
			cancel()
			require.ErrorIs(t, err, test.kind)
			broken += test.broken
		}
		conns.await(t, others-broken)
		require.Equal(t, others, conns.all(), "the failing session used what was idle")
		everyone()
		require.LessOrEqual(t, conns.all()-others, broken)
		pool.CloseIdleConnections()
		conns.await(t, 0)
	}
}
