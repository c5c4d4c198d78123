package model_test

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/routing"
	"github.com/stretchr/testify/require"
)

// No more requests are under way than allowed, streams to their end included, and those
// that wait get their turn in the order in which they came.
func TestInFlightLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		b, s := inMemory(t, model.Config{Limits: model.Limits{InFlight: 3}}, func(w http.ResponseWriter, r *http.Request) {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			if r.Header.Get("Accept") == "text/event-stream" {
				events(`{"choices":[{"delta":{"content":"word"}}]}`)(w, r)
				w.(http.Flusher).Flush()
				time.Sleep(time.Second)
				events(`{"choices":[{"delta":{},"finish_reason":"stop"}]}`, "[DONE]")(w, r)
				return
			}
			time.Sleep(time.Second)
			answer(okAnswer)(w, r)
		})
		var group sync.WaitGroup
		for i := range 30 {
			group.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond) // begin in a known order
				ctx := routing.NewContext(context.Background(), routing.NewSession(routing.Derive("order", string(rune('a'+i)))))
				var err error
				if i%2 == 0 {
					_, err = b.Generate(ctx, ask("x"))
				} else {
					_, err = b.Stream(ctx, ask("x")).Response()
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		begin := time.Now()
		group.Wait()
		require.EqualValues(t, 3, most.Load())
		require.InDelta(t, 10, time.Since(begin).Seconds(), 0.2)
		for i, r := range s.requests() {
			require.Equal(t, string(routing.Derive("order", string(rune('a'+i)))), r.header.Get("X-Session-ID"), "place %d", i)
		}
	})
}

// Who waits for a place can give up, and a failed attempt gives its place back.
func TestInFlightPlacesComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := inMemory(t, model.Config{Limits: model.Limits{InFlight: 1}, Retry: model.Retry{Max: 2}},
			status(500), func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			func(w http.ResponseWriter, r *http.Request) { time.Sleep(time.Minute); answer(okAnswer)(w, r) }, answer(okAnswer))
		done := make(chan error)
		go func() {
			_, err := b.Generate(routed(), ask("x"))
			done <- err
		}()
		time.Sleep(30 * time.Second)
		ctx, cancel := context.WithTimeout(routed(), time.Second)
		defer cancel()
		_, err := b.Generate(ctx, ask("x"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, <-done)
		for range 3 {
			for range b.Stream(routed(), ask("x")).Events() {
				break
			}
			_, err = b.Generate(routed(), ask("x"))
			require.NoError(t, err)
		}
		require.Len(t, s.requests(), 9)
	})
}

// A dead server is not asked by 500 trajectories as often as each of them may ask.
func TestRetryBudgetOfClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := inMemory(t, model.Config{}, status(503))
		var group sync.WaitGroup
		var spent atomic.Int64
		for range 500 {
			group.Go(func() {
				trajectory := model.NewTrajectory(b, routing.NewSession(routing.NewID()))
				_, err := trajectory.Send(context.Background(), model.User("x"))
				if err == nil {
					t.Error("no error")
				} else if err.Error() == "model: overloaded (status 503, the budget of retries is spent)" {
					spent.Add(1)
				}
			})
		}
		group.Wait()
		n := len(s.requests())
		require.GreaterOrEqual(t, n, 600)
		require.LessOrEqual(t, n, 650, "500 first attempts, 100 from the budget, one more for each second")
		require.Positive(t, spent.Load())
	})
}

func TestRetryBudgetOfTrajectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := inMemory(t, model.Config{Retry: model.Retry{ClientBudget: -1, TrajectoryBudget: 6}}, status(503))
		trajectory := model.NewTrajectory(b, routing.NewSession(routing.NewID()))
		attempts := 0
		for _, want := range []int{5, 3, 1, 1} {
			_, err := trajectory.Send(context.Background(), model.User("x"))
			require.ErrorIs(t, err, model.KindOverloaded)
			require.Equal(t, want, len(s.requests())-attempts)
			attempts = len(s.requests())
		}
		_, err := model.NewTrajectory(b, routing.NewSession(routing.NewID())).Send(context.Background(), model.User("x"))
		require.Error(t, err)
		require.Len(t, s.requests(), attempts+5, "another trajectory has a budget of its own")
	})
}

