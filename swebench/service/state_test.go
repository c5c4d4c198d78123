package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/homing-go/homing/internal/memhttp"
	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/service"
	"github.com/stretchr/testify/require"
)

// A run whose runner succeeds has that state and phase, the result and full counters.
func TestCase079_Succeeded(t *testing.T) {
	t.Parallel()
	w := start(t, script(t, `{"runs":{"*":{"counters":{"submitted_instances":2,"resolved_instances":1,"x":1.50,"big":123456789012345678901}}}}`))
	id := w.submit(body("", "a", "b")).RunID
	v := w.until(id, swebench.StateSucceeded)
	require.Equal(t, `{"submitted_instances":2,"resolved_instances":1,"x":1.50,"big":123456789012345678901}`, string(v.Result))
	require.Equal(t, swebench.PhaseSucceeded, v.Progress.Phase)
	require.Equal(t, "succeeded", v.Message)
	require.Equal(t, []int{2, 2, 2, 2}, []int{*v.Progress.AgentTotal, *v.Progress.AgentCompleted, *v.Progress.EvalTotal, *v.Progress.EvalCompleted})
	require.Equal(t, []string{"preds.json", "swe_bench_agent.log", "swe_bench_eval.log", "swe_bench_results.json", "status.json"}, names(v.Artifacts))
	for _, a := range v.Artifacts {
		require.Equal(t, "/v1/runs/"+id+"/artifacts/"+a.Name, a.URL)
	}
	stored, err := os.ReadFile(w.path(id, swebench.FileStatus))
	require.NoError(t, err)
	require.JSONEq(t, string(v.Raw), string(stored))
	require.Empty(t, v.Error)
}

// A run whose runner fails is failed, with the error but not its secrets, and the slot is
// free for the next one.
func TestCase080_Failed(t *testing.T) {
	t.Parallel()
	w := start(t, service.RunnerFunc(func(_ context.Context, job service.Job) (json.RawMessage, error) {
		w := job.Path(swebench.FileAgentLog)
		return json.RawMessage(`{"dropped":true}`), errors.Join(os.WriteFile(w, []byte("log"), 0o644), errors.New("no luck with "+job.EndpointAPIKey+" at http://me:pw@host/?api_key=VALUE"))
	}))
	for range 3 {
		id := w.submit(body(`"endpoint_api_key":"sk-secret"`)).RunID
		v := w.until(id, swebench.StateFailed)
		require.Equal(t, "no luck with <redacted> at http://me:<redacted>@host/?api_key=<redacted>", v.Error)
		require.Equal(t, "failed", v.Message)
		require.Equal(t, swebench.PhaseFailed, v.Progress.Phase)
		require.Nil(t, v.Result)
		require.Equal(t, []string{"swe_bench_agent.log", "status.json"}, names(v.Artifacts))
	}
}

// A runner that panics fails its run and nothing else.
func TestRunnerPanics(t *testing.T) {
	t.Parallel()
	w := start(t, service.RunnerFunc(func(context.Context, service.Job) (json.RawMessage, error) { panic("boom") }))
	for range 2 {
		require.Contains(t, w.until(w.submit(body("")).RunID, swebench.StateFailed).Error, "boom")
	}
}

// A running run that is cancelled is answered 200 with that state, and its runner is told.
func TestCase082_CancelRunning(t *testing.T) {
	t.Parallel()
	g := newGate()
	told := make(chan error, 1)
	w := start(t, service.RunnerFunc(func(ctx context.Context, job service.Job) (json.RawMessage, error) {
		r, err := g.Run(ctx, job)
		told <- err
		return r, err
	}))
	id := w.submit(body("")).RunID
	<-g.started
	require.Equal(t, swebench.StateRunning, w.until(id, swebench.StateRunning).Status)
	v := w.cancel(id)
	require.Equal(t, swebench.StateCancelled, v.Status)
	require.Equal(t, swebench.PhaseCancelled, v.Progress.Phase)
	require.Empty(t, v.Error)
	require.ErrorIs(t, <-told, context.Canceled)
	require.Equal(t, []string{"status.json"}, names(v.Artifacts))
	stored, err := os.ReadFile(w.path(id, swebench.FileStatus))
	require.NoError(t, err)
	require.JSONEq(t, string(v.Raw), string(stored))
}

