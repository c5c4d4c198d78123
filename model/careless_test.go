package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/routing"
	"github.com/openai/openai-go/v3"
	"github.com/stretchr/testify/require"
)

// One request may be used by many calls at a time, plain and streamed; none changes it.
func TestRequestIsSharedByCalls(t *testing.T) {
	t.Parallel()
	s, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept") == "text/event-stream" {
			events(wordChunk, stopChunk)(w, r)
		} else {
			answer(okAnswer)(w, r)
		}
	})
	b := open(t, model.Config{BaseURL: url})
	tools, err := model.NewTools(model.ToolDef{Name: "f"})
	require.NoError(t, err)
	req := ask("x")
	req.Tools, req.Params.Stop = tools, []string{"a", "b"}
	req.Extra = map[string]json.RawMessage{"top_k": json.RawMessage("20"), "chat_template_kwargs": json.RawMessage("{}")}
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			ctx := routing.NewContext(context.Background(), routing.NewSession(routing.NewID()))
			for range 4 {
				var err error
				if i%2 == 0 {
					_, err = b.Generate(ctx, req)
				} else {
					_, err = b.Stream(ctx, req).Response()
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	bodies := map[string]int{}
	for _, r := range s.requests() {
		bodies[r.body]++
	}
	require.Len(t, bodies, 2)
	require.Len(t, req.Extra, 2)
}

// A response belongs to its caller, who may do anything to it: the history stays.
func TestResponseIsTheCallers(t *testing.T) {
	t.Parallel()
	message := `{"role":"assistant","content":"fine","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]}`
	scribble := func(res *model.Response) {
		for _, b := range [][]byte{res.Raw, res.ToolCalls[0].Arguments} {
			for i := range b {
				b[i] = '!'
			}
			_ = append(b, '!')
		}
		res.Header.Set("Content-Type", "!")
	}
	for name, b := range map[string]*model.Base{
		"plain": through(t, model.Config{}, func(*http.Request) (*http.Response, error) {
			return response("application/json", `{"choices":[{"message":`+message+`}]}`), nil
		}),
		"stream": through(t, model.Config{}, streamed(chunkStream("tool_calls", message))),
	} {
		stream := b.Stream(routed(), ask("x"))
		res, err := stream.Response()
		require.NoError(t, err, name)
		want := string(res.Message.JSON())
		transcript := model.NewTranscript(model.User("x"))
		scribble(res)
		require.Equal(t, want, string(res.Message.JSON()), name)
		require.Equal(t, "fine", res.Text, name)
		transcript.Append(res.Message)
		require.Contains(t, string(transcript.Snapshot().JSON()), want, name)
		again, err := stream.Response()
		require.NoError(t, err, name)
		require.Same(t, res, again, name)
	}
}

// A client that was not made by New or Wrap says so; it does not send, and does not panic.
func TestZeroBase(t *testing.T) {
	t.Parallel()
	var none *model.Base
	for _, b := range []*model.Base{new(model.Base), none} {
		var config *model.ConfigError
		_, err := b.Generate(routed(), ask("x"))
		require.ErrorAs(t, err, &config)
		_, err = b.Stream(routed(), ask("x")).Response()
		require.ErrorAs(t, err, &config)
		api := b.API()
		_, err = api.Models.List(routing.Without(context.Background()))
		require.ErrorAs(t, err, &config)
		require.ErrorAs(t, b.End(routed()), &config)
		b.CloseIdleConnections()
	}
}

// A server that is gone, and one that goes in the middle, give typed errors.
func TestClosedServer(t *testing.T) {
	t.Parallel()
	_, url := serve(t, answer(okAnswer))
	b := open(t, model.Config{BaseURL: "http://127.0.0.1:1/v1"})
	for _, err := range []error{errOf(b.Generate(routed(), ask("x"))), errOf(b.Stream(routed(), ask("x")).Response())} {
		var failure *model.Error
		require.ErrorAs(t, err, &failure)
		require.Equal(t, model.KindTransport, failure.Kind)
		require.Equal(t, 5, failure.Attempts)
	}
	b = open(t, model.Config{BaseURL: url})
	_, err := b.Generate(routed(), ask("x"))
	require.NoError(t, err)
	b.CloseIdleConnections()
	_, err = b.Generate(routed(), ask("x"))
	require.NoError(t, err, "a client whose idle connections were closed opens new ones")
}

// A history of any length goes out whole.
func TestHugeHistory(t *testing.T) {
	t.Parallel()
	var got int64
	b := through(t, model.Config{}, func(req *http.Request) (*http.Response, error) {
		n, err := io.Copy(io.Discard, req.Body)
		got = n
		if n != req.ContentLength {
			return nil, fmt.Errorf("%d bytes came, %d were announced", n, req.ContentLength)
		}
		return response("application/json", okAnswer), err
	})
	transcript := model.NewTranscript()
	for range 100_000 / fewer {
		transcript.Append(model.User(strings.Repeat("x", 100)))
	}
	transcript.Append(model.User(strings.Repeat("y", 10*mib)))
	_, err := b.Generate(routed(), &model.Request{Messages: transcript.Snapshot()})
	require.NoError(t, err)
	require.Greater(t, got, int64(transcript.Snapshot().Size()))
}

// Whoever leaves the loop over a stream by a panic or by ending the goroutine leaves nothing
// behind: no connection, no place among those in flight, no busy trajectory, no lost turn.
func TestConsumerPanics(t *testing.T) {
	t.Parallel()
	conns, url := counted(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept") != "text/event-stream" {
			answer(okAnswer)(w, r)
			return
		}
		events(wordChunk)(w, r)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	var told []error
	b := open(t, model.Config{BaseURL: url, Limits: model.Limits{InFlight: 1}, Hooks: model.Hooks{Done: func(_ context.Context, c model.CallInfo) { told = append(told, c.Err) }}})
	trajectory := model.NewTrajectory(b, routing.NewSession(testID), model.System("s"))
	for name, leave := range map[string]func(){"panic": func() { panic("in the loop") }, "goexit": runtime.Goexit} {
		for _, stream := range []*model.Stream{b.Stream(routed(), ask("x")), trajectory.Stream(context.Background(), model.User("x"))} {
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer func() { _ = recover() }()
				for range stream.Events() {
					leave()
				}
			}()
			<-done
			_, err := stream.Response()
			require.ErrorIs(t, err, model.ErrAbandoned, name)
			require.Equal(t, 1, trajectory.Snapshot().Len(), name)
		}
	}
	require.Equal(t, []error{model.ErrAbandoned, model.ErrAbandoned, model.ErrAbandoned, model.ErrAbandoned}, told)
	conns.await(t, 0)
	_, err := trajectory.Send(context.Background(), model.User("x"))
	require.NoError(t, err)
	require.Equal(t, 3, trajectory.Snapshot().Len())
}

