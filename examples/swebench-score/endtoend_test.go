//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	secretToken = "tok-" + strings.Repeat("0123456789", 6)
	secretKey   = "key-" + strings.Repeat("abcdefghij", 6)
)

// built is the service's command.
var built = sync.OnceValues(func() (string, error) {
	file := filepath.Join(buildDir(), "swebench-service")
	out, err := exec.Command("go", "build", "-o", file, "../swebench-service").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return file, err
})

// world is a service and a scorer, each a process of its own, with their files.
type world struct {
	*testing.T
	root, report, rows, script, address string
	service                             *exec.Cmd
	serviceLog                          bytes.Buffer
}

// newWorld starts a service whose agents take so many seconds for each of 50 instances.
func newWorld(t *testing.T, delay float64) *world {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("go is missing: the service cannot be built")
	}
	dir := t.TempDir()
	w := &world{T: t, root: filepath.Join(dir, "runs"), report: filepath.Join(dir, "report"), rows: filepath.Join(dir, "rows.jsonl"), script: filepath.Join(dir, "script.json")}
	var rows strings.Builder
	instances := map[string]any{}
	for i := range 50 {
		name := fmt.Sprintf("project__x-%d", i)
		fmt.Fprintf(&rows, "{\"instance_id\":%q,\"problem_statement\":\"fix\"}\n", name)
		outcome := "succeed"
		if i%5 == 0 {
			outcome = "fail"
		}
		instances[name] = map[string]any{"delay_s": delay, "outcome": outcome}
	}
	script, err := json.Marshal(map[string]any{"runs": map[string]any{"*": map[string]any{
		"instances": instances, "agent_log": "agents with " + secretKey + "\n", "eval_log": "evaluation, token=" + secretToken + "\n",
	}}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(w.rows, []byte(rows.String()), 0o600))
	require.NoError(t, os.WriteFile(w.script, script, 0o600))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w.address = l.Addr().String()
	require.NoError(t, l.Close())
	w.serve()
	t.Cleanup(func() { w.kill() })
	return w
}

// serve starts the service and waits until it listens.
func (w *world) serve() {
	w.Helper()
	file, err := built()
	require.NoError(w, err)
	_, port, _ := net.SplitHostPort(w.address)
	w.service = exec.Command(file, "-port", port, "-artifact-root", w.root, "-auth-token-env", "TOKEN", "-runner", "scripted="+w.script)
	w.service.Env = append(os.Environ(), "TOKEN="+secretToken)
	stderr, err := w.service.StderrPipe()
	require.NoError(w, err)
	require.NoError(w, w.service.Start())
	listens := make(chan struct{})
	go func() {
		lines := bufio.NewReader(io.TeeReader(stderr, &w.serviceLog))
		for heard := false; ; {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			if !heard && strings.Contains(line, "listening on") {
				heard = true
				close(listens)
			}
		}
	}()
	select {
	case <-listens:
	case <-time.After(30 * time.Second):
		require.Fail(w, "the service does not listen")
	}
}

func (w *world) kill() {
	_ = w.service.Process.Kill()
	_ = w.service.Wait()
}

// a scoring is the scorer's process.
type scoring struct {
	*exec.Cmd
	stdout, stderr bytes.Buffer
}

// score starts the scorer with the example configuration.
func (w *world) score() *scoring {
	w.Helper()
	s := new(scoring)
	s.Cmd = exec.Command(os.Args[0], "-config", "config.yaml", "-dataset", w.rows, "-report-dir", w.report, "-json")
	s.Env = append(os.Environ(), "HOMING_TEST_COMMAND=swebench-score", "SWEBENCH_SERVICE_URL=http://"+w.address, "SWEBENCH_SERVICE_AUTH_TOKEN="+secretToken,
		"OPENAI_API_KEY="+secretKey, "SWEBENCH_POLL_INTERVAL_S=0.1")
	s.Stdout, s.Stderr = &s.stdout, &s.stderr
	require.NoError(w, s.Start())
	w.Cleanup(func() { _ = s.Process.Kill() })
	return s
}

