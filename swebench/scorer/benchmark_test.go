package scorer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/homing-go/homing/swebench/config"
	"github.com/homing-go/homing/swebench/scorer"
	"github.com/stretchr/testify/require"
)

const threeRows = `{"instance_id":"c"}` + "\n" + `{"instance_id":"a"}` + "\n" + `{"instance_id":"b"}` + "\n"

// benchmark is one over a configuration whose extras have more lines.
func (r *rig) benchmark(t *testing.T, rows string, extras ...string) scorer.Benchmark {
	t.Helper()
	lines := append([]string{"swebench_service_url: " + r.cfg.ServiceURL, "poll_interval_s: 0.001", "swebench_service_auth_token: " + fmt.Sprintf("%q", r.token)}, extras...)
	c, err := config.Parse([]byte(`
model_params: {name: m, temperature: 0.25, max_new_tokens: 4096}
datasets:
  - name: swe_bench
    type: accuracy
    accuracy_config:
      eval_method: swe_bench_scorer
      extras:
        `+strings.Join(lines, "\n        ")+`
  - {name: replay, agentic_inference: {routing_headers: [X-B, X-A]}}
endpoint_config: {endpoints: ["http://endpoint"], api_key: endpoint-key-0123456789}
`), nil)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "rows.jsonl")
	(&rig{cfg: scorer.Config{ReportDir: filepath.Dir(file)}}).put(t, rows, "rows.jsonl")
	return scorer.Benchmark{Config: c, Dataset: file, ReportDir: r.cfg.ReportDir, Logger: slog.New(slog.NewTextHandler(r.log, nil))}
}

// In acc and both mode the subset and the split of extras reach the loader, and preflight
// runs once; in perf mode nothing happens at all.
func TestCase019_Modes(t *testing.T) {
	t.Parallel()
	for _, mode := range []config.Mode{"", config.ModeAcc, config.ModeBoth, config.ModePerf} {
		r := newRig(t, &pyService{statuses: []string{succeeded(1, 1)}})
		b := r.benchmark(t, "", "subset: lite", "split: dev")
		loaded := ""
		b.Mode = mode
		b.Rows = func(_ context.Context, d config.Dataset, subset, split string) ([]scorer.Row, error) {
			loaded = d.Name + " " + subset + " " + split
			return []scorer.Row{{InstanceID: "a"}}, nil
		}
		entries, err := b.Run(t.Context())
		require.NoError(t, err)
		if mode == config.ModePerf {
			require.Empty(t, entries)
			require.Empty(t, loaded)
			require.Empty(t, r.kinds())
			continue
		}
		reasons(t, entries[0])
		require.Equal(t, "swe_bench lite dev", loaded)
		require.Equal(t, []string{"GET /health", "GET /health", "POST /v1/runs", "GET /v1/runs/ID"}, r.kinds())
		require.Contains(t, r.submissions()[0], `"subset":"lite","split":"dev"`)
	}
}

// num_instances above the number of rows is clamped, with a warning, and the clamped number
// is the denominator.
func TestCase028_Clamped(t *testing.T) {
	t.Parallel()
	r := newRig(t, &pyService{statuses: []string{succeeded(3, 1)}})
	entries, err := r.benchmark(t, threeRows, "num_instances: 50").Run(t.Context())
	require.NoError(t, err)
	require.InDelta(t, 1.0/3, *entries[0].Score, 1e-12)
	require.Equal(t, 3, entries[0].UnitSamples)
	require.Len(t, r.log.with("WARN", "num_instances"), 1)
	require.Contains(t, r.submissions()[0], `"num_instances":3,`)

	r = newRig(t, &pyService{statuses: []string{succeeded(2, 1)}})
	entries, err = r.benchmark(t, threeRows, "num_instances: 2").Run(t.Context())
	require.NoError(t, err)
	require.InDelta(t, 0.5, *entries[0].Score, 0)
	require.Empty(t, r.log.with("WARN"))
	require.Contains(t, r.submissions()[0], `"evaluated_instance_ids":["c","a"]`)
}

