package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/homing-go/homing/swebench"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// buildDir is where tests build other commands; it is gone afterwards.
func buildDir() string {
	return filepath.Join(os.TempDir(), "homing-swebench-score-"+strconv.Itoa(os.Getpid()))
}

// TestMain is the command itself when a test starts it as a process.
func TestMain(m *testing.M) {
	if os.Getenv("HOMING_TEST_COMMAND") == "swebench-score" {
		main()
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(buildDir())
		os.Exit(code)
	}))
}

const id = "0123456789abcdef0123456789abcdef"

// service is an old one that answers each poll with the next status.
type service struct {
	capabilities string
	statuses     []string
	polls        atomic.Int32
	cancels      atomic.Int32
	requests     atomic.Int32
	polled       chan struct{}
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	switch {
	case r.URL.Path == "/health":
		fmt.Fprintf(w, `{"api_version":"v1","capabilities":["swebench.run","swebench.cancel","artifacts.download"%s],"status":"ok"}`, s.capabilities)
	case r.Method == http.MethodPost && r.URL.Path == "/v1/runs":
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{"run_id":"`+id+`","status":"queued"}`)
	case strings.HasSuffix(r.URL.Path, "/cancel"):
		s.cancels.Add(1)
		_, _ = io.WriteString(w, `{}`)
	default:
		n := int(s.polls.Add(1))
		if s.polled != nil && n == 1 {
			close(s.polled)
		}
		_, _ = io.WriteString(w, s.statuses[min(n, len(s.statuses))-1])
	}
}

func done(submitted, resolved int) string {
	return fmt.Sprintf(`{"run_id":%q,"status":"succeeded","phase":"succeeded","agent_total":2,"agent_completed":2,"eval_total":2,"eval_completed":2,"result":{"submitted_instances":%d,"resolved_instances":%d}}`, id, submitted, resolved)
}

const running = `{"run_id":"` + id + `","status":"running","phase":"agent","agent_total":2,"agent_completed":1}`

// arguments are those of a run on s, with files of its own.
func arguments(t *testing.T, s *service, more ...string) (args []string, dir string) {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	dir = t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	file := write("config.yaml", `
model_params: {name: m}
datasets:
  - name: swe_bench
    type: accuracy
    accuracy_config:
      eval_method: swe_bench_scorer
      extras: {swebench_service_url: "`+server.URL+`", poll_interval_s: 0.01, num_instances: 2}
endpoint_config: {endpoints: ["http://127.0.0.1:1"]}
`)
	rows := write("rows.jsonl", "{\"instance_id\":\"a\"}\n{\"instance_id\":\"b\"}\n")
	dir = filepath.Join(dir, "report")
	return append([]string{"-config", file, "-dataset", rows, "-report-dir", dir}, more...), dir
}

func TestComplete(t *testing.T) {
	t.Parallel()
	args, dir := arguments(t, &service{statuses: []string{running, done(2, 1)}}, "-json")
	var stdout, stderr, terminal bytes.Buffer
	require.Zero(t, run(context.Background(), args, &stdout, &stderr, &terminal), stderr.String())
	var e map[string]any
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &e), "the entry alone")
	require.InDelta(t, 0.5, e["score"], 0)
	require.Equal(t, true, e["complete"])
	require.Equal(t, []any{}, e["reasons"])
	require.NotNil(t, e["routing"])
	warnings := 0
	for line := range strings.Lines(stderr.String()) {
		if strings.Contains(line, "WARN") && strings.Contains(line, "routing") {
			warnings++
		}
	}
	require.Equal(t, 1, warnings, stderr.String())
	require.Contains(t, terminal.String(), "agents")
	require.Contains(t, terminal.String(), "evaluation")
	require.FileExists(t, filepath.Join(dir, swebench.FileResults))

	args, _ = arguments(t, &service{capabilities: `,"swebench.routing_headers"`, statuses: []string{done(2, 2)}}, "-mode", "both")
	stdout.Reset()
	stderr.Reset()
	require.Zero(t, run(context.Background(), args, &stdout, &stderr, nil))
	require.Contains(t, stdout.String(), "score 1.0000, 2 of 2 resolved, run "+id+", complete")
	require.Empty(t, stderr.String())
}

func TestIncomplete(t *testing.T) {
	t.Parallel()
	args, _ := arguments(t, &service{statuses: []string{done(1, 1)}}, "-json")
	var stdout, stderr bytes.Buffer
	require.Equal(t, 1, run(context.Background(), args, &stdout, &stderr, nil))
	var e struct {
		Score   *float64
		Reasons []struct{ Code, Text string }
	}
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &e))
	require.InDelta(t, 0.5, *e.Score, 0)
	require.Equal(t, "predictions_missing", e.Reasons[0].Code)
	require.NotEmpty(t, e.Reasons[0].Text)
	args, _ = arguments(t, &service{statuses: []string{done(1, 1)}})
	stdout.Reset()
	require.Equal(t, 1, run(context.Background(), args, &stdout, &stderr, nil))
	require.Contains(t, stdout.String(), "incomplete:\n  predictions_missing: ")
	require.Contains(t, stdout.String(), "note: ")
}

func TestPerfAsksNobody(t *testing.T) {
	t.Parallel()
	s := new(service)
	args, _ := arguments(t, s, "-mode", "perf", "-json")
	var stdout, stderr bytes.Buffer
	require.Zero(t, run(context.Background(), args, &stdout, &stderr, nil), stderr.String())
	require.Zero(t, s.requests.Load())
	require.Empty(t, stdout.String())
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"-config", "x"}, {"-report-dir", "x"}, {"-config", "x", "-report-dir", "y", "-mode", "z"}, {"-config", "x", "-report-dir", "y", "-max-artifact-bytes", "0"}, {"-config", "x", "-report-dir", "y", "z"}, {"-unknown"}} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, 2, run(context.Background(), args, &stdout, &stderr, nil), args)
		require.NotEmpty(t, stderr.String())
		require.Empty(t, stdout.String())
	}
	var stdout, stderr bytes.Buffer
	require.Zero(t, run(context.Background(), []string{"-h"}, &stdout, &stderr, nil))
	for _, name := range []string{"-config", "-dataset", "-report-dir", "-mode", "-json", "-max-artifact-bytes"} {
		require.Contains(t, stderr.String(), "\n  "+name)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	require.Equal(t, 1, run(context.Background(), []string{"-config", "none.yaml", "-report-dir", t.TempDir(), "-json"}, &stdout, &stderr, nil))
	require.Contains(t, stderr.String(), "none.yaml")
	args, _ := arguments(t, &service{}, "-json")
	args[3] += "x"
	require.Equal(t, 1, run(context.Background(), args, &stdout, &stderr, nil))
	require.Empty(t, stdout.String())
}

// A configuration that lies in the report folder stays as it is.
func TestConfigInReportFolder(t *testing.T) {
	t.Parallel()
	args, _ := arguments(t, &service{statuses: []string{done(2, 2)}})
	args[5] = filepath.Dir(args[1])
	before, err := os.ReadFile(args[1])
	require.NoError(t, err)
	for range 2 {
		require.Zero(t, run(context.Background(), args, io.Discard, io.Discard, nil))
	}
	after, err := os.ReadFile(args[1])
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
}
