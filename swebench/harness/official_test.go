package harness_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/homing-go/homing/internal/need"
	"github.com/homing-go/homing/swebench/dataset"
	"github.com/homing-go/homing/swebench/harness"
	"github.com/homing-go/homing/swebench/internal/program"
	"github.com/homing-go/homing/swebench/phase"
	"github.com/homing-go/homing/swebench/redact"
	"github.com/stretchr/testify/require"
)

const runID = "endpoints_0a1b2c3d"

// play is a run against the stub.
type play struct {
	evaluator   harness.Official
	run         harness.Run
	predictions map[string]harness.Prediction
	mu          sync.Mutex
	warnings    []string
	progress    []harness.Progress
}

// newPlay is a run with one instance for each word: its ID is the word before the equals
// sign, its patch what is behind it; without one it has no prediction.
func newPlay(t *testing.T, instances ...string) *play {
	t.Helper()
	p := &play{predictions: map[string]harness.Prediction{}}
	p.run = harness.Run{
		ID: runID, Dir: t.TempDir(), Redact: redact.New("sk-secret"),
		Warn: func(text string) { p.mu.Lock(); defer p.mu.Unlock(); p.warnings = append(p.warnings, text) },
		Progress: func(step harness.Progress) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.progress = append(p.progress, step)
		},
	}
	for _, instance := range instances {
		id, patch, ok := strings.Cut(instance, "=")
		p.run.Rows = append(p.run.Rows, dataset.Row{InstanceID: id, Raw: json.RawMessage(`{"instance_id": "` + id + `"}`)})
		if ok {
			p.predictions[id] = harness.Prediction{Model: "org/model", Patch: patch}
		}
	}
	docker := put(t, "#!/bin/sh\n[ \"$1\" = ps ] && [ \"$5\" = name="+runID+" ] && for f in "+p.run.Dir+"/logs/run_evaluation/*/*/*; do echo c-$(basename $f) sweb.eval.$(basename $f)."+runID+"; done\n"+
		"[ \"$1\" = rm ] && echo sweb.eval.$3 | sed s/c-// >> "+p.run.Dir+"/removed\nexit 0\n", t.TempDir(), "docker")
	p.evaluator = harness.Official{Command: []string{os.Args[0]}, Containers: docker, Dataset: "set", Grace: 300 * time.Millisecond, Poll: 20 * time.Millisecond}
	return p
}

func (p *play) evaluate(t *testing.T, do plan) (harness.Report, error) {
	t.Helper()
	text, err := json.Marshal(do)
	require.NoError(t, err)
	p.evaluator.Env = append(os.Environ(), stubPlan+"="+string(text), "OPENAI_API_KEY=sk-ambient", "HIDDEN=sk-secret", noLinger)
	return p.evaluator.Evaluate(t.Context(), p.predictions, p.run)
}

func codes(r harness.Report) (incomplete, advisory []harness.Code) {
	for _, reason := range r.Reasons() {
		if reason.Advisory {
			advisory = append(advisory, reason.Code)
		} else {
			incomplete = append(incomplete, reason.Code)
		}
	}
	return incomplete, advisory
}

// The harness gets the documented options in the run's folder, no key of the endpoint's,
// and its log has no secret in it.
func TestOfficialInvocation(t *testing.T) {
	t.Parallel()
	p := newPlay(t, "a__b-1=diff", "c=", "d")
	p.evaluator.Dataset, p.evaluator.Workers, p.evaluator.InstanceTimeout = "", 3, 1500*time.Millisecond
	p.evaluator.Args = []string{"--cache_level", "none"}
	report, err := p.evaluate(t, plan{Version: 4, Outcomes: map[string]string{"a__b-1": "resolved"}})
	require.NoError(t, err)
	require.Equal(t, []string{"a__b-1"}, report.ResolvedIDs)
	log := read(t, p.run.Dir, "swe_bench_eval.log")
	require.Contains(t, log, fmt.Sprintf("arguments: --dataset_name %[1]s/eval_dataset.jsonl --split test --predictions_path %[1]s/eval_preds.json "+
		"--max_workers 3 --run_id %s --timeout 2 --instance_ids a__b-1 c d --cache_level none\n", p.run.Dir, runID))
	require.Contains(t, log, "key:  token=<redacted> <redacted>\n")
	require.Equal(t, "{\"instance_id\": \"a__b-1\"}\n{\"instance_id\": \"c\"}\n{\"instance_id\": \"d\"}\n", read(t, p.run.Dir, "eval_dataset.jsonl"))
	require.JSONEq(t, `{"a__b-1": {"model_name_or_path": "org/model", "instance_id": "a__b-1", "model_patch": "diff"},
		"c": {"model_name_or_path": "org/model", "instance_id": "c", "model_patch": ""}}`, read(t, p.run.Dir, "eval_preds.json"))
	require.NotEmpty(t, p.progress)
	require.Equal(t, 2, p.progress[len(p.progress)-1].Finished)
}

