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
	need(t, "go")
	w := newWorld(t)
	for _, name := range []string{"swebench-service", "swebench-score"} {
		out, err := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(w.dir, name), "../"+name).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	service := exec.CommandContext(t.Context(), filepath.Join(w.dir, "swebench-service"), "-port", "0", "-artifact-root", filepath.Join(w.dir, "runs"),
		"-allow-unauthenticated", "-dataset", w.set.Dataset, "-sandbox", "local", "-harness", "native")
	stderr, err := service.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, service.Start())
	address := ""
	lines := bufio.NewScanner(stderr)
	for address == "" && lines.Scan() {
		_, address, _ = strings.Cut(lines.Text(), "listening on ")
	}
	require.NotEmpty(t, address)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for lines.Scan() {
		}
	}()
	defer func() {
		require.NoError(t, service.Process.Signal(os.Interrupt))
		<-drained
		require.NoError(t, service.Wait())
	}()

	config := filepath.Join(w.dir, "config.yaml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, scoreConfig, strings.TrimSuffix(w.cluster.URL(), "/v1"), address), 0o600))
	score := exec.CommandContext(t.Context(), filepath.Join(w.dir, "swebench-score"), "-config", config, "-dataset", w.set.Dataset, "-report-dir", filepath.Join(w.dir, "report"), "-json")
	var stdout, said bytes.Buffer
	score.Stdout, score.Stderr = &stdout, &said
	require.NoError(t, score.Run(), "%s\n%s", stdout.String(), said.String())
	var entry struct {
		Score    *float64
		Complete bool
	}
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &entry), stdout.String())
	require.NotNil(t, entry.Score, said.String())
	require.InDelta(t, 4.0/6, *entry.Score, 1e-9)
	require.True(t, entry.Complete, stdout.String())

	sessions := map[string]map[string]bool{}
	requests := 0
	for n, b := range w.cluster.Backends() {
		for _, r := range b.Records() {
			id := r.Header.Get("X-Session-ID")
			require.Len(t, id, 32)
			if sessions[id] == nil {
				sessions[id] = map[string]bool{}
			}
			sessions[id][fmt.Sprint(n)] = true
			requests++
		}
	}
	require.Equal(t, 6*runnertest.Turns, requests)
	require.Len(t, sessions, 6)
	for _, backends := range sessions {
		require.Len(t, backends, 1)
	}
}
