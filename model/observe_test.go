package model_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/routing"
	"github.com/stretchr/testify/require"
)

func quoted(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

func TestHooksAndLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var told []string
		tell := func(ctx context.Context, format string, args ...any) {
			s, _ := routing.FromContext(ctx)
			require.Equal(t, testID, s.ID)
			told = append(told, fmt.Sprintf(format, args...))
		}
		served := func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Served-By", "b3")
			time.Sleep(2 * time.Second)
			answer(okAnswer)(w, r)
		}
		b, _ := inMemory(t, model.Config{
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Hooks: model.Hooks{
				AttemptStart: func(ctx context.Context, n int) { tell(ctx, "start %d", n) },
				AttemptEnd: func(ctx context.Context, a model.AttemptInfo) {
					tell(ctx, "end %d %d %v %s", a.Attempt, a.StatusCode, a.FirstByte, a.Header.Get("X-Served-By"))
				},
				Retry: func(ctx context.Context, r model.RetryInfo) {
					tell(ctx, "retry %d %v %d %v", r.Attempt, r.Kind, r.StatusCode, r.RetryAfter)
				},
				Done: func(ctx context.Context, c model.CallInfo) {
					tell(ctx, "done %v %s %d %d", c.Err, c.Finish, c.Usage.PromptTokens, c.Timing.Attempts)
				},
			},
		}, status(429, "Retry-After", "1"), served, status(401))
		_, err := b.Generate(routed(), ask("secret words of the prompt"))
		require.NoError(t, err)
		_, err = b.Stream(routed(), ask("secret words of the prompt")).Response()
		require.Error(t, err)
		require.Equal(t, []string{
			"start 1", "end 1 429 0s ", "retry 1 rate limited 429 1s", "start 2", "end 2 200 2s b3", "done <nil> stop 9 2",
			"start 1", "end 1 401 0s ", "done model: not authorized (status 401)  0 1",
		}, told)
		require.Contains(t, log.String(), "attempt=1 status=429 kind=\"rate limited\" retry_after=1s")
		require.Contains(t, log.String(), "origin=http://")
		require.NotContains(t, log.String(), "secret")
		require.NotContains(t, log.String(), string(testID))
	})
}

// counting is an interceptor that counts calls of both kinds.
type counting struct {
	name string
	log  *[]string
}

func (c counting) WrapGenerate(next model.GenerateFunc) model.GenerateFunc {
	return func(ctx context.Context, req *model.Request) (*model.Response, error) {
		*c.log = append(*c.log, c.name+" generate")
		return next(ctx, req)
	}
}

func (c counting) WrapStream(next model.StreamFunc) model.StreamFunc {
	return func(ctx context.Context, req *model.Request) *model.Stream {
		return model.NewStream(func(yield func(model.Event) bool) (*model.Response, error) {
			*c.log = append(*c.log, c.name+" stream")
			stream := next(ctx, req)
			for event, err := range stream.Events() {
				if err != nil {
					return nil, err
				}
				event.Text = c.name + event.Text
				if !yield(event) {
					return nil, model.ErrAbandoned
				}
			}
			return stream.Response()
		})
	}
}

func TestChain(t *testing.T) {
	t.Parallel()
	client := &fake{generate: func(context.Context, *model.Request) (*model.Response, error) { return says("x"), nil }}
	var log []string
	chain := model.Chain(client, counting{"a", &log}, counting{"b", &log})
	trajectory := model.NewTrajectory(chain, routing.NewSession(testID))
	_, err := trajectory.Send(context.Background(), model.User("1"))
	require.NoError(t, err)
	stream := trajectory.Stream(context.Background(), model.User("2"))
	for event, err := range stream.Events() {
		require.NoError(t, err)
		require.Equal(t, "abx", event.Text)
	}
	require.Equal(t, []string{"a generate", "b generate", "a stream", "b stream"}, log)
	require.NoError(t, trajectory.End(context.Background()))
	require.Len(t, client.ended, 1, "the end reaches the client")
}

func TestRun(t *testing.T) {
	t.Parallel()
	calls := 0
	client := &fake{generate: func(_ context.Context, req *model.Request) (*model.Response, error) {
		if req.Messages.Len() >= 7 {
			return says("finished"), nil
		}
		calls++
		res := says("")
		for i := range 3 {
			res.ToolCalls = append(res.ToolCalls, model.ToolCall{ID: fmt.Sprint(calls, i), Name: "meet", Arguments: json.RawMessage(`{}`)})
		}
		return res, nil
	}}
	// Three calls that wait for each other: they can only end if they run side by side.
	arrived, all := make(chan struct{}, 3), make(chan struct{}, 3)
	meet, err := model.NewTool("meet", "", func(ctx context.Context, _ struct{}) (string, error) {
		arrived <- struct{}{}
		if len(arrived) == 3 {
			for range 3 {
				<-arrived
				all <- struct{}{}
			}
		}
		<-all
		return "met", nil
	})
	require.NoError(t, err)
	box, err := model.NewToolbox(meet)
	require.NoError(t, err)
	trajectory := model.NewTrajectory(client, routing.NewSession(testID))
	steps := 0
	var last *model.Response
	for step, err := range model.Run(context.Background(), trajectory, box, model.RunConfig{Parallel: 3}, model.User("go")) {
		require.NoError(t, err)
		steps++
		last = step.Response
	}
	require.Equal(t, 3, steps)
	require.Equal(t, "finished", last.Text)
	require.Equal(t, 10, trajectory.Snapshot().Len())
	require.Same(t, box.Tools(), trajectory.Tools)

	endless := &fake{generate: func(context.Context, *model.Request) (*model.Response, error) {
		res := says("")
		res.ToolCalls = []model.ToolCall{{ID: "1", Name: "unknown"}}
		return res, nil
	}}
	var runErr error
	steps = 0
	for _, err := range model.Run(context.Background(), model.NewTrajectory(endless, routing.NewSession(testID)), box, model.RunConfig{MaxSteps: 4}, model.User("go")) {
		steps++
		runErr = err
	}
	var limit *model.StepLimitError
	require.ErrorAs(t, runErr, &limit)
	require.Equal(t, 5, steps)

	boom := errors.New("boom")
	failing := &fake{generate: func(context.Context, *model.Request) (*model.Response, error) { return nil, boom }}
	for _, err := range model.Run(context.Background(), model.NewTrajectory(failing, routing.NewSession(testID)), box, model.RunConfig{}, model.User("go")) {
		require.ErrorIs(t, err, boom)
	}
}