// What a server could not parse is another sample's matter, not a sick server's.
func TestOutputFailures(t *testing.T) {
	for _, message := range []string{
		"Failed to parse tool call arguments as JSON: unexpected end of input",
		"error parsing tool call: raw='{\"a\":' err=unexpected end of JSON input",
		"Failed to parse input at pos 41: <tool_call>",
	} {
		synctest.Test(t, func(t *testing.T) {
			text := `{"error":{"code":500,"type":"server_error","message":` + quoted(message) + `}}`
			b, s := inMemory(t, model.Config{Retry: model.Retry{ClientBudget: 1}}, answerStatus(500, text))
			_, err := b.Generate(routed(), ask("x"))
			require.ErrorIs(t, err, model.KindOutput)
			require.Len(t, s.requests(), 5, "the client's budget is not touched")
		})
	}
}

func TestContextLengthNumbers(t *testing.T) {
	for message, want := range map[string][2]int{
		"This model's maximum context length is 32768 tokens. However, you requested 41000 tokens (40000 in the messages, 1000 in the completion).":          {32768, 41000},
		"This model's maximum context length is 4096 tokens. However, your messages resulted in 5000 tokens.":                                                {4096, 5000},
		"The input (41000 tokens) is longer than the model's context length (32768 tokens).":                                                                 {32768, 41000},
		"request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it":                                                          {8192, 9000},
		"the request exceeds the available context size. try increasing the context size or enable context shift":                                            {0, 0},
		"This model's maximum context length is 32768 tokens. However, your request has 41000 input tokens. Please reduce the length of the input messages.": {32768, 41000},
	} {
		for _, code := range []int{400, 500} {
			synctest.Test(t, func(t *testing.T) {
				b, s := inMemory(t, model.Config{}, answerStatus(code, `{"error":{"message":`+quoted(message)+`}}`))
				_, err := b.Generate(routed(), ask("x"))
				var failure *model.Error
				require.ErrorAs(t, err, &failure)
				require.Equal(t, model.KindContextLength, failure.Kind, message)
				require.Equal(t, want, [2]int{failure.ContextLimit, failure.ContextTokens}, message)
				require.Len(t, s.requests(), 1)
			})
		}
	}
}

// An error body that never ends does not hold the call.
func TestSlowErrorBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := inMemory(t, model.Config{Retry: model.Retry{Max: -1}}, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(500)
			for r.Context().Err() == nil {
				_, _ = w.Write([]byte("x"))
				w.(http.Flusher).Flush()
				time.Sleep(time.Second)
			}
		})
		begin := time.Now()
		_, err := b.Generate(routed(), ask("x"))
		require.ErrorIs(t, err, model.KindServer)
		require.Equal(t, 10*time.Second, time.Since(begin))
		require.Len(t, s.requests(), 1)
	})
}

// A stream that was cut later begins anew if the caller wants that, and says so.
func TestResend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		word := func(text string) string { return `{"choices":[{"delta":{"content":"` + text + `"}}]}` }
		b, s := inMemory(t, model.Config{Retry: model.Retry{Resend: true}},
			events(word("a")), events(word("b"), `{"error":{"message":"boom","code":500}}`), status(500),
			events(word("c"), word("d"), `{"choices":[{"delta":{},"finish_reason":"stop"}]}`, "[DONE]"))
		stream := b.Stream(routed(), ask("x"))
		got := ""
		for event, err := range stream.Events() {
			require.NoError(t, err)
			if event.Kind == model.EventRestart {
				got += "|"
			}
			got += event.Text
		}
		require.Equal(t, "a|b|cd", got)
		res, err := stream.Response()
		require.NoError(t, err)
		require.Equal(t, "cd", res.Text)
		require.Equal(t, 4, res.Timing.Attempts)
		for _, r := range s.requests() {
			require.Equal(t, s.requests()[0].body, r.body)
			require.Equal(t, string(testID), r.header.Get("X-Session-ID"))
		}

		b, s = inMemory(t, model.Config{Retry: model.Retry{Resend: true, Max: 2}}, events(word("a")))
		_, err = b.Stream(routed(), ask("x")).Response()
		require.ErrorIs(t, err, model.ErrTruncated)
		require.Len(t, s.requests(), 3)
	})
}