// What the harness needs is looked for before anything is done for it.
func TestOfficialCheck(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, harness.Official{Command: []string{os.Args[0]}}.Check(t.Context()))
	var missing *harness.InputError
	require.ErrorAs(t, harness.Official{Command: []string{dir + "/none"}}.Check(t.Context()), &missing)
	t.Setenv("PATH", dir)
	require.ErrorAs(t, harness.Official{}.Check(t.Context()), &missing)
	require.Contains(t, missing.Reason, "there is no Python")
	for answer, want := range map[string]string{"echo False": "has no module swebench: pip install swebench", "exit 3": "does not work: exit status 3", "echo True": ""} {
		program.Write(t, dir+"/python3", "#!/bin/sh\n"+answer+"\n")
		err := harness.Official{}.Check(t.Context())
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorAs(t, err, &missing)
		require.Contains(t, missing.Reason, want)
	}
}

// A limit that only the log of an instance tells is a verdict on the patch.
func TestTimeoutInTheLogAlone(t *testing.T) {
	t.Parallel()
	p := newPlay(t, "t=x", "r=x")
	report, err := p.evaluate(t, plan{Version: 4, Outcomes: map[string]string{"t": "late", "r": "resolved"}})
	require.NoError(t, err)
	require.Equal(t, "test_timeout", report.FailureReasons["t"])
	require.True(t, report.Complete())
}

// Reports of version 4 and 5 give the same score, the IDs of all classes and the reasons why
// a score is incomplete.
func TestOfficialReports(t *testing.T) {
	t.Parallel()
	outcomes := map[string]string{"r1": "resolved", "r2": "resolved", "u": "unresolved", "p": "patch", "t": "timeout", "i": "infra", "m": "ambiguous"}
	for _, version := range []int{4, 5} {
		for _, place := range []string{"", "nested", "results"} {
			p := newPlay(t, "r1=x", "r2=x", "u=x", "p=x", "t=x", "i=x", "m=x", "e=", "n")
			report, err := p.evaluate(t, plan{Version: version, Outcomes: outcomes, Place: place, Docker: true})
			require.NoError(t, err)
			require.Equal(t, []int{9, 8, 4, 2, 2, 1, 3}, []int{
				report.TotalInstances, report.SubmittedInstances, report.CompletedInstances, report.ResolvedInstances,
				report.UnresolvedInstances, report.EmptyPatchInstances, report.ErrorInstances,
			})
			require.Equal(t, [][]string{{"m", "r1", "r2", "u"}, {"n"}, {"e"}, {"e", "i", "m", "p", "r1", "r2", "t", "u"}, {"r1", "r2"}, {"m", "u"}, {"i", "p", "t"}, {"i"}}, [][]string{
				report.CompletedIDs, report.IncompleteIDs, report.EmptyPatchIDs, report.SubmittedIDs, report.ResolvedIDs, report.UnresolvedIDs, report.ErrorIDs, report.InfraFailureIDs,
			})
			require.Equal(t, []string{"patch_apply_failed", "test_timeout"}, []string{report.FailureReasons["p"], report.FailureReasons["t"]})
			require.False(t, report.Complete())
			incomplete, advisory := codes(report)
			require.Equal(t, []harness.Code{harness.Infrastructure, harness.NoPrediction}, incomplete)
			want := []harness.Code{harness.PatchFailed, harness.TestsTimedOut}
			if version == 5 {
				want = append(want, harness.Ambiguous)
				require.Equal(t, "image_pull_failed", report.FailureReasons["i"])
			}
			require.Equal(t, want, advisory)
			require.Equal(t, "1 instances failed for reasons that are not the model's; run them again: i", report.Reasons()[0].Text)

			data, err := json.Marshal(report)
			require.NoError(t, err)
			require.Contains(t, string(data), `"unremoved_images":["img:1"]`, "what is not known here stays")
			again, err := harness.ParseReport(data)
			require.NoError(t, err)
			require.Equal(t, report.ErrorIDs, again.ErrorIDs)
			require.Equal(t, report.FailureReasons, again.FailureReasons)
		}
	}
}