// A hook that panics takes its call down and nothing else.
func TestHooksPanic(t *testing.T) {
	t.Parallel()
	conns, url := counted(t, answer(okAnswer))
	for name, hooks := range map[string]model.Hooks{
		"start": {AttemptStart: func(context.Context, int) { panic("hook") }},
		"end":   {AttemptEnd: func(context.Context, model.AttemptInfo) { panic("hook") }},
		"done":  {Done: func(context.Context, model.CallInfo) { panic("hook") }},
		"retry": {Retry: func(context.Context, model.RetryInfo) { panic("hook") }},
	} {
		var armed atomic.Bool
		armed.Store(true)
		guarded := hooks
		if hooks.AttemptStart != nil {
			guarded.AttemptStart = func(ctx context.Context, n int) {
				if armed.Load() {
					hooks.AttemptStart(ctx, n)
				}
			}
		}
		if hooks.AttemptEnd != nil {
			guarded.AttemptEnd = func(ctx context.Context, a model.AttemptInfo) {
				if armed.Load() {
					hooks.AttemptEnd(ctx, a)
				}
			}
		}
		if hooks.Done != nil {
			guarded.Done = func(ctx context.Context, c model.CallInfo) {
				if armed.Load() {
					hooks.Done(ctx, c)
				}
			}
		}
		var base http.RoundTripper = model.NewTransport()
		b := open(t, model.Config{BaseURL: url, Limits: model.Limits{InFlight: 1}, Hooks: guarded, HTTPClient: &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
			if name == "retry" && armed.Load() {
				return nil, errors.New("down")
			}
			return base.RoundTrip(req)
		})}})
		trajectory := model.NewTrajectory(b, routing.NewSession(testID))
		for range 3 {
			require.Panics(t, func() { _, _ = b.Generate(routed(), ask("x")) }, name)
			require.Panics(t, func() { _, _ = b.Stream(routed(), ask("x")).Response() }, name)
			require.Panics(t, func() { _, _ = trajectory.Send(context.Background(), model.User("x")) }, name)
		}
		armed.Store(false)
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		_, err := trajectory.Send(ctx, model.User("x"))
		cancel()
		require.NoError(t, err, name)
		require.Equal(t, 2, trajectory.Snapshot().Len(), name)
		base.(*http.Transport).CloseIdleConnections()
	}
	conns.await(t, 0)
}

