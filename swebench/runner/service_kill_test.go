//go:build unix

package runner_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/homing-go/homing/internal/need"
	"github.com/homing-go/homing/routing/routingtest"
	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/runner/runnertest"
	"github.com/stretchr/testify/require"
)

// A deployed is the service's command as a process, with the local sandbox. Once in the agents'
// phase and once in the evaluation a command never ends, and has a child in a session of its
// own.
type deployed struct {
	*world
	programs, root, temp, address, mark string
	args                                []string
	process                             *exec.Cmd
	drained                             chan struct{}
}

// once is a script that does not end when it is run for the first time.
func (d *deployed) once(what string) string {
	return fmt.Sprintf("if mkdir %s/%s 2>/dev/null; then setsid sh -c 'sleep 600; exit' %[3]s </dev/null >/dev/null 2>&1 & sh -c 'sleep 600; exit' %[3]s; fi; ", d.dir, what, d.mark)
}

func deploy(t *testing.T, args ...string) *deployed {
	t.Helper()
	need.Programs(t, "go", "bash", "setsid")
	d := &deployed{mark: "hang-" + rand.Text(), args: args}
	tame := runnertest.Model(runnertest.Tasks()...)
	d.world = newWorld(t, 6, func(c *routingtest.ClusterConfig) {
		c.Backend.Reply = func(req *routingtest.Request) routingtest.Answer {
			task, _ := runnertest.TaskOf(req, runnertest.Tasks()...)
			if a := tame(req); task.ID != runnertest.Tasks()[2].ID || !strings.Contains(a.ToolCalls[0].Arguments, "sh tests/all") {
				return a
			}
			return bash(d.once("agents") + "sh tests/all")(task)
		}
	})
	rows, err := os.ReadFile(d.set.Dataset)
	require.NoError(t, err)
	script, err := json.Marshal(d.once("evaluation") + "sh tests/all")
	require.NoError(t, err)
	rows = bytes.ReplaceAll(rows, []byte(`"test_command":"sh tests/all"`), append([]byte(`"test_command":`), script...))
	require.NoError(t, os.WriteFile(d.set.Dataset, rows, 0o600))
	d.programs, d.root, d.temp = filepath.Join(d.dir, "programs"), filepath.Join(d.dir, "runs"), filepath.Join(d.dir, "temp")
	require.NoError(t, os.Mkdir(d.temp, 0o755))
	for _, name := range []string{"swebench-service", "swebench-score"} {
		out, err := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(d.programs, name), "../../examples/"+name).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	d.address = "127.0.0.1:0"
	t.Cleanup(func() {
		d.kill()
		for _, file := range marked(d.mark) { // of a test that has failed
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if pid > 1 {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
	return d
}

// start starts the service where it was before, and waits until it listens.
func (d *deployed) start() {
	d.Helper()
	_, port, _ := strings.Cut(d.address, ":")
	args := append([]string{"-port", port, "-artifact-root", d.root, "-allow-unauthenticated", "-dataset", d.set.Dataset, "-sandbox", "local", "-harness", "native"}, d.args...)
	d.process = exec.Command(filepath.Join(d.programs, "swebench-service"), args...)
	d.process.Env = append(os.Environ(), "TMPDIR="+d.temp)
	stderr, err := d.process.StderrPipe()
	require.NoError(d, err)
	require.NoError(d, d.process.Start())
	lines, drained := bufio.NewScanner(stderr), make(chan struct{})
	for said := ""; said == ""; {
		require.True(d, lines.Scan(), "the service has ended")
		if _, said, _ = strings.Cut(lines.Text(), "listening on http://"); said != "" {
			d.address = said
		}
	}
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, stderr)
		for lines.Scan() {
		}
	}()
	d.drained = drained
}

func (d *deployed) kill() {
	if d.process != nil {
		_ = d.process.Process.Kill()
		<-d.drained
		_ = d.process.Wait()
		d.process = nil
	}
}

// killIn kills the service in a phase, while a command and its child run, and starts it again:
// then they have ended.
func (d *deployed) killIn(phase string) {
	d.Helper()
	require.Eventually(d, func() bool {
		_, err := os.Stat(filepath.Join(d.dir, phase))
		return err == nil && len(marked("exit\x00"+d.mark)) == 2
	}, 2*time.Minute, 10*time.Millisecond, phase)
	d.kill()
	outlived := marked("exit\x00" + d.mark)
	require.Len(d, outlived, 2, "they outlive the service")
	// Half-written files, as of one that is killed at the wrong moment.
	for _, pattern := range []string{"*", "*/swe_bench_output", "*/swe_bench_output/tiny__*", "*/swe_bench_output/logs/run_evaluation/*/*/tiny__*"} {
		dirs, err := filepath.Glob(filepath.Join(d.root, pattern))
		require.NoError(d, err)
		for _, dir := range dirs {
			if info, err := os.Stat(dir); err == nil && info.IsDir() {
				require.NoError(d, os.WriteFile(filepath.Join(dir, ".report.json.1.tmp"), []byte(`{"`), 0o600))
			}
		}
	}
	d.start()
	require.Eventually(d, func() bool { // a process that was killed may take a moment
		return !slices.ContainsFunc(marked(d.mark), func(found string) bool { return slices.Contains(outlived, found) })
	}, 10*time.Second, 10*time.Millisecond, "what outlived the service has ended when it listens again")
}

// clean checks that no sandbox, no process and no half-written file is left.
func (d *deployed) clean() {
	d.Helper()
	boxes, err := filepath.Glob(filepath.Join(d.temp, "homing-local-*", "*"))
	require.NoError(d, err)
	require.Empty(d, boxes)
	require.Eventually(d, func() bool { return len(marked(d.mark)) == 0 }, 10*time.Second, 10*time.Millisecond, "a process is left")
	require.NoError(d, filepath.WalkDir(d.root, func(name string, _ os.DirEntry, err error) error {
		require.False(d, strings.HasSuffix(name, ".tmp"), name)
		return err
	}))
}

const scoreConfig = `
model_params: {name: org/tiny}
endpoint_config: {endpoints: ["%s"], api_key: "${ENDPOINT_KEY}"}
datasets:
  - name: swe_bench
    type: accuracy
    accuracy_config:
      eval_method: swe_bench_scorer
      extras: {swebench_service_url: "http://%s", swebench_template: qwen_tools, num_instances: 6, workers: 3, poll_interval_s: 0.1}
`

// A service with the real runner that is killed, once while agents work and once while patches
// are graded, resumes its run each time it is started again. Its scorer sends the endpoint's
// key again and ends with the score of an undisturbed run; each instance had one execution
// under one session, and nothing is left.
func TestServiceIsKilled(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	d.start()
	config := filepath.Join(d.dir, "config.yaml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, scoreConfig, strings.TrimSuffix(d.cluster.URL(), "/v1"), d.address), 0o600))
	score := exec.Command(filepath.Join(d.programs, "swebench-score"), "-config", config, "-dataset", d.set.Dataset, "-report-dir", filepath.Join(d.dir, "report"), "-json")
	score.Env = append(os.Environ(), "ENDPOINT_KEY="+apiKey)
	var stdout, stderr bytes.Buffer
	score.Stdout, score.Stderr = &stdout, &stderr
	require.NoError(t, score.Start())
	ended := make(chan error, 1)
	go func() { ended <- score.Wait() }()
	t.Cleanup(func() { _ = score.Process.Kill() })
	d.killIn("agents")
	d.killIn("evaluation")
	select {
	case err := <-ended:
		require.NoError(t, err, stderr.String())
	case <-time.After(3 * time.Minute):
		require.Fail(t, "the scorer does not end")
	}
	var entry struct {
		Score    *float64
		Complete bool
		Reasons  []struct{ Code, Text string }
	}
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &entry), stdout.String())
	require.NotNil(t, entry.Score, stderr.String())
	require.InDelta(t, 4.0/6, *entry.Score, 1e-9)
	require.True(t, entry.Complete, "%+v", entry.Reasons)
	require.Contains(t, stderr.String(), "asks for the endpoint key again")
	for id, values := range d.sessions("X-Session-ID") {
		for _, v := range values {
			require.Equal(t, values[0], v, id)
		}
		attempts, err := filepath.Glob(filepath.Join(d.root, "*", "swe_bench_output", id, "*.jsonl"))
		require.NoError(t, err)
		require.Len(t, attempts, 1, id)
	}
	d.clean()
	d.kill()
}

// With -resume=false a run that was killed has failed when the service listens again, and its
// processes have ended. The next run removes its sandboxes.
func TestServiceIsKilledAndDoesNotResume(t *testing.T) {
	t.Parallel()
	d := deploy(t, "-resume=false")
	d.start()
	id := d.submitAll().RunID
	d.killIn("agents")
	require.Contains(t, d.view(id).Error, "interrupted")
	require.Equal(t, swebench.StateFailed, d.view(id).Status)
	second := d.submitAll().RunID
	d.killIn("evaluation")
	require.Equal(t, swebench.StateFailed, d.view(second).Status)
	last := d.submitAll().RunID
	require.Eventually(t, func() bool { return d.view(last).Status.Terminal() }, 3*time.Minute, 20*time.Millisecond)
	require.Equal(t, swebench.StateSucceeded, d.view(last).Status, d.view(last).Error)
	boxes, err := filepath.Glob(filepath.Join(d.temp, "homing-local-*", "*"))
	require.NoError(t, err)
	require.Empty(t, boxes)
	d.kill()
}

func (d *deployed) submitAll() swebench.StatusView {
	d.Helper()
	return d.ask("POST", "/v1/runs", submission(d.set.Tasks, d.cluster.URL(), ""))
}

func (d *deployed) view(id string) swebench.StatusView { return d.ask("GET", "/v1/runs/"+id, "") }

func (d *deployed) ask(method, path, body string) swebench.StatusView {
	d.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, "http://"+d.address+path, strings.NewReader(body))
	require.NoError(d, err)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	require.NoError(d, err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	require.NoError(d, err)
	view, err := swebench.ParseStatus(data)
	require.NoError(d, err, string(data))
	return view
}
