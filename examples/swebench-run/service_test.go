package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/homing-go/homing/internal/need"
	"github.com/homing-go/homing/routing/routingtest"
	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/runner/runnertest"
	"github.com/stretchr/testify/require"
)

const scoreConfig = `
model_params: {name: qwen/tiny}
endpoint_config: {endpoints: ["%s"]}
datasets:
  - name: swe_bench
    type: accuracy
    accuracy_config:
      eval_method: swe_bench_scorer
      extras: {swebench_service_url: "%s", swebench_template: qwen_tools, num_instances: 6, workers: 3, poll_interval_s: 0.1}
`

// A service and a scorer, each a process of its own, give the score that one process gives,
// with one session on one backend for each instance.
func TestServiceGivesTheSameScore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, runnertest.Tasks()...)
	require.InDelta(t, 4.0/6, w.serviceScore("local"), 1e-9)
	w.oneBackendEach(6)
}

// A served is a service in a process of its own.
type served struct {
	*world
	cmd     *exec.Cmd
	address string
	log     strings.Builder // whole when drained is closed
	drained chan struct{}
}

// serve starts a service over the artifact root of the world.
func (w *world) serve(sandbox string, more ...string) *served {
	w.Helper()
	s := &served{world: w, drained: make(chan struct{})}
	s.cmd = exec.CommandContext(w.Context(), w.build("swebench-service"), append([]string{
		"-port", "0", "-artifact-root", w.root(), "-allow-unauthenticated", "-dataset", w.set.Dataset, "-sandbox", sandbox, "-harness", "native",
	}, more...)...)
	s.cmd.Env = w.environ()
	stderr, err := s.cmd.StderrPipe()
	require.NoError(w, err)
	require.NoError(w, s.cmd.Start())
	lines := bufio.NewScanner(stderr)
	for s.address == "" && lines.Scan() {
		s.log.WriteString(lines.Text() + "\n")
		_, s.address, _ = strings.Cut(lines.Text(), "listening on ")
	}
	go func() {
		defer close(s.drained)
		for lines.Scan() {
			s.log.WriteString(lines.Text() + "\n")
		}
	}()
	if s.address == "" {
		<-s.drained
		require.Fail(w, "the service did not start", s.log.String())
	}
	return s
}

func (w *world) root() string { return filepath.Join(w.dir, "runs") }

// build builds a command of the folder beside this one.
func (w *world) build(name string) string {
	w.Helper()
	need.Programs(w.T, "go")
	file := filepath.Join(w.dir, name)
	out, err := exec.CommandContext(w.Context(), "go", "build", "-o", file, "../"+name).CombinedOutput()
	require.NoError(w, err, string(out))
	return file
}

// stop ends the service in the way that operators do.
func (s *served) stop() {
	s.Helper()
	require.NoError(s, s.cmd.Process.Signal(os.Interrupt))
	<-s.drained
	require.NoError(s, s.cmd.Wait(), s.log.String())
}

// kill ends the service as a crash does.
func (s *served) kill() {
	s.Helper()
	require.NoError(s, s.cmd.Process.Kill())
	<-s.drained
	_ = s.cmd.Wait()
}

// run asks for the status of a run.
func (s *served) status(method, path, body string) swebench.StatusView {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), method, s.address+path, strings.NewReader(body))
	require.NoError(s, err)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	require.NoError(s, err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	require.NoError(s, err)
	view, err := swebench.ParseStatus(data)
	require.NoError(s, err, "%s", data)
	return view
}

// serviceScore is the score of the dataset by a service and a scorer.
func (w *world) serviceScore(sandbox string) float64 {
	w.Helper()
	service := w.serve(sandbox)
	defer service.stop()
	config := filepath.Join(w.dir, "config.yaml")
	require.NoError(w, os.WriteFile(config, fmt.Appendf(nil, scoreConfig, strings.TrimSuffix(w.cluster.URL(), "/v1"), service.address), 0o600))
	score := exec.CommandContext(w.Context(), w.build("swebench-score"), "-config", config, "-dataset", w.set.Dataset, "-report-dir", filepath.Join(w.dir, "report"), "-json")
	score.Env = w.environ()
	var stdout, said bytes.Buffer
	score.Stdout, score.Stderr = &stdout, &said
	require.NoError(w, score.Run(), "%s\n%s", stdout.String(), said.String())
	var entry struct {
		Score    *float64
		Complete bool
	}
	require.NoError(w, json.Unmarshal(stdout.Bytes(), &entry), stdout.String())
	require.NotNil(w, entry.Score, said.String())
	require.True(w, entry.Complete, stdout.String())
	return *entry.Score
}

// killedService kills a service in the middle of a run of one instance. The next one goes on
// in the same sandbox and under the same session, and one that does not resume removes it.
func (w *world) killedService(sandbox string) {
	w.Helper()
	for _, resume := range []bool{true, false} {
		before := w.sessions()
		waiting, release := make(chan struct{}), make(chan struct{})
		var once sync.Once
		hold := func(req *routingtest.Request) {
			if req.Answered() == 2 {
				once.Do(func() { close(waiting); <-release })
			}
		}
		w.asked.Store(&hold)
		service := w.serve(sandbox)
		body, err := json.Marshal(map[string]any{
			"model_name": "qwen/tiny", "endpoint_urls": []string{strings.TrimSuffix(w.cluster.URL(), "/v1")}, "num_instances": 1, "workers": 1, "max_eval_workers": 1,
			"template": "qwen_tools", "evaluated_instance_ids": []string{w.set.Tasks[0].ID},
		})
		require.NoError(w, err)
		run := service.status(http.MethodPost, "/v1/runs", string(body))
		<-waiting
		service.kill()
		close(release)
		service = w.serve(sandbox, fmt.Sprintf("-resume=%v", resume))
		require.Eventually(w, func() bool {
			run = service.status(http.MethodGet, "/v1/runs/"+run.RunID, "")
			return run.Status.Terminal()
		}, 5*time.Minute, 20*time.Millisecond)
		fresh := len(w.sessions()) - len(before)
		service.stop()
		require.Equal(w, 1, fresh, "one session: %s", service.log.String())
		if resume {
			require.Equal(w, swebench.StateSucceeded, run.Status, service.log.String())
		} else {
			require.Equal(w, swebench.StateFailed, run.Status)
		}
	}
	w.asked.Store(nil)
}

// A service that was killed goes on where it was, or leaves nothing.
func TestKilledService(t *testing.T) {
	t.Parallel()
	w := newWorld(t, runnertest.Tasks()[:1]...)
	w.killedService("local")
	place{world: w}.nothingLeft()
}