// A score is complete when each instance has a verdict of the model's own.
func TestOfficialComplete(t *testing.T) {
	t.Parallel()
	p := newPlay(t, "r=x", "u=x", "p=x", "e=")
	report, err := p.evaluate(t, plan{Version: 4, Outcomes: map[string]string{"r": "resolved", "u": "unresolved", "p": "patch"}})
	require.NoError(t, err)
	require.True(t, report.Complete())
	require.Len(t, report.Reasons(), 1)
}

// The result is used under its expected name, then in a nested folder, and of two
// candidates, or a name that is a link, none is used.
func TestCase119_ResultFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := put(t, "{}", dir, "deep", "er", "x."+runID+".json")
	put(t, "{}", dir, "x.json")
	found, err := harness.FindReport(dir, "org/model", runID)
	require.NoError(t, err)
	require.Equal(t, first, found)
	put(t, "{}", dir, "logs", "evaluation", runID, "results.json")
	_, err = harness.FindReport(dir, "org/model", runID)
	var fault *harness.ReportError
	require.ErrorAs(t, err, &fault)
	require.ErrorContains(t, err, "2 files have "+runID)
	expected := put(t, "{}", dir, "org__model."+runID+".json")
	found, err = harness.FindReport(dir, "org/model", runID)
	require.NoError(t, err)
	require.Equal(t, expected, found)

	empty := t.TempDir()
	require.NoError(t, os.Symlink(expected, filepath.Join(empty, "org__model."+runID+".json")))
	_, err = harness.FindReport(empty, "org/model", runID)
	require.ErrorContains(t, err, "there is no org__model."+runID+".json")

	p := newPlay(t, "a=x")
	_, err = p.evaluate(t, plan{Version: 4, Place: "two"})
	require.ErrorContains(t, err, "2 files")
}

// A model name with a slash is sent unchanged; in file names its slashes are double
// underscores.
func TestCase145_ModelName(t *testing.T) {
	t.Parallel()
	p := newPlay(t, "a=x")
	p.predictions["a"] = harness.Prediction{Model: "org/sub/model", Patch: "x"}
	_, err := p.evaluate(t, plan{Version: 4, Outcomes: map[string]string{"a": "resolved"}})
	require.NoError(t, err)
	require.Contains(t, read(t, p.run.Dir, "eval_preds.json"), `"model_name_or_path": "org/sub/model"`)
	require.FileExists(t, filepath.Join(p.run.Dir, "org__sub__model."+runID+".json"))
	require.FileExists(t, filepath.Join(p.run.Dir, "logs", "run_evaluation", runID, "org__sub__model", "a", "report.json"))
	put(t, "{}", p.run.Dir, "another."+runID+".json")
	found, err := harness.FindReport(p.run.Dir, "org/sub/model", runID)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(p.run.Dir, "org__sub__model."+runID+".json"), found)
}

