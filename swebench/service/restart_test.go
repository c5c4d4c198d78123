package service_test

import (
	"context"
	"encoding/json"
	"fmt"
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

func noResume(c *service.Config) { c.NoResume = true }

// After a restart old finished runs are served as they were, artifacts included; without
// resuming, interrupted ones are reported as failed; and the folders of both are subject
// to pruning.
func TestCase092_OldRuns(t *testing.T) {
	t.Parallel()
	runner := script(t, `{"runs":{"good":{"agent_log":"l"},"bad":{"outcome":"fail"},"long":{"outcome":"hang","agent_log":"l"}}}`)
	w := start(t, runner)
	before := map[string]string{}
	for model, state := range map[string]swebench.State{"good": "succeeded", "bad": "failed"} {
		id := w.submit(body(`"model_name":"` + model + `"`)).RunID
		before[id] = string(w.until(id, state).Raw)
	}
	long := w.submit(body(`"model_name":"long"`, "a", "b")).RunID
	require.Eventually(t, func() bool { return w.artifact(long, swebench.FileAgentLog).StatusCode == 200 }, waitLong, tick)
	for range 2 { // the second time nothing is interrupted any more
		w.restart(runner, noResume)
		for id, raw := range before {
			require.Equal(t, raw, string(w.status(id).Raw))
			require.Equal(t, 200, w.artifact(id, swebench.FileAgentLog).StatusCode)
		}
		v := w.status(long)
		require.Equal(t, swebench.StateFailed, v.Status)
		require.Contains(t, v.Error, "interrupted")
		require.Equal(t, []string{"swe_bench_agent.log", "status.json"}, names(v.Artifacts))
		require.Equal(t, 2, *v.Progress.AgentTotal)
	}
	require.Equal(t, 404, w.call("GET", "/v1/runs/"+strings.Repeat("0", 32), "").StatusCode)
}

// Folders of earlier processes count for pruning.
func TestOldRunsArePruned(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	w := &world{T: t, root: root, log: &locked{}}
	for _, id := range []string{"0001", "0002", "0003"} {
		w.write(w.path(id, swebench.FileRequest), "{}")
		w.write(w.path(id, swebench.FileStatus), `{"run_id":"`+id+`","status":"succeeded","created_at":1,"updated_at":2,"finished_at":`+id[3:]+`,"phase":"succeeded","agent_total":1,"agent_completed":1,"eval_total":1,"eval_completed":1,"message":null,"error":null,"result":{},"artifacts":[]}`)
	}
	w.open(newGate(), func(c *service.Config) { c.MaxStoredRuns = 1 })
	require.Eventually(t, func() bool { runs, _ := w.Known(); return runs == 1 }, waitLong, tick)
	require.Equal(t, "0003", w.status("0003").RunID)
	require.Eventually(t, func() bool { _, err := os.Stat(w.path("0001")); return os.IsNotExist(err) }, waitLong, tick)
}

// An interrupted run is resumed under its ID: what is finished is kept, and the score is
// that of a run without interruption.
func TestResume(t *testing.T) {
	t.Parallel()
	w := start(t, script(t, `{"runs":{"*":{"instances":{"c":{"outcome":"hang"}},"patch":"first"}}}`))
	created := w.submit(body("", "a", "b", "c", "d"))
	id := created.RunID
	preds := w.path(id, swebench.DirOutput, swebench.FilePreds)
	require.Eventually(t, func() bool { data, _ := os.ReadFile(preds); return strings.Contains(string(data), `"b"`) }, waitLong, tick)
	w.restart(script(t, `{"runs":{"*":{"instances":{"d":{"outcome":"fail"}},"patch":"second"}}}`))
	v := w.until(id, swebench.StateSucceeded)
	require.JSONEq(t, `{"submitted_instances":4,"resolved_instances":3}`, string(v.Result))
	data, err := os.ReadFile(w.path(id, swebench.FilePreds))
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(string(data), "first"))
	require.Equal(t, 2, strings.Count(string(data), "second"))
	var was, is map[string]any
	require.NoError(t, json.Unmarshal(created.Raw, &was))
	require.NoError(t, json.Unmarshal(v.Raw, &is))
	require.Equal(t, was["created_at"], is["created_at"])
}

// What the runner gets after a restart is what it got before.
func TestResumedJob(t *testing.T) {
	t.Parallel()
	g := newGate()
	w := start(t, g)
	w.submit(strings.Replace(body(`"generation_params":{"seed":12345678901234567890123,"x":1.50},"routing_headers":[],"split":"s","template":"qwen_tools","subset":"lite"`, "b", "a"),
		"http://127.0.0.1:9/v1", "http://user:pw@host:9/a/v1?api_key=x", 1))
	before := <-g.started
	require.False(t, before.Resume)
	require.Equal(t, []string{"http://user:pw@host:9/a/v1?api_key=x"}, before.Request.EndpointURLs)
	g = newGate()
	w.restart(g)
	after := <-g.started
	require.True(t, after.Resume)
	require.Equal(t, []string{"http://host:9/a/v1?api_key=<redacted>"}, after.Request.EndpointURLs, "credentials are not stored")
	after.Request.EndpointURLs = before.Request.EndpointURLs
	require.Equal(t, before.Request, after.Request)
	require.Equal(t, before.Dir, after.Dir)
	require.Empty(t, after.EndpointAPIKey)
}

