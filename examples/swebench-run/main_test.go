package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/homing-go/homing/internal/need"
	"github.com/homing-go/homing/routing/routingtest"
	"github.com/homing-go/homing/swebench/runner/runnertest"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// asCommand makes the test binary be the command.
const asCommand = "HOMING_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}

// A world is a dataset and a scripted model behind a router with three backends.
type world struct {
	*testing.T
	set     runnertest.Set
	cluster *routingtest.Cluster
	dir     string
	asked   atomic.Pointer[func(*routingtest.Request)] // sees each request before its answer
}

func newWorld(t *testing.T, tasks ...runnertest.Task) *world {
	t.Helper()
	need.Programs(t, "git", "bash")
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "tmp"), 0o755))
	set, err := runnertest.Write(filepath.Join(dir, "data"), tasks...)
	require.NoError(t, err)
	w := &world{T: t, set: set, dir: dir}
	script := runnertest.Model(tasks...)
	w.cluster, err = routingtest.NewCluster(routingtest.ClusterConfig{
		Backends: 3, Backend: routingtest.BackendConfig{Record: 1000, Reply: func(req *routingtest.Request) routingtest.Answer {
			if asked := w.asked.Load(); asked != nil {
				(*asked)(req)
			}
			return script(req)
		}},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.cluster.Close()) })
	return w
}

// sessions are those of the requests so far.
func (w *world) sessions() map[string]bool {
	all := map[string]bool{}
	for _, b := range w.cluster.Backends() {
		for _, r := range b.Records() {
			all[r.Header.Get("X-Session-ID")] = true
		}
	}
	return all
}

// result is the JSON of the command.
type result struct {
	Score                          *float64
	Complete                       bool
	Evaluated, Resolved, Submitted int
	Reasons                        []struct{ Code, Text string }
	Statuses                       map[string][]string `json:"exit_statuses"`
	Routing                        struct{ Requests, Sessions, Stayed, Mismatches, Unknown int }
}

// command runs the command in a process of its own.
func (w *world) command(args ...string) *exec.Cmd {
	w.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"-dataset", w.set.Dataset, "-base-url", w.cluster.URL(), "-model", "qwen/tiny", "-json"}, args...)...)
	cmd.Env = append(w.environ(), asCommand+"=1")
	return cmd
}

// environ makes commands keep what they keep below the world's folder.
func (w *world) environ() []string {
	return append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(w.dir, "cache"), "TMPDIR="+w.temp())
}

func (w *world) temp() string { return filepath.Join(w.dir, "tmp") }

func (w *world) run(code int, args ...string) (result, string) {
	w.Helper()
	cmd := w.command(args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run()
	require.Equal(w, code, cmd.ProcessState.ExitCode(), "%s\n%s", stdout.String(), stderr.String())
	var res result
	if stdout.Len() > 0 {
		require.NoError(w, json.Unmarshal(stdout.Bytes(), &res), stdout.String())
	}
	return res, stderr.String()
}

// From a dataset to a score: the score is the expected one, and each instance is one session
// on one backend.
func TestDatasetToScore(t *testing.T) {
	t.Parallel()
	for _, template := range []string{"default", "qwen_tools"} {
		t.Run(template, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, runnertest.Tasks()...)
			out := filepath.Join(w.dir, "out")
			res, log := w.run(0, "-sandbox", "local", "-template", template, "-workers", "3", "-out", out)
			require.NotNil(t, res.Score, log)
			require.InDelta(t, 4.0/6, *res.Score, 1e-9, log)
			require.True(t, res.Complete)
			require.Equal(t, []int{6, 6, 4}, []int{res.Evaluated, res.Submitted, res.Resolved})
			require.Empty(t, res.Reasons)
			require.Equal(t, 6*runnertest.Turns, res.Routing.Requests)
			require.Equal(t, 6, res.Routing.Sessions)
			require.Zero(t, res.Routing.Mismatches+res.Routing.Unknown)
		})
	}
}