// A cancel of a finished run changes nothing, in whatever state it ended; an unknown run
// is 404.
func TestCase083_CancelFinished(t *testing.T) {
	t.Parallel()
	w := start(t, script(t, `{"runs":{"good":{},"bad":{"outcome":"fail"},"long":{"outcome":"hang"}}}`))
	for model, state := range map[string]swebench.State{"good": "succeeded", "bad": "failed", "long": "cancelled"} {
		id := w.submit(body(`"model_name":"` + model + `"`)).RunID
		if model == "long" {
			w.cancel(id)
		}
		before := w.until(id, state)
		require.Equal(t, string(before.Raw), string(w.cancel(id).Raw))
		require.Equal(t, string(before.Raw), string(w.status(id).Raw))
	}
	for _, id := range []string{"unknown", strings.Repeat("0", 32), "..", "%2e%2e", "a%00b"} {
		require.Equal(t, 404, w.call("POST", "/v1/runs/"+id+"/cancel", "").StatusCode, id)
	}
}

// A run whose cancelled predecessor is still ending is accepted, waits, and starts only
// when that one has ended.
func TestCase085_CancelledRunHoldsItsSlot(t *testing.T) {
	t.Parallel()
	started := make(chan string, 10)
	end := make(chan struct{})
	w := start(t, service.RunnerFunc(func(ctx context.Context, job service.Job) (json.RawMessage, error) {
		started <- job.RunID
		if job.Request.ModelName == "slow" {
			<-end // whatever ctx says
		}
		return json.RawMessage(`{"late":1}`), nil
	}))
	first := w.submit(body(`"model_name":"slow"`)).RunID
	require.Equal(t, first, <-started)
	v := w.cancel(first)
	require.Equal(t, swebench.StateCancelled, v.Status)
	second := w.submit(body("")).RunID
	require.Equal(t, 429, w.call("POST", "/v1/runs", body("")).StatusCode, "the second one counts")
	require.Never(t, func() bool { return len(started) > 0 || w.status(second).Status != swebench.StateQueued }, 50*time.Millisecond, 5*time.Millisecond)
	close(end)
	require.Equal(t, second, <-started)
	w.until(second, swebench.StateSucceeded)
	require.Equal(t, string(v.Raw), string(w.status(first).Raw), "what returned late changed nothing")
}

// A run that is cancelled in the queue never starts.
func TestCase086_CancelQueued(t *testing.T) {
	t.Parallel()
	g := newGate()
	w := start(t, service.RunnerFunc(func(ctx context.Context, job service.Job) (json.RawMessage, error) {
		_, err := g.Run(context.WithoutCancel(ctx), job)
		return json.RawMessage(`{}`), err
	}))
	first := w.submit(body("")).RunID
	require.Equal(t, first, (<-g.started).RunID)
	w.cancel(first)
	second := w.submit(body("")).RunID
	require.Equal(t, swebench.StateQueued, w.status(second).Status)
	require.Equal(t, swebench.StateCancelled, w.cancel(second).Status)
	third := w.submit(body("")).RunID
	close(g.open)
	require.Equal(t, third, (<-g.started).RunID)
	w.until(third, swebench.StateSucceeded)
	require.Empty(t, g.started)
}

