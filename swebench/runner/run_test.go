package runner_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/homing-go/homing/internal/need"
	"github.com/homing-go/homing/qwen"
	"github.com/homing-go/homing/routing"
	"github.com/homing-go/homing/routing/routingtest"
	"github.com/homing-go/homing/swebench/agent"
	"github.com/homing-go/homing/swebench/harness"
	"github.com/homing-go/homing/swebench/runner"
	"github.com/homing-go/homing/swebench/runner/runnertest"
	"github.com/homing-go/homing/swebench/sandbox"
	"github.com/stretchr/testify/require"
)

// A run gives the expected score, leaves no sandbox, and has one session on one backend for
// each instance.
func TestRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 6)
	cfg := w.config()
	cfg.Evaluator, cfg.Run = judge{w.set.Tasks}, "a-run"
	res := w.run(cfg)
	require.NotNil(t, res.Score, "%+v", res)
	require.InDelta(t, 4.0/6, *res.Score, 1e-9)
	require.True(t, res.Complete, "%+v", res.Reasons)
	require.Equal(t, runner.Routing{
		Requests: 6 * runnertest.Turns, Sessions: 6, Stayed: 6, Backends: res.Routing.Backends, Cached: res.Routing.Cached,
	}, *res.Routing)
	served := 0
	for _, sessions := range res.Routing.Backends {
		served += sessions
	}
	require.Equal(t, 6, served)
	require.Contains(t, res.Text(), "6 stayed, 0 moved; 0 mismatches, 0 requests of unknown backends")
	require.InDelta(t, 1, res.Routing.Cached, 1e-9)
	require.Empty(t, w.places.left())
	require.Len(t, w.predictions(cfg.Dir), 6)
	for id, values := range w.sessions("X-Session-ID") {
		require.Len(t, values, runnertest.Turns)
		for _, v := range values {
			require.Equal(t, string(routing.Derive("a-run", id, "1")), v)
		}
	}
	// Once more: nothing is left to do, and the score is the same.
	again := w.run(cfg)
	require.Equal(t, res.Score, again.Score)
	require.Equal(t, res.Statuses, again.Statuses)
	require.Equal(t, res.Routing, again.Routing, "the folder keeps it")
	require.Equal(t, 6*runnertest.Turns, w.cluster.Stats().Requests)
}

// What the router did is said: that it moved sessions, and that one backend alone proves
// nothing of it.
func TestRoutingNotes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 4, func(c *routingtest.ClusterConfig) { c.Policy = routingtest.RoundRobin{} })
	cfg := w.config()
	cfg.Workers = 1
	res := w.run(cfg)
	require.Equal(t, 4, res.Routing.Moved)
	require.Positive(t, res.Routing.Mismatches)
	require.Len(t, res.Routing.Backends, 3)
	require.Contains(t, res.Notes, runner.Reason{Code: runner.SessionsMoved, Text: "4 of 4 sessions left their backend: does the router go by X-Session-ID?"})

	w = newWorld(t, 2, func(c *routingtest.ClusterConfig) { c.Backends = 1 })
	res = w.run(w.config())
	require.Equal(t, []int{0, 2}, []int{res.Routing.Mismatches, res.Routing.Stayed})
	require.Contains(t, res.Notes, runner.Reason{Code: runner.OneBackend, Text: "all 2 sessions were served by one backend, so that nothing is known of the router"})
}

// What is counted holds when a run is interrupted and goes on with the same clients and the
// same audit: each request counts once.
func TestRoutingOfTwoRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	cfg := w.config()
	cfg.KeepSandboxes = true
	ctx, cancel := context.WithCancel(t.Context())
	commands := 0
	w.places.command = func(ctx context.Context, _ string, cmd qwen.Command) error {
		if strings.Contains(strings.Join(cmd.Args, " "), "sh tests/all") {
			if commands++; commands == 1 {
				cancel()
				<-ctx.Done()
			}
		}
		return ctx.Err()
	}
	_, err := runner.Run(ctx, cfg)
	require.ErrorIs(t, err, context.Canceled)
	require.Positive(t, w.cluster.Stats().Requests)
	res := w.run(cfg)
	require.Equal(t, []int{w.cluster.Stats().Requests, 1, 1, 0}, []int{res.Routing.Requests, res.Routing.Sessions, res.Routing.Stayed, res.Routing.Mismatches})
}