// Bad usage is 2, an incomplete score 1, and the reason is said.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, runnertest.Tasks()...)
	file := filepath.Join(w.dir, "template.yaml")
	require.NoError(t, os.WriteFile(file, []byte("agent: {step_limit: 1}\n"), 0o600))
	bare := filepath.Join(w.dir, "bare.jsonl")
	require.NoError(t, os.WriteFile(bare, []byte(`{"instance_id":"a","problem_statement":"p"}`), 0o600))
	hollow, broken := filepath.Join(w.dir, "hollow.jsonl"), filepath.Join(w.dir, "broken.jsonl")
	require.NoError(t, os.WriteFile(hollow, []byte(`{"instance_id":"a","problem_statement":" ","test_command":"true","PASS_TO_PASS":["x"]}`), 0o600))
	require.NoError(t, os.WriteFile(broken, []byte("{\"instance_id\":\"a\"}\n{\n"), 0o600))
	local := []string{"-sandbox", "local", "-slice", ":2", "-workers", "2"}
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{2, "-nonsense", []string{"-nonsense"}},
		{2, "unexpected argument", append(local, "x")},
		{2, "want at least 1", append(local, "-workers", "0")},
		{2, "there is no file", append(local, "-dataset", w.dir+"/none")},
		{2, "want local, docker", append(local, "-sandbox", "vm")},
		{2, "want native, official or none", append(local, "-harness", "mine")},
		{2, "which 1 rows do not have; use official: a", append(local, "-dataset", bare)},
		{2, "hollow.jsonl, line 1) has no problem_statement", append(local, "-dataset", hollow)},
		{2, "the command of the harness is missing", append(local, "-harness", "official")},
		{2, "generation_params.temperature", append(local, "-params", `{"temperature":"hot"}`)},
		{2, "leaves none of the 6 rows", append(local, "-slice", "9:12")},
		{2, "https://HUB/datasets/org/set", append(local, "-dataset", "org/set")},
		{2, "the built-in ones are default and qwen_tools", append(local, "-template", "qwen")},
		{2, "there is no root folder", append(local, "-sandbox", "bwrap=/no/such/root")},
		{2, "filter", append(local, "-filter", "(")},
		{2, "slice", append(local, "-slice", "x")},
		{2, "broken.jsonl, line 2", append(local, "-dataset", broken)},
		{2, "a shard needs the name", append(local, "-shard", "1/2")},
		{2, "want i/n", append(local, "-shard", "1")},
		{2, "NO_SUCH_VARIABLE is empty", append(local, "-api-key-env", "NO_SUCH_VARIABLE")},
		{2, "template", append(local, "-template", "none.yaml")},
		{2, "merges with no file", append(local, "-template", "default", "-template", file)},
		{2, "BaseURL", append(local, "-base-url", "nowhere")},
		{2, "Authorization", append(local, "-header", "Authorization")},
		{2, "preset", append(local, "-preset", "nobody")},
		{2, "header names too", append(local, "-preset", "generic", "-header", "X-A")},
		{1, "nothing_graded", append(local, "-template", file, "-out", filepath.Join(w.dir, "empty"))},
		{1, "infra_failures", append(local, "-base-url", "http://127.0.0.1:1/v1", "-out", filepath.Join(w.dir, "down"))},
	} {
		cmd := w.command(c.args...)
		cmd.Env = append(cmd.Env, "SLURM_JOB_ID=", "SLURM_ARRAY_JOB_ID=", "LSB_JOBID=", "SWEBENCH_HARNESS=/no/such/harness")
		text, _ := cmd.CombinedOutput()
		require.Equal(t, c.code, cmd.ProcessState.ExitCode(), "%v: %s", c.args, text)
		require.Contains(t, string(text), c.says)
	}
	res, log := w.run(0, append(local, "-header", "", "-harness", "none", "-out", filepath.Join(w.dir, "none"))...)
	require.Nil(t, res.Score, log)
	require.Equal(t, 2, res.Submitted)
	for _, b := range w.cluster.Backends() {
		for _, r := range b.Records() {
			if r.Header.Get("X-Session-ID") == "" {
				return
			}
		}
	}
	require.Fail(t, "-header '' sends no header")
}

// An interrupt ends the commands and tells the exit code of an incomplete score. The next run
// begins the unfinished instance anew, under another session, or goes on with it where its
// sandbox was to be left.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	for _, keep := range []bool{false, true} {
		w := newWorld(t, runnertest.Tasks()[:1]...)
		args := []string{"-sandbox", "local", "-template", "qwen_tools", "-out", filepath.Join(w.dir, "out"), fmt.Sprintf("-keep-sandboxes=%v", keep)}
		waiting, release := make(chan struct{}), make(chan struct{})
		var once sync.Once
		hold := func(req *routingtest.Request) {
			if req.Answered() == 2 {
				once.Do(func() { close(waiting); <-release })
			}
		}
		w.asked.Store(&hold)
		cmd := w.command(args...)
		require.NoError(t, cmd.Start())
		<-waiting
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		_ = cmd.Wait()
		close(release)
		require.Equal(t, 1, cmd.ProcessState.ExitCode())
		boxes, err := filepath.Glob(filepath.Join(w.temp(), "homing-local-*", "[0-9a-f]*"))
		require.NoError(t, err)
		require.Equal(t, keep, len(boxes) == 1, boxes)

		res, log := w.run(0, args...)
		require.Equal(t, 1, res.Resolved, log)
		require.Equal(t, keep, len(w.sessions()) == 1, log)
		require.Equal(t, len(w.sessions()), res.Routing.Sessions, "those of the process before, too")
		require.Equal(t, res.Routing.Sessions, res.Routing.Stayed)
		requests := 0
		for _, b := range w.cluster.Backends() {
			requests += len(b.Records())
		}
		require.Equal(t, []int{requests, 0}, []int{res.Routing.Requests, res.Routing.Mismatches})
		boxes, err = filepath.Glob(filepath.Join(w.temp(), "homing-local-*", "[0-9a-f]*"))
		require.NoError(t, err)
		require.Empty(t, boxes)
	}
}