// A cancel that was asked for but not finished when the service was killed is finished by
// the next one, and what the log had until then is there.
func TestCancelOutlivesTheService(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	w := start(t, service.RunnerFunc(func(ctx context.Context, job service.Job) (json.RawMessage, error) {
		release := job.Hold()
		defer release()
		log, err := job.Log(swebench.FileAgentLog, true)
		fmt.Fprintln(log, "until now") // and never published
		close(begun)
		<-ctx.Done()
		time.Sleep(50 * time.Millisecond)
		return nil, err
	}))
	id := w.submit(body("")).RunID
	<-begun
	answered := make(chan answer, 1)
	go func() { answered <- w.call("POST", "/v1/runs/"+id+"/cancel", "") }()
	require.Eventually(t, func() bool { _, err := os.Stat(w.path(id, ".cancelled")); return err == nil }, waitLong, time.Millisecond)
	w.Abandon()
	<-answered
	stored, err := os.ReadFile(w.path(id, swebench.FileStatus))
	require.NoError(t, err)
	require.Equal(t, swebench.StateRunning, parse(t, string(stored)).Status, "the test came too late")
	w.open(newGate())
	v := w.status(id)
	require.Equal(t, swebench.StateCancelled, v.Status)
	require.Equal(t, []string{"swe_bench_agent.log", "status.json"}, names(v.Artifacts))
	require.Equal(t, "until now\n", w.artifact(id, swebench.FileAgentLog).body)
}

// More interrupted runs than slots are resumed one after the other, the oldest first, and
// count as active.
func TestResumeMany(t *testing.T) {
	t.Parallel()
	g := newGate()
	w := start(t, g, func(c *service.Config) { c.MaxConcurrentRuns = 3 })
	var ids []string
	for range 3 {
		ids = append(ids, w.submit(body("")).RunID)
		<-g.started
	}
	g = newGate()
	w.restart(g, func(c *service.Config) { c.MaxConcurrentRuns = 1 })
	require.Equal(t, 429, w.call("POST", "/v1/runs", body("")).StatusCode)
	first := (<-g.started).RunID
	require.Empty(t, g.started)
	close(g.open)
	w.until(ids[2], swebench.StateSucceeded)
	started := []string{first, (<-g.started).RunID, (<-g.started).RunID}
	require.Equal(t, ids, started)
}

// A run that was cancelled stays so; one whose files are broken is failed and says why;
// folders that are no runs are left alone.
func TestRestartWithBrokenFolders(t *testing.T) {
	t.Parallel()
	g := newGate()
	w := start(t, g, func(c *service.Config) { c.MaxConcurrentRuns = 10 })
	submit := func() string {
		id := w.submit(body("")).RunID
		<-g.started
		return id
	}
	cancelled := submit()
	w.cancel(cancelled)
	broken := map[string]func(dir string){
		submit(): func(dir string) {
			require.NoError(t, os.Remove(filepath.Join(dir, swebench.FileStatus)))
			w.write(filepath.Join(dir, swebench.FileAgentLog), "it has run")
		},
		submit(): func(dir string) { w.write(filepath.Join(dir, swebench.FileStatus), "{") },
		submit(): func(dir string) { w.write(filepath.Join(dir, swebench.FileStatus), "null") },
		submit(): func(dir string) {
			w.write(filepath.Join(dir, swebench.FileStatus), strings.Replace(string(w.status(cancelled).Raw), "cancelled", "odd", 1))
		},
		submit(): func(dir string) { require.NoError(t, os.Remove(filepath.Join(dir, swebench.FileRequest))) },
		submit(): func(dir string) { w.write(filepath.Join(dir, swebench.FileRequest), `{"model_name":1}`) },
		submit(): func(dir string) { require.NoError(t, os.Remove(filepath.Join(dir, ".service.json"))) },
		submit(): func(dir string) {
			require.NoError(t, os.Remove(filepath.Join(dir, swebench.FileStatus)))
			require.NoError(t, os.Symlink("/dev/zero", filepath.Join(dir, swebench.FileStatus)))
		},
	}
	w.Abandon()
	for id, breakIt := range broken {
		breakIt(w.path(id))
	}
	w.write(w.path("other", "file"), "not a run")
	w.write(w.path("with space", swebench.FileStatus), "{}")
	w.write(w.path("plain file"), "")
	g = newGate()
	w.open(g)
	require.Equal(t, swebench.StateCancelled, w.status(cancelled).Status)
	for id := range broken {
		v := w.status(id)
		require.Equal(t, swebench.StateFailed, v.Status, id)
		require.Contains(t, v.Error, "interrupted")
	}
	require.Equal(t, 404, w.call("GET", "/v1/runs/other", "").StatusCode)
	runs, _ := w.Known()
	require.Equal(t, 1+len(broken), runs)
	require.FileExists(t, w.path("other", "file"))
	require.Equal(t, 202, w.call("POST", "/v1/runs", body("")).StatusCode, "none of them holds a slot")
}

