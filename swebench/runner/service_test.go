package runner_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/homing-go/homing/internal/need"
	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/routing/routingtest"
	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/dataset"
	"github.com/homing-go/homing/swebench/phase"
	"github.com/homing-go/homing/swebench/runner"
	"github.com/homing-go/homing/swebench/runner/runnertest"
	"github.com/homing-go/homing/swebench/sandbox"
	"github.com/homing-go/homing/swebench/service"
	"github.com/stretchr/testify/require"
)

// A served is a service whose runner does the work with the local sandbox.
type served struct {
	*world
	url, root string
	key       *string // of the endpoint
}

func serve(w *world) *served {
	w.Helper()
	need.Programs(w, "bash")
	key := apiKey
	s := &served{world: w, root: filepath.Join(w.dir, "artifacts"), key: &key}
	jobs := &runner.Jobs{
		Source: dataset.Source{Path: w.set.Dataset}, Place: runner.Place{Name: "local"}, Harness: "native",
		Retry: model.Retry{Max: 2, MinWait: time.Millisecond, MaxWait: 2 * time.Millisecond},
	}
	require.NoError(w, jobs.Check())
	svc, err := service.New(service.Config{ArtifactRoot: s.root, Runner: jobs, AllowUnauthenticated: true})
	require.NoError(w, err)
	server := httptest.NewServer(svc)
	w.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(w, svc.Close(ctx))
		server.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	s.url = server.URL
	return s
}