// The answer to a cancel waits for a child process that the runner holds, so that its log
// is among the artifacts, but no longer than 25 s.
func TestCancelWaitsForChildren(t *testing.T) {
	t.Parallel()
	for _, takes := range []time.Duration{3 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			s, err := service.New(service.Config{ArtifactRoot: t.TempDir(), AllowUnauthenticated: true, Runner: service.RunnerFunc(
				func(ctx context.Context, job service.Job) (json.RawMessage, error) {
					release := job.Hold()
					<-ctx.Done()
					time.Sleep(takes)
					log, err := job.Log(swebench.FileAgentLog, true)
					if err == nil {
						err = log.Publish()
					}
					release()
					release()
					return nil, err
				},
			)})
			require.NoError(t, err)
			server := memhttp.Serve(s)
			c := &bubble{T: t, transport: server}
			v := c.submit(body(""))
			time.Sleep(time.Second)
			begin := time.Now()
			answered := make(chan answer)
			go func() { answered <- c.call("POST", "/v1/runs/"+v.RunID+"/cancel", "") }()
			synctest.Wait()
			require.Equal(t, swebench.StateRunning, c.status(v.RunID).Status)
			c.submit(body("")) // it counts no more
			v = parse(t, (<-answered).body)
			require.Equal(t, swebench.StateCancelled, v.Status)
			if takes < time.Hour {
				require.Equal(t, takes, time.Since(begin))
				require.Equal(t, []string{"swe_bench_agent.log", "status.json"}, names(v.Artifacts))
			} else {
				require.Equal(t, 25*time.Second, time.Since(begin))
			}
			server.Close()
			require.NoError(t, s.Close(context.Background()))
		})
	}
}

// A good run that cannot be finalized, because its result or its folder is of no use, is
// failed and says so, and its slot is free.
func TestCase089_FinalizationFails(t *testing.T) {
	t.Parallel()
	results := map[string]string{"list": `[1]`, "null": `null`, "text": `x`, "nothing": ``, "two": `{} {}`, "gone": `{}`}
	w := start(t, service.RunnerFunc(func(_ context.Context, job service.Job) (json.RawMessage, error) {
		if job.Request.ModelName == "gone" {
			return json.RawMessage(`{}`), os.RemoveAll(job.Dir)
		}
		return json.RawMessage(results[job.Request.ModelName]), nil
	}))
	for model := range results {
		v := w.until(w.submit(body(`"model_name":"`+model+`"`)).RunID, swebench.StateFailed)
		require.Contains(t, v.Error, "finalization failed", model)
		require.Nil(t, v.Result)
	}
}

// When the service stops, active runs are cancelled and awaited, new ones are refused,
// and what became of the old ones can be asked for until the end.
func TestCase091_Shutdown(t *testing.T) {
	t.Parallel()
	cleaning, clean := make(chan string, 10), make(chan struct{})
	root := t.TempDir()
	s, err := service.New(service.Config{
		ArtifactRoot: root, AuthToken: token, MaxConcurrentRuns: 2, MaxStoredRuns: 1,
		Runner: service.RunnerFunc(func(ctx context.Context, job service.Job) (json.RawMessage, error) {
			<-ctx.Done()
			cleaning <- job.RunID
			<-clean
			return nil, ctx.Err()
		}),
	})
	require.NoError(t, err)
	server := httptest.NewServer(s)
	defer server.Close()
	w := &world{T: t, Service: s, url: server.URL}
	ids := []string{w.submit(body("")).RunID, w.submit(body("")).RunID}
	for _, id := range ids {
		w.until(id, swebench.StateRunning)
	}
	closed := make(chan error, 1)
	go func() { closed <- s.Close(context.Background()) }()
	require.ElementsMatch(t, ids, []string{<-cleaning, <-cleaning})
	require.Equal(t, 503, w.call("POST", "/v1/runs", body("")).StatusCode)
	require.Empty(t, closed, "clean-up is awaited")
	for _, id := range ids {
		require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(root, id, ".cancelled")); return err == nil }, waitLong, tick,
			"a restart that does not wait must not resume it")
	}
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.Close(short), context.DeadlineExceeded)
	for _, id := range ids { // it was given up, but not to be resumed
		require.Equal(t, swebench.StateCancelled, w.status(id).Status)
	}
	close(clean)
	require.NoError(t, <-closed)
	for _, id := range ids {
		require.Equal(t, swebench.StateCancelled, w.status(id).Status)
	}
}

// One folder, one service at a time.
func TestRootIsLocked(t *testing.T) {
	t.Parallel()
	w := start(t, newGate())
	_, err := service.New(service.Config{ArtifactRoot: w.root, Runner: newGate(), AllowUnauthenticated: true})
	require.ErrorContains(t, err, "another service uses it")
	require.FileExists(t, filepath.Join(w.root, ".lock"))
}
