package runner_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/homing-go/homing/internal/need"
	"github.com/homing-go/homing/swebench/harness"
	"github.com/homing-go/homing/swebench/internal/program"
	"github.com/homing-go/homing/swebench/phase"
	"github.com/homing-go/homing/swebench/runner"
	"github.com/homing-go/homing/swebench/sandbox"
	"github.com/stretchr/testify/require"
)

// harnessVariable makes the test binary stand in for the Python harness.
const harnessVariable = "HOMING_TEST_RUNNER_HARNESS"

// A verdicts is what the stand-in does: an outcome for each instance, resolved, unresolved,
// patch or error, and the code with which it exits, without a report if it is not 0.
type verdicts struct {
	Outcomes map[string]string
	Exit     int
}

func standIn(text string, args []string) int {
	var v verdicts
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		fmt.Println(err)
		return 70
	}
	option := map[string][]string{}
	name := ""
	for _, arg := range args {
		if strings.HasPrefix(arg, "--") {
			name = arg
			continue
		}
		option[name] = append(option[name], arg)
	}
	fmt.Println("environment:", strings.Join(os.Environ(), " "))
	predictions, err := harness.ReadPredictions(option["--predictions_path"][0])
	if err != nil {
		fmt.Println(err)
		return 71
	}
	run, model := option["--run_id"][0], "org__tiny"
	lists := map[string][]string{"completed": {}, "incomplete": {}, "empty_patch": {}, "submitted": {}, "resolved": {}, "unresolved": {}, "error": {}}
	add := func(list, id string) { lists[list] = append(lists[list], id) }
	for _, id := range option["--instance_ids"] {
		p, ok := predictions[id]
		if !ok {
			add("incomplete", id)
			continue
		}
		add("submitted", id)
		if p.Patch == "" {
			add("empty_patch", id)
			continue
		}
		dir := filepath.Join("logs", "run_evaluation", run, model, id)
		_ = os.MkdirAll(dir, 0o755)
		switch outcome := v.Outcomes[id]; outcome {
		case "resolved", "unresolved":
			add("completed", id)
			add(outcome, id)
			_ = os.WriteFile(filepath.Join(dir, "report.json"), fmt.Appendf(nil, `{%q: {"resolved": %t}}`, id, outcome == "resolved"), 0o600)
		case "patch":
			add("error", id)
			_ = os.WriteFile(filepath.Join(dir, "run_instance.log"), []byte(">>>>> Patch Apply Failed:\n"), 0o600)
		default:
			add("error", id)
		}
	}
	if v.Exit != 0 {
		fmt.Println("the daemon cannot be reached")
		return v.Exit
	}
	report := map[string]any{"total_instances": len(option["--instance_ids"]), "schema_version": 2}
	for list, ids := range lists {
		report[list+"_ids"] = ids
		if list != "incomplete" {
			report[list+"_instances"] = len(ids)
		}
	}
	data, _ := json.Marshal(report)
	if err := os.WriteFile(model+"."+run+".json", data, 0o600); err != nil {
		fmt.Println(err)
		return 72
	}
	return 0
}

// python writes a program that stands in for the Python harness.
func python(t *testing.T, v verdicts) string {
	t.Helper()
	need.Programs(t, "sh")
	text, err := json.Marshal(v)
	require.NoError(t, err)
	name := filepath.Join(t.TempDir(), "harness")
	program.Write(t, name, fmt.Sprintf("#!/bin/sh\n%s='%s' GORACE=atexit_sleep_ms=0 exec '%s' \"$@\"\n", harnessVariable, text, os.Args[0]))
	return name
}