func (s *served) call(method, path, body string) []byte {
	s.Helper()
	req, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	require.NoError(s, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(s, err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	require.NoError(s, err)
	require.Less(s, res.StatusCode, 300, string(data))
	return data
}

// submission is the body that submits a run of tasks, with more members.
func submission(tasks []runnertest.Task, endpoint, more string) string {
	var ids []string
	for _, t := range tasks {
		ids = append(ids, t.ID)
	}
	list, _ := json.Marshal(ids)
	url := strings.Replace(strings.TrimSuffix(endpoint, "/v1"), "127.0.0.1", "LOCALHOST", 1) + "/v1/"
	return `{"model_name":"org/tiny","endpoint_urls":["` + url + `"],"num_instances":` + strconv.Itoa(len(ids)) +
		`,"workers":3,"max_eval_workers":2,"evaluated_instance_ids":` + string(list) + more + `}`
}

// submit submits a run of all tasks, with more members, and waits for its end.
func (s *served) submit(more string) swebench.StatusView {
	s.Helper()
	key, _ := json.Marshal(s.key) // nil is null
	view, err := swebench.ParseStatus(s.call("POST", "/v1/runs", submission(s.set.Tasks, s.cluster.URL(), `,"endpoint_api_key":`+string(key)+more)))
	require.NoError(s, err)
	for end := time.Now().Add(5 * time.Minute); !view.Status.Terminal(); time.Sleep(20 * time.Millisecond) {
		require.True(s, time.Now().Before(end))
		view, err = swebench.ParseStatus(s.call("GET", "/v1/runs/"+view.RunID, ""))
		require.NoError(s, err)
	}
	return view
}

// A submission gives the expected result, with the sessions under the names that were asked
// for, the parameters in the requests, the files in the folder, and the key nowhere.
func TestService(t *testing.T) {
	t.Parallel()
	s := serve(newWorld(t, 6))
	view := s.submit(`,"template":"qwen_tools","routing_headers":["X-Route"],"generation_params":{"temperature":0,"top_k":20,"max_new_tokens":512,"chat_template_kwargs":{"enable_thinking":false}}`)
	require.Equal(t, swebench.StateSucceeded, view.Status, view.Error)
	counters, err := swebench.ParseCounters(view.Result)
	require.NoError(t, err)
	require.Equal(t, swebench.Counters{Submitted: 6, Resolved: 4}, counters)
	require.Equal(t, []int{6, 6, 6, 6}, []int{*view.Progress.AgentTotal, *view.Progress.AgentCompleted, *view.Progress.EvalTotal, *view.Progress.EvalCompleted})
	require.Len(t, view.Artifacts, 5) // all that there can be
	for _, values := range s.sessions("X-Route") {
		require.Len(t, values, runnertest.Turns)
		require.Regexp(t, hex32, values[0])
	}
	for _, values := range s.sessions("X-Session-ID") {
		require.Equal(t, make([]string, runnertest.Turns), values)
	}
	for _, b := range s.cluster.Backends() {
		for _, r := range b.Records() {
			var body map[string]any
			require.NoError(t, json.Unmarshal(r.Body, &body))
			require.Equal(t, "org/tiny", body["model"])
			require.InDelta(t, 512, body["max_tokens"], 0)
			require.InDelta(t, 20, body["top_k"], 0)
			require.InDelta(t, 0, body["temperature"], 0)
			require.Equal(t, map[string]any{"enable_thinking": false}, body["chat_template_kwargs"])
			require.Equal(t, "Bearer "+apiKey, r.Header.Get("Authorization"))
			require.Equal(t, "127.0.0.1", strings.Split(s.cluster.URL()[7:], ":")[0])
		}
	}
	dir := filepath.Join(s.root, view.RunID)
	for _, name := range []string{
		"preds.json", "swe_bench_agent.log", "swe_bench_eval.log", "swe_bench_results.json", "swe_bench_eval_run_id.txt", "swe_bench_output/preds.json",
		"swe_bench_output/" + s.set.Tasks[0].ID + "/" + s.set.Tasks[0].ID + ".traj.json",
	} {
		require.FileExists(t, filepath.Join(dir, name))
	}
	require.NoDirExists(t, filepath.Join(dir, "swe_bench_output", ".repos"), "nobody will go on with the checkouts")
	statuses, err := filepath.Glob(filepath.Join(dir, "swe_bench_output", "exit_statuses_*.yaml"))
	require.NoError(t, err)
	require.Len(t, statuses, 1)
	require.NoError(t, filepath.WalkDir(s.root, func(name string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			require.NotContains(t, string(text), apiKey, name)
		}
		return err
	}))
}

// 109 and 110. An endpoint on localhost is asked as 127.0.0.1, and with the key EMPTY when
// none was given, whatever key the service's own environment has.
func Test109LocalEndpoint(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-ambient-key-1234")
	s := serve(newWorld(t, 1))
	s.key = nil
	view := s.submit(`,"template":"qwen_tools"`)
	require.Equal(t, swebench.StateSucceeded, view.Status, view.Error)
	for _, b := range s.cluster.Backends() {
		for _, r := range b.Records() {
			require.Equal(t, []string{"Bearer EMPTY"}, r.Header.Values("Authorization"))
		}
	}
}

// An empty list of names sends none; with the default template the bash tool alone is offered.
func TestServiceWithoutRouting(t *testing.T) {
	t.Parallel()
	s := serve(newWorld(t, 2))
	view := s.submit(`,"routing_headers":[]`)
	require.Equal(t, swebench.StateSucceeded, view.Status, view.Error)
	for _, values := range s.sessions("X-Session-ID") {
		require.Equal(t, make([]string, runnertest.Turns), values)
	}
}

// 148. A service whose endpoint is down answers with a result that says so, and no counters
// that make a complete score.
func Test148Service(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2, func(c *routingtest.ClusterConfig) { c.Backend.Faults = new(routingtest.Faults) })
	w.cluster.Backends()[0].Faults().Decide(func(*routingtest.Request) routingtest.Fault { return routingtest.Status(503) })
	view := serve(w).submit("")
	require.Equal(t, swebench.StateSucceeded, view.Status, view.Error)
	counters, err := swebench.ParseCounters(view.Result)
	require.NoError(t, err)
	require.Zero(t, counters.Submitted)
	var result struct {
		Infra    int `json:"infra_failure_instances"`
		Complete bool
	}
	require.NoError(t, json.Unmarshal(view.Result, &result))
	require.Equal(t, 2, result.Infra)
	require.False(t, result.Complete)
}

// A submission for an instance that the dataset does not have fails and names it.
func TestServiceUnknownInstance(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	w.set.Tasks = append(w.set.Tasks, runnertest.Task{ID: "no__such-1"})
	view := serve(w).submit("")
	require.Equal(t, swebench.StateFailed, view.Status)
	require.Contains(t, view.Error, "no instance for 1 of 3 IDs: no__such-1")
}

// Sandboxes that a killed process has left of a run that is over are removed by the next run;
// those of a run that goes on, or of another service, stay.
func TestServiceSweepsRunsThatAreOver(t *testing.T) {
	t.Parallel()
	s := serve(newWorld(t, 1))
	first := s.submit("")
	local := sandbox.NewLocal(sandbox.LocalConfig{})
	left := func(run string) string {
		box, err := local.Start(t.Context(), sandbox.Spec{Root: s.rows[0].Repo, Labels: map[string]string{phase.RunLabel: run}})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, box.Stop(context.Background())) })
		return box.ID()
	}
	over, other := left(first.RunID), left("0123456789abcdef0123456789abcdef")
	require.Equal(t, swebench.StateSucceeded, s.submit("").Status)
	_, err := local.Attach(t.Context(), over)
	require.ErrorIs(t, err, sandbox.ErrGone)
	_, err = local.Attach(t.Context(), other)
	require.NoError(t, err)
}