// 118. When the agents' phase is cut off by its limit, predictions that there are stay.
func Test118PhaseLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	cfg := w.config()
	cfg.Workers = 1
	done := make(chan struct{})
	w.places.command = func(ctx context.Context, id string, _ qwen.Command) error {
		if id == "place-1" {
			return nil
		}
		close(done) // the second instance never gets on
		<-ctx.Done()
		return ctx.Err()
	}
	cfg.AgentTimeout = 3 * time.Second
	res, err := runner.Run(t.Context(), cfg)
	<-done
	var late *runner.TimeoutError
	require.ErrorAs(t, err, &late)
	require.ErrorContains(t, err, "the agent phase took longer than 3s")
	require.Contains(t, w.predictions(cfg.Dir), w.set.Tasks[0].ID)
	require.False(t, res.Complete)
	require.Equal(t, 1, res.Submitted)
	require.Empty(t, w.places.left())
}

// 122. When one of two runs ends, the sandboxes of the other stay.
func Test122OtherRunsSandboxes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	_, err := w.places.Start(t.Context(), sandbox.Spec{Root: w.rows[0].Repo, Labels: map[string]string{runner.LabelOwner: "another"}})
	require.NoError(t, err)
	cfg := w.config()
	w.run(cfg)
	w.run(cfg) // a resumed one sweeps
	require.Len(t, w.places.left(), 1)
}

// 139. When many instances start together, each gets its own image, and no shared
// configuration is changed.
func Test139OwnImages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 6)
	cfg := w.config()
	cfg.Workers = 6
	labels := map[string]string{"team": "a"}
	cfg.Labels = labels
	w.run(cfg)
	require.Equal(t, map[string]string{"team": "a"}, labels)
	require.Len(t, w.places.started, 6)
	seen := map[string]bool{}
	for _, spec := range w.places.started {
		id := spec.Labels[runner.LabelInstance]
		require.Equal(t, "docker.io/swebench/sweb.eval.x86_64."+strings.ReplaceAll(id, "__", "_1776_")+":latest", spec.Image)
		require.Equal(t, "a", spec.Labels["team"])
		require.True(t, strings.HasSuffix(spec.Root, id))
		seen[id] = true
	}
	require.Len(t, seen, 6)
}

// 140. When its container has died, the trajectory ends as infrastructure in place of using
// its steps up, and the others are untouched.
func Test140DeadContainer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	cfg := w.config()
	cfg.Workers, cfg.Evaluator = 1, judge{w.set.Tasks}
	w.places.command = func(_ context.Context, id string, cmd qwen.Command) error {
		if id == "place-2" && strings.Contains(strings.Join(cmd.Args, " "), "sh tests/all") {
			_ = w.places.Remove(context.Background(), id)
			return sandbox.ErrGone
		}
		return nil
	}
	res := w.run(cfg)
	id := w.set.Tasks[1].ID
	require.Equal(t, []string{id}, res.Statuses[string(agent.SandboxLost)])
	require.Len(t, w.sessions("X-Session-ID")[id], 3)
	require.False(t, res.Complete)
	require.Equal(t, string(harness.Infrastructure), res.Reasons[0].Code)
	require.Contains(t, res.Reasons[0].Text, id+": SandboxLost")
	require.Equal(t, []int{3, 2, 2}, []int{res.Evaluated, res.Submitted, res.Resolved})
	require.NotContains(t, w.predictions(cfg.Dir), id)
}