type entry struct {
	Score    *float64
	Complete bool
	RunID    string   `json:"run_id"`
	Total    int      `json:"total_samples"`
	Headers  []string `json:"session_headers"`
	Reasons  []struct{ Code, Text string }
}

// finish waits for the scorer and checks the score that the script gives.
func (w *world) finish(s *scoring) entry {
	w.Helper()
	require.NoError(w, s.Wait(), s.stderr.String())
	var e entry
	require.NoError(w, json.Unmarshal(s.stdout.Bytes(), &e))
	require.InDelta(w, 0.8, *e.Score, 1e-12)
	require.True(w, e.Complete, e.Reasons)
	require.Equal(w, 50, e.Total)
	require.Equal(w, []string{"X-Session-ID"}, e.Headers)
	require.NotContains(w, s.stdout.String()+s.stderr.String(), secretToken)
	require.NotContains(w, s.stdout.String()+s.stderr.String(), secretKey)
	for _, dir := range []string{w.report, w.root} {
		require.NoError(w, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			require.NotContains(w, string(data), secretToken, path)
			require.NotContains(w, string(data), secretKey, path)
			return err
		}))
	}
	for _, name := range []string{"preds.json", "swe_bench_agent.log", "swe_bench_eval.log", "swe_bench_results.json", "status.json"} {
		require.FileExists(w, filepath.Join(w.report, "swe_bench_runs", e.RunID, name))
	}
	return e
}

// started waits until agents have left some predictions.
func (w *world) started() {
	w.Helper()
	require.Eventually(w, func() bool {
		files, _ := filepath.Glob(filepath.Join(w.root, "*", "swe_bench_output", "preds.json"))
		if len(files) != 1 {
			return false
		}
		data, _ := os.ReadFile(files[0])
		var preds map[string]any
		return json.Unmarshal(data, &preds) == nil && len(preds) >= 10 && len(preds) < 45
	}, 30*time.Second, 5*time.Millisecond)
}

// The service and the scorer as two processes, with a token: the score, the artifacts and the
// entry are right, and no secret is in a file.
func TestEndToEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0.01)
	w.finish(w.score())
}

// A service that is killed in the middle and started again: the scorer ends with the same
// score, and has sent the endpoint's key again.
func TestServiceKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0.1)
	s := w.score()
	w.started()
	w.kill()
	w.serve()
	w.finish(s)
	require.Contains(t, s.stderr.String(), "asks for the endpoint key again")
}

// A scorer that is killed and started again finds its run.
func TestScorerKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0.1)
	s := w.score()
	w.started()
	require.NoError(t, s.Process.Signal(syscall.SIGKILL))
	require.Error(t, s.Wait())
	e := w.finish(w.score())
	runs, err := os.ReadDir(w.root)
	require.NoError(t, err)
	found := 0
	for _, r := range runs {
		if r.IsDir() {
			found++
			require.Equal(t, e.RunID, r.Name(), "there is no second run")
		}
	}
	require.Equal(t, 1, found)
}

// SIGINT and SIGTERM cancel the run on the service; the entry is printed, and the exit code
// is not 0.
func TestSignals(t *testing.T) {
	t.Parallel()
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		s := &service{statuses: []string{running}, polled: make(chan struct{})}
		args, _ := arguments(t, s, "-json")
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		cmd := exec.CommandContext(ctx, os.Args[0], args...)
		cmd.Env = append(os.Environ(), "HOMING_TEST_COMMAND=swebench-score")
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		require.NoError(t, cmd.Start())
		<-s.polled
		require.NoError(t, cmd.Process.Signal(signal))
		require.Error(t, cmd.Wait())
		cancel()
		require.Equal(t, 1, cmd.ProcessState.ExitCode(), stderr.String())
		require.Equal(t, int32(1), s.cancels.Load())
		var e struct{ Reasons []struct{ Code string } }
		require.NoError(t, json.Unmarshal(stdout.Bytes(), &e), stdout.String())
		require.Equal(t, "interrupted", e.Reasons[0].Code)
	}
}
