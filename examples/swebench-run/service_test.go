package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

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

// serviceScore is the score of the dataset by a service and a scorer.
func (w *world) serviceScore(sandbox string) float64 {
	w.Helper()
	need(w.T, "go")
	for _, name := range []string{"swebench-service", "swebench-score"} {
		out, err := exec.CommandContext(w.Context(), "go", "build", "-o", filepath.Join(w.dir, name), "../"+name).CombinedOutput()
		require.NoError(w, err, string(out))
	}
	service := exec.CommandContext(w.Context(), filepath.Join(w.dir, "swebench-service"), "-port", "0", "-artifact-root", filepath.Join(w.dir, "runs"),
		"-allow-unauthenticated", "-dataset", w.set.Dataset, "-sandbox", sandbox, "-harness", "native")
	service.Env = w.environ()
	stderr, err := service.StderrPipe()
	require.NoError(w, err)
	require.NoError(w, service.Start())
	address, log := "", ""
	lines := bufio.NewScanner(stderr)
	for address == "" && lines.Scan() {
		_, address, _ = strings.Cut(lines.Text(), "listening on ")
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for lines.Scan() {
			log += lines.Text() + "\n"
		}
	}()
	defer func() {
		require.NoError(w, service.Process.Signal(os.Interrupt))
		<-drained
		require.NoError(w, service.Wait(), log)
	}()
	require.NotEmpty(w, address)

	config := filepath.Join(w.dir, "config.yaml")
	require.NoError(w, os.WriteFile(config, fmt.Appendf(nil, scoreConfig, strings.TrimSuffix(w.cluster.URL(), "/v1"), address), 0o600))
	score := exec.CommandContext(w.Context(), filepath.Join(w.dir, "swebench-score"), "-config", config, "-dataset", w.set.Dataset, "-report-dir", filepath.Join(w.dir, "report"), "-json")
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