// 145. A model name with slashes is requested and predicted as it is; in the names of files
// and folders each of them is two underscores.
func Test145ModelName(t *testing.T) {
	t.Parallel()
	const name = "hub/org/tiny"
	w := newWorld(t, 1)
	need.Programs(t, "bash")
	cfg := w.config()
	e := w.endpoint(cfg.Template)
	e.Model = name
	place, err := runner.Place{Name: "local"}.Open(cfg.Dir)
	require.NoError(t, err)
	cfg.Model, cfg.NewClient, cfg.Runtime, cfg.Spec = name, e.NewClient, place, place.Spec
	cfg.Evaluator = harness.Native{Runtime: place, Spec: place.Spec}
	require.True(t, w.run(cfg).Complete)
	id := w.set.Tasks[0].ID
	require.Equal(t, name, w.predictions(cfg.Dir)[id].Model)
	requests := 0
	for _, b := range w.cluster.Backends() {
		for _, r := range b.Records() {
			var body struct{ Model string }
			require.NoError(t, json.Unmarshal(r.Body, &body))
			require.Equal(t, name, body.Model)
			requests++
		}
	}
	require.Equal(t, runnertest.Turns, requests)
	eval := evalRun(t, cfg.Dir)
	require.FileExists(t, filepath.Join(cfg.Dir, "hub__org__tiny."+eval+".json"))
	require.FileExists(t, filepath.Join(cfg.Dir, "logs", "run_evaluation", eval, "hub__org__tiny", id, "report.json"))
	require.NoDirExists(t, filepath.Join(cfg.Dir, "hub"))
}

// 148. When the endpoint is down for all instances, the result is an infrastructure failure
// and no complete score of 0.
func Test148EndpointDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, func(c *routingtest.ClusterConfig) { c.Backend.Faults = new(routingtest.Faults) })
	w.cluster.Backends()[0].Faults().Decide(func(*routingtest.Request) routingtest.Fault { return routingtest.Status(http.StatusServiceUnavailable) })
	cfg := w.config()
	cfg.Evaluator = judge{w.set.Tasks}
	res := w.run(cfg)
	require.Nil(t, res.Score)
	require.False(t, res.Complete)
	require.Len(t, res.Statuses[string(agent.EndpointFailed)], 3)
	require.Equal(t, string(harness.Infrastructure), res.Reasons[0].Code)
	require.Empty(t, w.predictions(cfg.Dir))
	require.Equal(t, []int{3, 0, 0}, []int{res.Evaluated, res.Submitted, res.Resolved})
	object, err := res.JSON()
	require.NoError(t, err)
	var members struct {
		Submitted int `json:"submitted_instances"`
		Infra     int `json:"infra_failure_instances"`
		Complete  bool
	}
	require.NoError(t, json.Unmarshal(object, &members))
	require.Equal(t, 3, members.Infra)
	require.False(t, members.Complete)

	// The endpoint is up again: the instances are executed anew, each under another session.
	w.cluster.Backends()[0].Faults().Clear()
	before := w.sessions("X-Session-ID")
	res = w.run(cfg)
	require.True(t, res.Complete, "%+v", res.Reasons)
	require.InDelta(t, 1, *res.Score, 1e-9)
	for id, values := range w.sessions("X-Session-ID") {
		require.Len(t, before[id], 3)
		fresh := slices.DeleteFunc(values, func(v string) bool { return v == before[id][0] })
		require.Len(t, fresh, runnertest.Turns)
	}
}

var hex32 = regexp.MustCompile(`^[0-9a-f]{32}$`)

// 163, 164. With either template all requests of a trajectory carry one value of 32 hex
// digits under every name, those with the three typed tools too.
func Test163And164Headers(t *testing.T) {
	t.Parallel()
	for _, template := range []agent.Template{agent.Default(), agent.QwenTools()} {
		t.Run(template.Name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 2)
			e := w.endpoint(template)
			e.Headers = []string{"X-Session-ID", "x-ROUTE"}
			cfg := w.config()
			cfg.Template, cfg.NewClient, cfg.Headers, cfg.Audit = template, e.NewClient, e.Names(), e.Audit
			w.run(cfg)
			first, second := w.sessions("X-Session-ID"), w.sessions("x-ROUTE")
			require.Equal(t, first, second)
			values := map[string]bool{}
			for _, list := range first {
				require.Len(t, list, runnertest.Turns)
				for _, v := range list {
					require.Regexp(t, hex32, v)
					require.Equal(t, list[0], v)
				}
				values[list[0]] = true
			}
			require.Len(t, values, 2)
			for _, b := range w.cluster.Backends() {
				for _, r := range b.Records() {
					require.Equal(t, template.Name == "qwen_tools", strings.Contains(string(r.Body), `"str_replace_editor"`))
				}
			}
		})
	}
}