func TestRunIsCanceledInATool(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	tool, err := model.NewTool("stop", "", func(ctx context.Context, _ struct{}) (string, error) {
		cancel()
		<-ctx.Done()
		return "", ctx.Err()
	})
	require.NoError(t, err)
	box, err := model.NewToolbox(tool)
	require.NoError(t, err)
	client := &fake{generate: func(context.Context, *model.Request) (*model.Response, error) {
		res := says("")
		res.ToolCalls = []model.ToolCall{{ID: "1", Name: "stop"}, {ID: "2", Name: "stop"}}
		return res, nil
	}}
	for _, err := range model.Run(ctx, model.NewTrajectory(client, routing.NewSession(testID)), box, model.RunConfig{}, model.User("go")) {
		require.ErrorIs(t, err, context.Canceled)
	}
}

func TestCompact(t *testing.T) {
	t.Parallel()
	var ids []routing.ID
	client := &fake{generate: func(ctx context.Context, _ *model.Request) (*model.Response, error) {
		s, _ := routing.FromContext(ctx)
		ids = append(ids, s.ID)
		return says("answer"), nil
	}}
	trajectory := model.NewTrajectory(client, routing.NewSession(testID), model.System("s"))
	_, err := trajectory.Send(context.Background(), model.User("1"))
	require.NoError(t, err)
	old := trajectory.Snapshot()
	require.NoError(t, trajectory.Compact(model.System("s"), model.User("in short")))
	_, err = trajectory.Send(context.Background(), model.User("2"))
	require.NoError(t, err)
	require.Equal(t, []string{"s", "in short", "2", "answer"}, texts(t, trajectory.Snapshot()))
	require.Equal(t, []string{"s", "1", "answer"}, texts(t, old))
	require.Equal(t, []routing.ID{testID, testID}, ids)
}

func TestParts(t *testing.T) {
	t.Parallel()
	m := model.UserParts(model.TextPart("what is <this>?"), model.ImagePart("data:image/png;base64,AAAA", "low"), model.ImagePart("https://host/i.png", ""), model.AudioPart("BBBB", "wav"))
	require.Equal(t, `{"role":"user","content":[{"type":"text","text":"what is <this>?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA","detail":"low"}},`+
		`{"type":"image_url","image_url":{"url":"https://host/i.png"}},{"type":"input_audio","input_audio":{"data":"BBBB","format":"wav"}}]}`, string(m.JSON()))
	require.Equal(t, "user", m.Role())
	require.JSONEq(t, `{"role":"user","content":[]}`, string(model.UserParts().JSON()))
}

// A backend that is named only behind the body, in a trailer, is seen by the audit, by the
// hooks and in the answer, for plain answers and for streams.
func TestRevealInTrailer(t *testing.T) {
	t.Parallel()
	backends := []string{"b1", "b1", "b2"}
	var mu sync.Mutex
	url := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		backend := backends[0]
		backends = backends[1:]
		mu.Unlock()
		w.Header().Set("Trailer", "X-Served-By")
		if r.Header.Get("Accept") == "text/event-stream" {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: "+wordChunk+"\n\ndata: "+stopChunk+"\n\ndata: [DONE]\n\n")
		} else {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, okAnswer)
		}
		w.Header().Set("X-Served-By", backend)
	}))
	t.Cleanup(url.Close)
	var told []string
	audit := new(routing.Audit)
	b, err := model.New(model.Config{BaseURL: url.URL, Model: "m", Audit: audit, Hooks: model.Hooks{
		Done: func(_ context.Context, c model.CallInfo) { told = append(told, c.Trailer.Get("X-Served-By")) },
	}})
	require.NoError(t, err)
	t.Cleanup(b.CloseIdleConnections)
	res, err := b.Generate(routed(), ask("x"))
	require.NoError(t, err)
	require.Equal(t, "b1", res.Trailer.Get("X-Served-By"))
	for _, want := range []string{"b1", "b2"} {
		res, err = b.Stream(routed(), ask("x")).Response()
		require.NoError(t, err)
		require.Equal(t, want, res.Trailer.Get("X-Served-By"))
	}
	require.Equal(t, []string{"b1", "b1", "b2"}, told)
	report, _ := audit.Session(testID)
	require.Equal(t, routing.SessionReport{ID: testID, Requests: 3, Revealed: 3, Mismatches: 1, Backends: []string{"b1", "b2"}}, report)
}