// The submission holds what the configuration says, names of the performance dataset
// included.
func TestBenchmarkBody(t *testing.T) {
	t.Parallel()
	r := newRig(t, &pyService{token: "tok-0123456789", statuses: []string{succeeded(3, 1)}})
	_, err := r.benchmark(t, threeRows, "workers: 7").Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, `{"model_name":"m","endpoint_urls":["http://endpoint"],"endpoint_api_key":"endpoint-key-0123456789","generation_params":{"temperature":0.25,"max_new_tokens":4096},`+
		`"subset":"verified","split":"test","num_instances":3,"workers":7,"max_eval_workers":10,"evaluated_instance_ids":["c","a","b"],"template":"default","routing_headers":["X-B","X-A"]}`, r.submissions()[0])
}

// The report folder gets the entries and the configuration without its secrets.
func TestBenchmarkFiles(t *testing.T) {
	t.Parallel()
	last := status("succeeded", "message", `"key endpoint-key-0123456789 and tok-0123456789"`, "result", `{"submitted_instances":3,"resolved_instances":1,"note":"tok-0123456789"}`)
	r := newRig(t, &pyService{token: "tok-0123456789", statuses: []string{last}})
	entries, err := r.benchmark(t, threeRows).Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"swe_bench_config.yaml", "swe_bench_report.json", "swe_bench_results.json", "swe_bench_runs/ID/swe_bench_service_status.json"}, r.files(t))
	var report struct {
		Scores []scorer.Entry `json:"accuracy_scores"`
	}
	require.NoError(t, json.Unmarshal([]byte(r.file(t, "swe_bench_report.json")), &report))
	require.JSONEq(t, string(must(json.Marshal(entries[0]))), string(must(json.Marshal(report.Scores[0]))))
	for _, name := range r.files(t) {
		text := r.file(t, strings.Split(strings.Replace(name, "ID", runID, 1), "/")...)
		require.NotContains(t, text, "endpoint-key-0123456789", name)
		require.NotContains(t, text, "tok-0123456789", name)
	}
	require.True(t, json.Valid([]byte(r.file(t, "swe_bench_results.json"))))
	require.Contains(t, r.file(t, "swe_bench_config.yaml"), "temperature: 0.25")
}

// What is wrong with options, rows, report folder or service ends all before a submission.
func TestBenchmarkRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rows, extra, text string
		health            bool
		change            func(*rig, *scorer.Benchmark)
	}{
		"option":     {threeRows, "workers: 0", "workers", false, nil},
		"rows":       {"{", "", "row 1", false, nil},
		"no file":    {threeRows, "", "no such file", false, func(_ *rig, b *scorer.Benchmark) { b.Dataset += "x" }},
		"no dataset": {threeRows, "", "-dataset", false, func(_ *rig, b *scorer.Benchmark) { b.Dataset = "" }},
		"no folder":  {threeRows, "", "report folder", false, func(_ *rig, b *scorer.Benchmark) { b.ReportDir = "" }},
		"map":        {threeRows, "", "sample_idx_map.json", false, func(r *rig, _ *scorer.Benchmark) { r.put(t, `{"other":{}}`, "sample_idx_map.json") }},
		"health":     {threeRows, "", "HTTP 503", true, func(r *rig, _ *scorer.Benchmark) { r.health = fail(503, "") }},
	} {
		r := newRig(t, new(pyService))
		extras := []string{}
		if c.extra != "" {
			extras = append(extras, c.extra)
		}
		b := r.benchmark(t, c.rows, extras...)
		if c.change != nil {
			c.change(r, &b)
		}
		entries, err := b.Run(t.Context())
		require.ErrorContains(t, err, c.text, name)
		require.Empty(t, entries)
		require.Equal(t, c.health, len(r.kinds()) > 0, name)
	}
	r := newRig(t, &pyService{statuses: []string{succeeded(3, 2)}})
	r.put(t, `{"swe_bench":{}}`, "sample_idx_map.json")
	_, err := r.benchmark(t, threeRows).Run(t.Context())
	require.NoError(t, err)

	r = newRig(t, new(pyService))
	entries, err := r.benchmark(t, "").Run(t.Context())
	require.NoError(t, err)
	incomplete(t, entries[0], scorer.NoInstances)
	require.Empty(t, r.kinds(), "without rows no request is made")
}