// A report that is missing, broken or contradicts itself or the run is an error that says so,
// and the verdicts that instances have are kept.
func TestOfficialBadReports(t *testing.T) {
	t.Parallel()
	for want, do := range map[string]plan{
		"there is no org__model":           {Place: "none"},
		"it is not JSON":                   {Place: `{"submitted_instances": 2`},
		"it is not an object":              {Place: `[]`},
		"submitted_instances is missing":   {Without: []string{"submitted_instances"}},
		"resolved_instances is 1.0":        {Place: `{"submitted_instances": 2, "resolved_instances": 1.0}`},
		"resolved_instances is true":       {Set: map[string]any{"resolved_instances": true}},
		"resolved_instances is -1":         {Set: map[string]any{"resolved_instances": -1}},
		"is 2, but resolved_ids has 1":     {Set: map[string]any{"resolved_instances": 2}},
		"resolved_ids is not a list":       {Set: map[string]any{"resolved_ids": "r"}},
		"an element that is not a text":    {Set: map[string]any{"error_ids": []any{1}, "error_instances": 1}},
		"an instance twice":                {Set: map[string]any{"error_ids": []string{"a", "a"}, "error_instances": 2}},
		`"zzz", which was not asked for`:   {Set: map[string]any{"error_ids": []string{"zzz"}, "error_instances": 1}},
		"counts 3 submitted":               {Set: map[string]any{"submitted_instances": 3, "submitted_ids": nil}},
		"3 instances are resolved, but on": {Set: map[string]any{"resolved_instances": 3, "resolved_ids": nil}},
	} {
		p := newPlay(t, "r=x", "u=x", "n")
		do.Version, do.Outcomes = 4, map[string]string{"r": "resolved", "u": "error"}
		report, err := p.evaluate(t, do)
		var fault *harness.ReportError
		require.ErrorAs(t, err, &fault, want)
		require.ErrorContains(t, err, want)
		require.Equal(t, []string{"r"}, report.ResolvedIDs, want)
		require.Equal(t, []string{"u"}, report.InfraFailureIDs, want)
		require.False(t, report.Complete())
	}
}

// A report with counters alone has a score; errors that it does not list make it incomplete.
func TestOfficialSparseReport(t *testing.T) {
	t.Parallel()
	p := newPlay(t, "r=x", "u=x")
	report, err := p.evaluate(t, plan{Version: 4, Place: `{"submitted_instances": 2, "resolved_instances": 1, "error_instances": 1}`})
	require.NoError(t, err)
	require.Equal(t, 1, report.ResolvedInstances)
	incomplete, _ := codes(report)
	require.Equal(t, []harness.Code{harness.Unlisted}, incomplete)
}

// That all patches are empty, or all end in errors, is said and not published as a plain 0.
func TestOfficialNothingGraded(t *testing.T) {
	t.Parallel()
	p := newPlay(t, "a=", "b=")
	report, err := p.evaluate(t, plan{Version: 4})
	require.NoError(t, err)
	require.Equal(t, 2, report.EmptyPatchInstances)
	incomplete, _ := codes(report)
	require.Equal(t, []harness.Code{harness.NothingGraded}, incomplete)

	p = newPlay(t, "a=x", "b=x")
	report, err = p.evaluate(t, plan{Version: 4})
	require.NoError(t, err)
	incomplete, _ = codes(report)
	require.Equal(t, []harness.Code{harness.Infrastructure, harness.NothingGraded}, incomplete)

	p = newPlay(t, "a", "b")
	report, err = p.evaluate(t, plan{Version: 4})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, report.IncompleteIDs)
	require.NoFileExists(t, filepath.Join(p.run.Dir, "ran"), "without a prediction it is not started")
	require.False(t, report.Complete())
}

// When the endpoint was down for all instances the result is a failure of the
// infrastructure, not a complete score of 0.
func TestCase148_EndpointDown(t *testing.T) {
	t.Parallel()
	for _, version := range []int{4, 5} {
		p := newPlay(t, "a=", "b=")
		for id := range p.predictions {
			p.predictions[id] = harness.Prediction{Model: "m", Failure: "connection refused, key sk-secret"}
		}
		report, err := p.evaluate(t, plan{Version: version})
		require.NoError(t, err)
		require.Equal(t, []string{"a", "b"}, report.InfraFailureIDs)
		require.Equal(t, "connection refused, key <redacted>", report.FailureReasons["a"])
		require.False(t, report.Complete())
		incomplete, _ := codes(report)
		require.Equal(t, []harness.Code{harness.Infrastructure, harness.NothingGraded}, incomplete)
	}
}