// Score, reasons and the instances of each class arrive from the Python harness, together
// with what kept an instance from having a prediction.
func TestOfficialHarness(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 6)
	id := func(n int) string { return w.set.Tasks[n].ID }
	w.places.start = func(_ int, spec sandbox.Spec) error {
		if spec.Labels[runner.LabelInstance] == id(5) {
			return errors.New("no room")
		}
		return nil
	}
	cfg := w.config()
	cfg.Evaluator = harness.Official{Containers: "true", Command: []string{python(t, verdicts{Outcomes: map[string]string{
		id(0): "resolved", id(1): "unresolved", id(2): "patch", id(3): "error", id(4): "resolved",
	}})}}
	res := w.run(cfg)
	require.NotNil(t, res.Score)
	require.InDelta(t, 2.0/6, *res.Score, 1e-9)
	require.Equal(t, []int{6, 5, 2}, []int{res.Evaluated, res.Submitted, res.Resolved})
	require.False(t, res.Complete)
	require.Len(t, res.Reasons, 1, "%+v", res.Reasons)
	require.Equal(t, string(harness.Infrastructure), res.Reasons[0].Code)
	require.ElementsMatch(t, []string{id(3), id(5)}, res.Reasons[0].IDs)
	require.Contains(t, res.Reasons[0].Text, "SandboxNotStarted: after 1 tries: no room")
	require.Contains(t, res.Reasons[0].Text, "the harness has no verdict")
	var record struct{ Owner string }
	data, err := os.ReadFile(filepath.Join(cfg.Dir, "run.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &record))
	log, err := os.ReadFile(filepath.Join(cfg.Dir, "swe_bench_eval.log"))
	require.NoError(t, err)
	require.Contains(t, string(log), phase.RunIDVariable+"="+record.Owner, "by which it is found when this process is killed")
	require.Len(t, res.Notes, 1)
	require.Equal(t, string(harness.PatchFailed), res.Notes[0].Code)
	require.Equal(t, []string{id(2)}, res.Notes[0].IDs)
	require.ElementsMatch(t, []string{id(2), id(3)}, res.Report.ErrorIDs)
	require.Equal(t, []string{id(1)}, res.Report.UnresolvedIDs)
	require.Equal(t, []string{id(5)}, res.Report.IncompleteIDs)
	object, err := res.JSON()
	require.NoError(t, err)
	var members struct {
		Errors []string `json:"error_ids"`
		Infra  []string `json:"infra_failure_ids"`
	}
	require.NoError(t, json.Unmarshal(object, &members))
	require.ElementsMatch(t, res.Report.ErrorIDs, members.Errors)
	require.ElementsMatch(t, []string{id(3), id(5)}, members.Infra)
}

// A harness that fails leaves no score, and its words are in the result; the next run with the
// folder grades what was not graded.
func TestOfficialHarnessFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	cfg := w.config()
	right := map[string]string{w.set.Tasks[0].ID: "resolved", w.set.Tasks[1].ID: "resolved"}
	cfg.Evaluator = harness.Official{Containers: "true", Command: []string{python(t, verdicts{Exit: 3, Outcomes: map[string]string{w.set.Tasks[0].ID: "resolved"}})}}
	res, err := runner.Run(t.Context(), cfg)
	var exit *phase.ExitError
	require.ErrorAs(t, err, &exit)
	require.Nil(t, res.Score)
	require.False(t, res.Complete)
	last := res.Reasons[len(res.Reasons)-1]
	require.Equal(t, runner.EvaluationFailed, last.Code)
	require.Contains(t, last.Text, "the daemon cannot be reached")
	require.Equal(t, []int{2, 2, 1}, []int{res.Evaluated, res.Submitted, res.Resolved}, "the verdict that there is stays")
	cfg.Evaluator = harness.Official{Containers: "true", Command: []string{python(t, verdicts{Outcomes: right})}}
	again := w.run(cfg)
	require.True(t, again.Complete, "%+v", again.Reasons)
	require.InDelta(t, 1, *again.Score, 1e-9)
}

// The harness that the words of a command line name is the program in SWEBENCH_HARNESS. It
// does not get the endpoint's key.
func TestOfficialHarnessBySetup(t *testing.T) {
	w := newWorld(t, 2)
	need.Programs(t, "bash")
	t.Setenv("SWEBENCH_HARNESS", python(t, verdicts{Outcomes: map[string]string{w.set.Tasks[0].ID: "resolved", w.set.Tasks[1].ID: "unresolved"}}))
	t.Setenv("TINY_KEY", apiKey)
	out := filepath.Join(w.dir, "by-setup")
	cfg, endpoint, err := runner.Setup{
		Dataset: w.set.Dataset, BaseURL: w.cluster.URL(), Model: "org/tiny", APIKeyEnv: "TINY_KEY", Templates: []string{"qwen_tools"},
		Sandbox: "local", Harness: "official", Workers: 2, Out: out,
	}.Open(t.Context())
	require.NoError(t, err)
	defer endpoint.CloseIdleConnections()
	res := w.run(cfg)
	require.NotNil(t, res.Score, "%+v", res.Reasons)
	require.InDelta(t, 0.5, *res.Score, 1e-9)
	require.True(t, res.Complete, "%+v", res.Reasons)
	log, err := os.ReadFile(filepath.Join(out, "swe_bench_eval.log"))
	require.NoError(t, err)
	require.Contains(t, string(log), "environment:")
	require.NotContains(t, string(log), "TINY_KEY")
	require.FileExists(t, filepath.Join(out, "org__tiny."+evalRun(t, out)+".json"))
}

// evalRun is the ID of the evaluation that a folder keeps.
func evalRun(t *testing.T, out string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(out, "run.json"))
	require.NoError(t, err)
	var record struct {
		Eval string `json:"eval_run_id"`
	}
	require.NoError(t, json.Unmarshal(data, &record))
	return record.Eval
}