// The context that a hook is given may be used for calls of its own: each is itself.
func TestCallsInsideOfHooks(t *testing.T) {
	t.Parallel()
	s, url := serve(t, status(500), answer(`{"object":"list","data":[],"model":"m","usage":{"prompt_tokens":1,"total_tokens":1}}`), answer(okAnswer))
	var api openai.Client
	var inner error
	b := open(t, model.Config{BaseURL: url, Hooks: model.Hooks{Retry: func(ctx context.Context, _ model.RetryInfo) {
		_, inner = api.Embeddings.New(ctx, openai.EmbeddingNewParams{Model: "e", Input: openai.EmbeddingNewParamsInputUnion{OfString: openai.String("y")}})
	}}})
	api = b.API()
	res, err := b.Generate(routed(), ask("x"))
	require.NoError(t, err)
	require.NoError(t, inner)
	require.Equal(t, "fine", res.Text)
	require.Equal(t, 2, res.Timing.Attempts)
	var paths []string
	for _, r := range s.requests() {
		paths = append(paths, r.path)
		require.Equal(t, string(testID), r.header.Get("X-Session-ID"))
		require.Equal(t, r.path == "/embeddings", strings.Contains(r.body, `"input":"y"`))
	}
	require.Equal(t, []string{"/chat/completions", "/embeddings", "/chat/completions"}, paths)
}

// A trajectory that is used against its rules says so and loses nothing.
func TestTrajectoryMisuse(t *testing.T) {
	t.Parallel()
	b := through(t, model.Config{}, func(req *http.Request) (*http.Response, error) {
		if req.Header.Get("Accept") == "text/event-stream" {
			return response("text/event-stream", chunkStream("stop", `{"content":"a"}`, `{"content":"b"}`)), nil
		}
		return response("application/json", okAnswer), nil
	})
	trajectory := model.NewTrajectory(b, routing.NewSession(testID))
	stream := trajectory.Stream(context.Background(), model.User("1"))
	for _, err := range stream.Events() { // a turn inside of a turn
		require.NoError(t, err)
		_, err = trajectory.Send(context.Background(), model.User("2"))
		require.ErrorIs(t, err, model.ErrBusy)
		_, err = trajectory.Stream(context.Background(), model.User("2")).Response()
		require.ErrorIs(t, err, model.ErrBusy)
		require.ErrorIs(t, trajectory.Compact(), model.ErrBusy)
		require.Zero(t, trajectory.Snapshot().Len())
	}
	require.Equal(t, []string{"1", "ab"}, texts(t, trajectory.Snapshot()))

	late := trajectory.Stream(context.Background(), model.User("late")) // begins when it is used
	_, err := trajectory.Send(context.Background(), model.User("2"))
	require.NoError(t, err)
	_, err = late.Response()
	require.NoError(t, err)
	require.Equal(t, []string{"1", "ab", "2", "fine", "late", "ab"}, texts(t, trajectory.Snapshot()))

	var zero model.Trajectory
	_, err = zero.Send(context.Background(), model.User("x"))
	require.Error(t, err)
	_, err = zero.Stream(context.Background(), model.User("x")).Response()
	require.Error(t, err)
	require.Zero(t, zero.Snapshot().Len())
	require.NoError(t, zero.End(context.Background()))
	require.NoError(t, zero.Compact(model.User("x")))

	_, err = model.NewTrajectory(b, routing.NewSession(testID)).Send(context.Background())
	var request *model.RequestError
	require.ErrorAs(t, err, &request, "a turn of nothing")
	none := model.NewTrajectory(noStream{b}, routing.NewSession(testID))
	_, err = none.Stream(context.Background(), model.User("x")).Response()
	require.Error(t, err)
	_, err = none.Send(context.Background(), model.User("x"))
	require.NoError(t, err)
}