// An evaluation that is run again takes the reports of finished instances and runs the
// others, and one whose patch is another by now.
func TestCase151_ReportsAreReused(t *testing.T) {
	t.Parallel()
	for _, version := range []int{4, 5} {
		p := newPlay(t, "a=x", "b=x", "c=x", "d=x")
		_, err := p.evaluate(t, plan{Version: version, Outcomes: map[string]string{"a": "resolved", "b": "unresolved", "c": "broken", "d": "infra"}})
		require.NoError(t, err)
		require.Equal(t, "a\nb\nc\nd\n", read(t, p.run.Dir, "ran"))
		p.predictions["b"] = harness.Prediction{Model: "org/model", Patch: "another"}
		report, err := p.evaluate(t, plan{Version: version, Outcomes: map[string]string{"a": "unresolved", "b": "resolved", "c": "resolved", "d": "resolved"}})
		require.NoError(t, err)
		require.Equal(t, "a\nb\nc\nd\nb\nc\nd\n", read(t, p.run.Dir, "ran"))
		require.Equal(t, []string{"a", "b", "c", "d"}, report.ResolvedIDs)

		// A report that an earlier run has left is not taken for that of this one.
		_, err = p.evaluate(t, plan{Version: version, Place: "none"})
		require.ErrorContains(t, err, "there is no")
	}
}

// A harness that fails is an error with its code and the end of its output, the verdicts
// until then are kept, and its containers are removed.
func TestOfficialFails(t *testing.T) {
	t.Parallel()
	p := newPlay(t, "a=x", "b=x", "e=", "n")
	report, err := p.evaluate(t, plan{Version: 4, Outcomes: map[string]string{"a": "resolved"}, Exit: 3})
	var exit *phase.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 3, exit.Code)
	require.NotContains(t, err.Error(), "sk-secret")
	require.Equal(t, []string{"a"}, report.ResolvedIDs)
	require.Equal(t, []string{"b"}, report.InfraFailureIDs)
	require.Equal(t, []string{"e"}, report.EmptyPatchIDs)
	require.Contains(t, read(t, p.run.Dir, "removed"), "sweb.eval.a\n")
	require.Contains(t, read(t, p.run.Dir, "swe_bench_eval.log"), "arguments:")

	p.evaluator.Command = []string{filepath.Join(t.TempDir(), "missing")}
	_, err = p.evaluate(t, plan{})
	require.ErrorContains(t, err, "cannot be started")
}

// An instance over its limit loses its container, with which the harness goes on; the
// straggler is named while it runs.
func TestOfficialWatchdog(t *testing.T) {
	t.Parallel()
	need.Programs(t, "sh", "sed")
	p := newPlay(t, "a=x", "slow=x", "c=x")
	p.evaluator.InstanceTimeout, p.evaluator.Slack = 50*time.Millisecond, 650*time.Millisecond
	p.evaluator.Poll = 10 * time.Millisecond
	report, err := p.evaluate(t, plan{Version: 4, Outcomes: map[string]string{"a": "resolved", "slow": "hang", "c": "resolved"}})
	require.NoError(t, err, p.warnings)
	require.Equal(t, []string{"a", "c"}, report.ResolvedIDs)
	require.Equal(t, []string{"slow"}, report.InfraFailureIDs)
	require.Contains(t, p.warnings[0], "slow has no report after 700ms")
	require.Equal(t, "sweb.eval.slow\n", read(t, p.run.Dir, "removed"))
	running := false
	for _, step := range p.progress {
		running = running || len(step.Running) == 1 && step.Running[0] == "slow" && step.Total == 3
	}
	require.True(t, running)
}

// A harness in which nothing goes on any more is ended, also when its container is gone.
func TestOfficialHangs(t *testing.T) {
	t.Parallel()
	need.Programs(t, "true")
	p := newPlay(t, "a=x", "slow=x")
	p.evaluator.InstanceTimeout, p.evaluator.Slack, p.evaluator.Containers = 50*time.Millisecond, 650*time.Millisecond, "true"
	report, err := p.evaluate(t, plan{Version: 4, Outcomes: map[string]string{"a": "resolved", "slow": "hang"}})
	var hung *harness.HungError
	require.ErrorAs(t, err, &hung)
	require.Equal(t, []string{"slow"}, hung.Instances)
	require.Equal(t, []string{"a"}, report.ResolvedIDs)
	require.Equal(t, []string{"slow"}, report.InfraFailureIDs)
}