// Of a submission that was being stored when the service was killed nothing is left: its
// scorer has no answer, and gets a run when it sends it again.
func TestCase092_HalfMadeSubmission(t *testing.T) {
	t.Parallel()
	for _, gone := range [][]string{
		{swebench.FileStatus},
		{swebench.FileStatus, ".service.json"},
		{swebench.FileStatus, ".service.json", swebench.FileRequest},
	} {
		w := start(t, newGate())
		post := func() swebench.StatusView {
			req := w.request("POST", "/v1/runs", body(""))
			req.Header.Set(swebench.IdempotencyHeader, "key")
			res := w.do(req)
			require.Equal(t, 202, res.StatusCode, res.body)
			return parse(t, res.body)
		}
		first := post()
		w.Abandon()
		for _, name := range gone {
			require.NoError(t, os.Remove(w.path(first.RunID, name)))
		}
		w.write(w.path(first.RunID, ".status.json.123.tmp"), "{")
		g := newGate()
		w.open(g)
		require.NoDirExists(t, w.path(first.RunID))
		require.Equal(t, 404, w.call("GET", "/v1/runs/"+first.RunID, "").StatusCode)
		second := post()
		require.NotEqual(t, first.RunID, second.RunID)
		require.Equal(t, second.RunID, (<-g.started).RunID)
	}
}

const keyed = `"endpoint_api_key":"sk-secret-key"`

// A run that had an endpoint key waits for it after a restart, without a slot, and goes on
// when the service has it.
func TestKeyFromTheService(t *testing.T) {
	t.Parallel()
	g := newGate()
	w := start(t, g)
	id := w.submit(body(keyed)).RunID
	require.Equal(t, "sk-secret-key", (<-g.started).EndpointAPIKey)
	g = newGate()
	w.restart(g)
	v := w.status(id)
	require.Equal(t, swebench.StateQueued, v.Status)
	require.Contains(t, v.Message, "endpoint_key_lost")
	other := w.submit(body("")).RunID // it holds no slot
	require.Equal(t, other, (<-g.started).RunID)
	g = newGate()
	close(g.open)
	w.restart(g, func(c *service.Config) { c.EndpointAPIKey = "sk-back-again" })
	w.until(id, swebench.StateSucceeded)
	w.until(other, swebench.StateSucceeded)
	for range 2 {
		job := <-g.started
		want := map[string]string{id: "sk-back-again", other: ""}[job.RunID]
		require.Equal(t, want, job.EndpointAPIKey)
	}
}

// A run whose key does not come back fails in the end, and says why; it can be cancelled
// before.
func TestKeyLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		root := t.TempDir()
		open := func() (*service.Service, *memhttp.Server, *bubble) {
			s, err := service.New(service.Config{ArtifactRoot: root, AllowUnauthenticated: true, Runner: newGate(), MaxConcurrentRuns: 2})
			require.NoError(t, err)
			server := memhttp.Serve(s)
			return s, server, &bubble{T: t, transport: server}
		}
		s, server, b := open()
		ids := []string{b.submit(body(keyed)).RunID, b.submit(body(keyed)).RunID}
		synctest.Wait()
		server.Close()
		s.Abandon()
		s, server, b = open()
		time.Sleep(30 * time.Minute)
		require.Equal(t, swebench.StateQueued, b.status(ids[0]).Status)
		require.Equal(t, swebench.StateCancelled, parse(t, b.call("POST", "/v1/runs/"+ids[1]+"/cancel", "").body).Status)
		// A stop does not end the wait: the next process may have the key.
		require.NoError(t, s.Close(t.Context()))
		server.Close()
		s, server, b = open()
		time.Sleep(59 * time.Minute)
		require.Equal(t, swebench.StateQueued, b.status(ids[0]).Status)
		time.Sleep(2 * time.Minute)
		v := b.status(ids[0])
		require.Equal(t, swebench.StateFailed, v.Status)
		require.True(t, strings.HasPrefix(v.Error, "endpoint_key_lost"), v.Error)
		require.Equal(t, swebench.StateCancelled, b.status(ids[1]).Status)
		require.NoError(t, s.Close(t.Context()))
		server.Close()
	})
}