// noStream is a decorator that forgot to return a stream.
type noStream struct{ model.Client }

func (noStream) Stream(context.Context, *model.Request) *model.Stream { return nil }

// Turns that fail cost no memory: what was appended for them is not kept.
func TestFailedTurnsAreForgotten(t *testing.T) {
	fail := true
	client := &fake{generate: func(context.Context, *model.Request) (*model.Response, error) {
		if fail = !fail; !fail {
			return nil, errors.New("down")
		}
		return says(strings.Repeat("a", 200)), nil
	}}
	trajectory := model.NewTrajectory(client, routing.NewSession(testID))
	live := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := live()
	for range 1000 {
		for {
			if _, err := trajectory.Send(context.Background(), model.User(strings.Repeat("q", 200))); err == nil {
				break
			}
		}
	}
	held := live() - before
	t.Logf("%d KiB held for a history of %d KiB", held/kib, trajectory.Snapshot().Size()/kib)
	require.Equal(t, 2000, trajectory.Snapshot().Len())
	require.Less(t, held, 8*trajectory.Snapshot().Size())
	runtime.KeepAlive(trajectory)
}

// A loop without a toolbox is one answer; a call that comes all the same is answered.
func TestRunWithoutToolbox(t *testing.T) {
	t.Parallel()
	asked := 0
	client := &fake{generate: func(context.Context, *model.Request) (*model.Response, error) {
		res := says("x")
		if asked++; asked == 1 {
			res.ToolCalls = []model.ToolCall{{ID: "1", Name: "f"}}
		}
		return res, nil
	}}
	steps := 0
	for step, err := range model.Run(context.Background(), model.NewTrajectory(client, routing.NewSession(testID)), nil, model.RunConfig{}, model.User("x")) {
		require.NoError(t, err)
		if steps++; steps == 1 {
			require.Contains(t, string(step.Results[0].JSON()), "no tool")
		}
	}
	require.Equal(t, 2, steps)
}

// What one trajectory could not try again because the client's budget was spent is not taken
// from its own budget.
func TestBudgetsAreNotSpentInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := true
		b, s := inMemory(t, model.Config{Retry: model.Retry{ClientBudget: 1, TrajectoryBudget: 4}}, func(w http.ResponseWriter, r *http.Request) {
			if down {
				status(503)(w, r)
				return
			}
			answer(okAnswer)(w, r)
		})
		trajectory := model.NewTrajectory(b, routing.NewSession(testID))
		for range 10 { // the client's one retry goes to the first, and comes back in a second
			_, err := trajectory.Send(context.Background(), model.User("x"))
			require.ErrorIs(t, err, model.KindOverloaded)
		}
		before := len(s.requests())
		time.Sleep(time.Minute)
		_, err := trajectory.Send(context.Background(), model.User("x"))
		require.Error(t, err)
		require.Greater(t, len(s.requests())-before, 1, "the trajectory has retries left")
	})
}

// A tool without a function is refused when it is made, and one that panics is told to the model.
func TestToolsThatBreak(t *testing.T) {
	t.Parallel()
	_, err := model.NewTool[struct{}]("f", "", nil)
	require.ErrorContains(t, err, "function is nil")
	_, err = model.RawTool(model.ToolDef{Name: "f"}, nil)
	require.ErrorContains(t, err, "function is nil")
	tool, err := model.NewTool("f", "", func(context.Context, struct{}) (string, error) { panic("in the tool") })
	require.NoError(t, err)
	box, err := model.NewToolbox(tool)
	require.NoError(t, err)
	results, err := box.Results(context.Background(), []model.ToolCall{{ID: "1", Name: "f", Arguments: []byte("{}")}})
	require.NoError(t, err)
	require.Contains(t, string(results[0].JSON()), "panicked: in the tool")
}