// A run that is cancelled ends its harness and keeps what it has.
func TestOfficialCancelled(t *testing.T) {
	t.Parallel()
	p := newPlay(t, "a=x", "slow=x")
	text, err := json.Marshal(plan{Version: 4, Outcomes: map[string]string{"a": "resolved", "slow": "hang"}})
	require.NoError(t, err)
	p.evaluator.Env, p.evaluator.Containers = append(os.Environ(), stubPlan+"="+string(text), noLinger), "true"
	ctx, cancel := context.WithCancel(t.Context())
	p.run.Progress = func(step harness.Progress) {
		if step.Finished == 1 {
			cancel()
		}
	}
	report, err := p.evaluator.Evaluate(ctx, p.predictions, p.run)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []string{"a"}, report.ResolvedIDs)
	require.False(t, report.Complete())
}

// Two runs at a time, in one folder even, remove the containers of their own instances and
// no others.
func TestCase122_OtherRunsAreLeft(t *testing.T) {
	t.Parallel()
	need.Programs(t, "sh")
	dir := t.TempDir()
	docker := put(t, "#!/bin/sh\n[ \"$1\" = ps ] && [ \"$5\" != label=com.mlcommons.endpoints.swebench-run="+runID+" ] && printf 'mine sweb.eval.a."+runID+"\\nother sweb.eval.a."+runID+"9\\nanother sweb.eval.b."+runID+"\\nagent minisweagent-1\\n'\n"+
		"[ \"$1\" = ps ] || echo \"$@\" >> "+dir+"/calls\nexit 0\n", dir, "docker")
	p := newPlay(t, "a=x")
	p.evaluator.Containers = docker
	_, err := p.evaluate(t, plan{Version: 4, Exit: 1})
	require.Error(t, err)
	require.Equal(t, "rm -f mine\n", read(t, dir, "calls"), "and no image at all")
}

// What a run cannot be is said before anything starts.
func TestRunRefused(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*play){
		"the run's ID":                           func(p *play) { p.run.ID = "../x" },
		"no folder":                              func(p *play) { p.run.Dir = "" },
		"1 predictions are for instances":        func(p *play) { p.predictions["z"] = harness.Prediction{} },
		"twice: a":                               func(p *play) { p.run.Rows = append(p.run.Rows, p.run.Rows...) },
		`model ".." cannot be the name of a fol`: func(p *play) { p.run.Model = ".." },
		`".." cannot be the name of a fol`:       func(p *play) { p.predictions["a"] = harness.Prediction{Model: ".."} },
	} {
		p := newPlay(t, "a=x")
		change(p)
		_, err := p.evaluate(t, plan{})
		var fault *harness.InputError
		require.ErrorAs(t, err, &fault, want)
		require.ErrorContains(t, err, want)
		require.NoFileExists(t, filepath.Join(p.run.Dir, "swe_bench_eval.log"))
	}
	require.Regexp(t, `^endpoints_[0-9a-f]{8}$`, harness.NewRunID())
}

// Predictions are read as agents write them, with null for no patch.
func TestReadPredictions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	predictions, err := harness.ReadPredictions(put(t, `{"a": {"model_name_or_path": "m", "instance_id": "a", "model_patch": null}, "b": {"model_patch": "x\u00e9"}}`, dir, "object"))
	require.NoError(t, err)
	require.Equal(t, map[string]harness.Prediction{"a": {Model: "m"}, "b": {Patch: "xé"}}, predictions)
	list, err := harness.ReadPredictions(put(t, `[{"instance_id": "a", "model_patch": "p"}]`, dir, "list"))
	require.NoError(t, err)
	require.Equal(t, map[string]harness.Prediction{"a": {Patch: "p"}}, list)
	again, err := harness.ReadPredictions(put(t, string(harness.AppendPredictions(nil, predictions)), dir, "again"))
	require.NoError(t, err)
	require.Equal(t, predictions, again)
	for text, want := range map[string]string{
		``: "not JSON", `5`: "neither", `{"a": 1}`: "not an object", `{"a": {"instance_id": "b"}}`: `that of the instance "b"`, `{"a": {"model_patch": 1}}`: "not a text",
		`[{}]`: "is empty", `{"../a": {}}`: "name of a file", `[{"instance_id": "a"}, {"instance_id": "a"}]`: "twice", "\"\xff\"": "UTF-8",
	} {
		_, err := harness.ReadPredictions(put(t, text, dir, "bad"))
		require.ErrorContains(t, err, want, text)
	}
	_, err = harness.ReadPredictions(filepath.Join(dir, "missing"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