// The same submission, sent again under its key, is one run: while it runs, when it is
// over, after a restart, and when it gives a waiting run its endpoint key again.
func TestIdempotentSubmit(t *testing.T) {
	t.Parallel()
	g := newGate()
	w := start(t, g)
	post := func(key, text string) answer {
		req := w.request("POST", "/v1/runs", text)
		req.Header.Set(swebench.IdempotencyHeader, key)
		return w.do(req)
	}
	again := func(key, text string) swebench.StatusView {
		res := post(key, text)
		require.Equal(t, 202, res.StatusCode, res.body)
		return parse(t, res.body)
	}
	id := again("k1", body(keyed)).RunID
	<-g.started
	require.Equal(t, id, again("k1", body(keyed)).RunID, "although there is no capacity")
	require.Equal(t, id, again("k1", strings.Replace(body(keyed), `"workers":1`, `"workers" : 1.0`, 1)).RunID, "the same values")
	require.Equal(t, 429, post("k2", body(keyed)).StatusCode)
	require.Equal(t, 422, post("k1", body(keyed, "other")).StatusCode)
	require.Equal(t, 422, post("k1", body(keyed+`,"routing_headers":[]`)).StatusCode)
	require.Equal(t, 400, post("k1", "{").StatusCode)
	for _, key := range []string{"", "é", strings.Repeat("x", 256)} {
		require.Equal(t, 400, post(key, body(keyed)).StatusCode)
	}
	data, err := os.ReadFile(w.path(id, ".service.json"))
	require.NoError(t, err)
	require.NotContains(t, string(data), "k1\"")

	g = newGate()
	w.restart(g)
	require.Equal(t, swebench.StateQueued, w.status(id).Status)
	require.Equal(t, 422, post("k1", body(keyed, "other")).StatusCode)
	require.Equal(t, id, again("k1", body("")).RunID, "without the key it does not help")
	require.Empty(t, g.started)
	require.Equal(t, id, again("k1", body(keyed)).RunID)
	job := <-g.started
	require.Equal(t, []any{id, "sk-secret-key", true}, []any{job.RunID, job.EndpointAPIKey, job.Resume})
	close(g.open)
	done := w.until(id, swebench.StateSucceeded)
	require.Equal(t, string(done.Raw), string(again("k1", body(keyed)).Raw))
	w.restart(newGate())
	require.Equal(t, string(done.Raw), string(again("k1", body(keyed)).Raw))
	runs, keys := w.Known()
	require.Equal(t, []int{1, 1}, []int{runs, keys})
}

// A hundred submissions at a time under one key are one run.
func TestIdempotentRace(t *testing.T) {
	t.Parallel()
	w := start(t, newGate(), func(c *service.Config) { c.MaxConcurrentRuns = 50 })
	answers := make(chan answer, 100)
	for range cap(answers) {
		go func() {
			req := w.request("POST", "/v1/runs", body(""))
			req.Header.Set(swebench.IdempotencyHeader, "one")
			answers <- w.do(req)
		}()
	}
	first := parse(t, (<-answers).body).RunID
	for range cap(answers) - 1 {
		require.Equal(t, first, parse(t, (<-answers).body).RunID)
	}
	runs, _ := w.Known()
	require.Equal(t, 1, runs)
}

// A request that has secrets in it besides its key cannot be resumed from what is
// stored: it waits for its submission.
func TestAlteredRequestWaits(t *testing.T) {
	t.Parallel()
	g := newGate()
	w := start(t, g)
	text := body(`"generation_params":{"chat_template_kwargs":{"password":"x"}}`)
	post := func() string {
		req := w.request("POST", "/v1/runs", text)
		req.Header.Set(swebench.IdempotencyHeader, "k")
		return parse(t, w.do(req).body).RunID
	}
	id := post()
	<-g.started
	g = newGate()
	w.restart(g, func(c *service.Config) { c.EndpointAPIKey = "does not help" })
	require.Equal(t, swebench.StateQueued, w.status(id).Status)
	require.Equal(t, id, post())
	require.JSONEq(t, `{"chat_template_kwargs":{"password":"x"}}`, string((<-g.started).Request.GenerationParams))
}

// A Job that no service made can be run all the same, by tests of runners.
func TestJobOfNoService(t *testing.T) {
	t.Parallel()
	job := service.Job{RunID: "x", Dir: t.TempDir(), Request: swebench.RunRequest{ModelName: "m", EvaluatedInstanceIDs: []string{"a"}}}
	job.Warn("nobody hears %d", 1)
	release := job.Hold()
	release()
	result, err := script(t, `{"runs":{"*":{}}}`).Run(context.Background(), job)
	require.NoError(t, err)
	require.JSONEq(t, `{"submitted_instances":1,"resolved_instances":1}`, string(result))
}