// 169. An instance that is executed anew after a failure of the infrastructure has a new
// session; one whose sandbox did not start, which proves that nothing began, is tried again.
func Test169NewSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	cfg := w.config()
	lost := true
	w.places.command = func(_ context.Context, _ string, cmd qwen.Command) error {
		if lost && strings.Contains(strings.Join(cmd.Args, " "), "sh tests/all") {
			return sandbox.ErrGone
		}
		return nil
	}
	id := w.set.Tasks[0].ID
	require.Equal(t, []string{id}, w.run(cfg).Statuses[string(agent.SandboxLost)])
	lost = false
	require.Equal(t, []string{id}, w.run(cfg).Statuses[string(agent.Submitted)])
	values := w.sessions("X-Session-ID")[id]
	require.Len(t, values, 3+runnertest.Turns)
	distinct := map[string]int{}
	for _, v := range values {
		distinct[v]++
	}
	require.Len(t, distinct, 2)
	require.Contains(t, w.predictions(cfg.Dir)[id].Patch, "lib.sh")
}

// 170. Configured extra headers arrive beside the session, which wins over an equal name in
// any case.
func Test170ExtraHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	template := agent.QwenTools()
	template.Headers = map[string]string{"X-Team": "blue", "x-session-id": "stale"}
	e := w.endpoint(template)
	cfg := w.config()
	cfg.Template, cfg.NewClient = template, e.NewClient
	w.run(cfg)
	id := w.set.Tasks[0].ID
	for i, v := range w.sessions("X-Session-ID")[id] {
		require.Regexp(t, hex32, v)
		require.Equal(t, "blue", w.sessions("X-Team")[id][i])
	}
}

// 172. A finished trajectory's file has the names and the value of its session, and the
// endpoint's key is nowhere in the folder.
func Test172TrajectoryFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	cfg := w.config()
	w.run(cfg)
	id := w.set.Tasks[0].ID
	data, err := os.ReadFile(filepath.Join(cfg.Dir, id, id+".traj.json"))
	require.NoError(t, err)
	var file struct {
		Format string `json:"trajectory_format"`
		Info   struct {
			Exit   string `json:"exit_status"`
			Config struct {
				Model struct {
					Names  []string `json:"routing_headers"`
					Kwargs struct {
						Headers map[string]string `json:"extra_headers"`
					} `json:"model_kwargs"`
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal(data, &file))
	require.Equal(t, "mini-swe-agent-1.1", file.Format)
	require.Equal(t, "Submitted", file.Info.Exit)
	require.Equal(t, []string{"X-Session-ID"}, file.Info.Config.Model.Names)
	require.Equal(t, w.sessions("X-Session-ID")[id][0], file.Info.Config.Model.Kwargs.Headers["X-Session-ID"])
	require.NoError(t, filepath.WalkDir(cfg.Dir, func(name string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			require.NotContains(t, string(text), apiKey, name)
		}
		return err
	}))
}

// When the context is done, nothing is left, and what was finished stays.
func TestCancel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	cfg := w.config()
	cfg.Workers = 1
	ctx, cancel := context.WithCancel(t.Context())
	var once sync.Once
	w.places.command = func(ctx context.Context, id string, _ qwen.Command) error {
		if id == "place-2" {
			once.Do(cancel)
			<-ctx.Done()
		}
		return ctx.Err()
	}
	res, err := runner.Run(ctx, cfg)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, res.Submitted)
	require.Equal(t, runner.Unfinished, res.Reasons[len(res.Reasons)-1].Code)
	require.Empty(t, w.places.left())
	w.places.command = nil
	require.True(t, w.run(cfg).Complete)
}
