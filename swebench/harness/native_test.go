package harness_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/homing-go/homing/internal/need"
	"github.com/homing-go/homing/qwen"
	"github.com/homing-go/homing/swebench/dataset"
	"github.com/homing-go/homing/swebench/harness"
	"github.com/homing-go/homing/swebench/sandbox"
	"github.com/stretchr/testify/require"
)

// yard is a runtime over local processes that counts, and fails to order.
type yard struct {
	sandbox.Runtime
	started, stopped atomic.Int32
	missing          string // an image
	gone             string // commands with this word find no sandbox
	cut              bool
	mu               sync.Mutex
	specs            []sandbox.Spec
}

func (y *yard) Prepare(_ context.Context, images ...string) error {
	for _, image := range images {
		if image == y.missing {
			return &sandbox.ImageError{Missing: []sandbox.MissingImage{{Image: image, Err: errors.New("no such image")}}}
		}
	}
	return nil
}

func (y *yard) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	y.mu.Lock()
	y.specs = append(y.specs, spec)
	y.mu.Unlock()
	if spec.Image == "unstartable" {
		return nil, &sandbox.StartError{Image: spec.Image, Err: errors.New("no room")}
	}
	box, err := y.Runtime.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	y.started.Add(1)
	return &plot{box, y}, nil
}

type plot struct {
	sandbox.Sandbox
	y *yard
}

func (p *plot) Run(ctx context.Context, cmd qwen.Command) (qwen.Output, error) {
	if p.y.gone != "" && strings.Contains(strings.Join(cmd.Args, " ")+string(cmd.Stdin), p.y.gone) {
		return qwen.Output{}, fmt.Errorf("%w: its init has ended", sandbox.ErrGone)
	}
	out, err := p.Sandbox.Run(ctx, cmd)
	out.Cut = out.Cut || p.y.cut
	return out, err
}

func (p *plot) Stop(ctx context.Context) error {
	p.y.stopped.Add(1)
	return p.Sandbox.Stop(ctx)
}

// field is a repository with a bug, and a grader of patches for it.
type field struct {
	*yard
	*play
	native     harness.Native
	repo, base string
}

// speaking is a runtime that says itself what sandboxes rows get.
type speaking struct {
	sandbox.Runtime
	repo string
}

func (s speaking) Spec(context.Context, dataset.Row) (sandbox.Spec, error) {
	return sandbox.Spec{Root: s.repo, Env: map[string]string{"BASH_ENV": ""}}, nil
}

// Without a Spec the runtime's own counts.
func TestRuntimeWithSpec(t *testing.T) {
	t.Parallel()
	f := newField(t)
	f.native.Runtime, f.native.Spec = speaking{f.Runtime, f.repo}, nil
	f.add("good", goodPatch)
	require.Equal(t, []string{"good"}, f.grade(t).ResolvedIDs)
}

// Tests of a row that its output does not have are a doubt, whatever else is in the output.
func TestUnknownTestNames(t *testing.T) {
	t.Parallel()
	f := newField(t)
	f.add("other names", goodPatch, func(r *dataset.Row) { r.FailToPass, r.PassToPass = []string{"src::a"}, []string{"src::b"} })
	report := f.grade(t)
	require.Equal(t, []string{"other names"}, report.AmbiguousFailureIDs)
	require.Contains(t, f.file(t, "other names", "run_instance.log"), "none of the row's tests is in the output")
}

// A test command that names the folder of images works in a local sandbox.
func TestLocalFolder(t *testing.T) {
	t.Parallel()
	f := newField(t)
	f.native.Runtime = f.Runtime
	f.add("here", goodPatch, func(r *dataset.Row) { r.TestCommand = "cd /testbed/tests/.. || exit 1\n" + r.TestCommand })
	report := f.grade(t)
	require.Equal(t, []string{"here"}, report.ResolvedIDs)
}

const tests = `for t in tests/test_*.sh; do
	if sh "$t"; then echo "PASSED $t::works"; else echo "FAILED $t::works - no"; fi
done
`

func newField(t *testing.T) *field {
	t.Helper()
	need.Programs(t, "sh", "bash", "git", "patch")
	f := &field{yard: &yard{Runtime: sandbox.NewLocal(sandbox.LocalConfig{Folder: t.TempDir()})}, repo: t.TempDir()}
	put(t, "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n", f.repo, "src", "numbers.txt")
	put(t, "plain\n", f.repo, "plain.txt")
	put(t, "true\n", f.repo, "tests", "test_old.sh")
	put(t, "*.rej\nbuild/\n", f.repo, ".gitignore")
	for _, args := range [][]string{{"init", "-q"}, {"config", "user.email", "a@b"}, {"config", "user.name", "n"}, {"add", "-A"}, {"commit", "-q", "-m", "base"}} {
		f.git(t, args...)
	}
	f.base = strings.TrimSpace(f.git(t, "rev-parse", "HEAD"))
	put(t, "kept\n", f.repo, "untracked.txt")
	f.play = newPlay(t)
	f.native = harness.Native{Runtime: f.yard, Workers: 2, Spec: func(_ context.Context, row dataset.Row) (sandbox.Spec, error) {
		// The start-up files of whoever runs the tests may take any time.
		return sandbox.Spec{Image: row.ImageName, Root: f.repo, Env: map[string]string{"BASH_ENV": ""}}, nil
	}}
	return f
}

func (f *field) git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = f.repo
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

const testPatch = `diff --git a/tests/test_new.sh b/tests/test_new.sh
new file mode 100644
--- /dev/null
+++ b/tests/test_new.sh
@@ -0,0 +1 @@
+grep -q TWO src/numbers.txt
diff --git a/tests/test_old.sh b/tests/test_old.sh
--- a/tests/test_old.sh
+++ b/tests/test_old.sh
@@ -1 +1 @@
-true
+grep -q plain plain.txt
`

const goodPatch = `diff --git a/src/numbers.txt b/src/numbers.txt
--- a/src/numbers.txt
+++ b/src/numbers.txt
@@ -1,3 +1,3 @@
 one
-two
+TWO
 three
`

// add adds an instance whose row carries a test command.
func (f *field) add(id, patch string, change ...func(*dataset.Row)) {
	row := dataset.Row{
		InstanceID: id, BaseCommit: f.base, ImageName: "img-" + id, TestPatch: testPatch, TestCommand: tests,
		FailToPass: []string{"tests/test_new.sh::works"}, PassToPass: []string{"tests/test_old.sh::works"},
	}
	for _, c := range change {
		c(&row)
	}
	f.run.Rows = append(f.run.Rows, row)
	f.predictions[id] = harness.Prediction{Model: "org/model", Patch: patch}
}

func (f *field) grade(t *testing.T) harness.Report {
	t.Helper()
	report, err := f.native.Evaluate(t.Context(), f.predictions, f.run)
	require.NoError(t, err)
	require.Equal(t, f.started.Load(), f.stopped.Load(), "every sandbox is removed")
	left, err := f.List(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, left)
	return report
}

func (f *field) file(t *testing.T, id, name string) string {
	t.Helper()
	return read(t, f.run.Dir, "logs", "run_evaluation", runID, "org__model", id, name)
}

// Patches are graded by the tests of their rows; the report and the files are those of the
// Python harness.
func TestNative(t *testing.T) {
	t.Parallel()
	f := newField(t)
	f.add("good", goodPatch)
	f.add("useless", strings.ReplaceAll(goodPatch, "+TWO", "+2"))
	f.add("breaks", goodPatch+"diff --git a/plain.txt b/plain.txt\n--- a/plain.txt\n+++ b/plain.txt\n@@ -1 +1 @@\n-plain\n+fancy\n")
	f.add("garbage", "this is not a patch")
	f.add("empty", "")
	f.add("absent", "")
	delete(f.predictions, "absent")
	report := f.grade(t)
	require.Equal(t, []string{"good"}, report.ResolvedIDs)
	require.Equal(t, []string{"breaks", "useless"}, report.UnresolvedIDs)
	require.Equal(t, []string{"garbage"}, report.ErrorIDs)
	require.Equal(t, []string{"absent"}, report.IncompleteIDs)
	require.Equal(t, map[string]string{"garbage": "patch_apply_failed"}, report.FailureReasons)
	require.Empty(t, report.InfraFailureIDs)
	incomplete, advisory := codes(report)
	require.Equal(t, []harness.Code{harness.NoPrediction}, incomplete)
	require.Equal(t, []harness.Code{harness.PatchFailed}, advisory)
	require.JSONEq(t, `{"total_instances": 6, "submitted_instances": 5, "completed_instances": 3, "resolved_instances": 1, "unresolved_instances": 2,
		"empty_patch_instances": 1, "error_instances": 1, "infra_failure_instances": 0, "ambiguous_failure_instances": 0,
		"completed_ids": ["breaks", "good", "useless"], "incomplete_ids": ["absent"], "empty_patch_ids": ["empty"],
		"submitted_ids": ["breaks", "empty", "garbage", "good", "useless"], "resolved_ids": ["good"], "unresolved_ids": ["breaks", "useless"], "error_ids": ["garbage"],
		"infra_failure_ids": [], "ambiguous_failure_ids": [], "failure_reasons": {"garbage": "patch_apply_failed"}, "schema_version": 2}`,
		read(t, f.run.Dir, "org__model."+runID+".json"))
	require.JSONEq(t, `{"breaks": {"patch_is_None": false, "patch_exists": true, "patch_successfully_applied": true, "resolved": false, "tests_status": {
		"FAIL_TO_PASS": {"success": ["tests/test_new.sh::works"], "failure": []}, "PASS_TO_PASS": {"success": [], "failure": ["tests/test_old.sh::works"]},
		"FAIL_TO_FAIL": {"success": [], "failure": []}, "PASS_TO_FAIL": {"success": [], "failure": []}}}}`, f.file(t, "breaks", "report.json"))
	require.Equal(t, goodPatch, f.file(t, "good", "patch.diff"))
	require.Equal(t, tests, f.file(t, "good", "eval.sh"))
	require.Contains(t, f.file(t, "good", "test_output.txt"), "PASSED tests/test_new.sh::works")
	require.NoFileExists(t, filepath.Join(f.run.Dir, "logs", "run_evaluation", runID, "org__model", "garbage", "report.json"))
	require.Contains(t, f.file(t, "garbage", "run_instance.log"), ">>>>> Patch Apply Failed")
	require.EqualValues(t, 4, f.started.Load())
	for _, spec := range f.specs {
		require.Equal(t, runID, spec.Labels[harness.RunLabel])
		require.Equal(t, "sweb.eval."+strings.TrimPrefix(spec.Image, "img-")+"."+runID, spec.Name)
	}
	last := f.progress[len(f.progress)-1]
	require.Equal(t, []int{4, 4}, []int{last.Finished, last.Total})
}

// An empty or null patch counts as submitted and empty, and no sandbox starts for it.
func TestCase149_EmptyPatch(t *testing.T) {
	t.Parallel()
	f := newField(t)
	predictions, err := harness.ReadPredictions(put(t, `{"none": {"model_patch": null}, "empty": {"model_patch": ""}}`, t.TempDir(), "preds.json"))
	require.NoError(t, err)
	f.add("none", "")
	f.add("empty", "")
	f.predictions = predictions
	report := f.grade(t)
	require.Equal(t, 2, report.SubmittedInstances)
	require.Equal(t, []string{"empty", "none"}, report.EmptyPatchIDs)
	require.Zero(t, report.CompletedInstances)
	require.Zero(t, f.started.Load())
	require.Empty(t, f.specs)
}

// A second evaluation takes the reports that are there and grades what is unfinished or has
// another patch by now.
func TestCase151_NativeReusesReports(t *testing.T) {
	t.Parallel()
	f := newField(t)
	f.add("good", goodPatch)
	f.add("other", "garbage")
	f.add("lost", goodPatch, func(r *dataset.Row) { r.ImageName = "unstartable" })
	report := f.grade(t)
	require.Equal(t, []string{"lost"}, report.InfraFailureIDs)
	require.EqualValues(t, 2, f.started.Load())
	f.predictions["other"] = harness.Prediction{Model: "org/model", Patch: goodPatch}
	f.run.Rows[2].ImageName = "fine"
	report = f.grade(t)
	require.Equal(t, []string{"good", "lost", "other"}, report.ResolvedIDs)
	require.True(t, report.Complete())
	require.Empty(t, report.FailureReasons)
	require.EqualValues(t, 4, f.started.Load(), "good was not graded again")

	// A process that is killed behind the last verdict leaves its sandbox; the next one has
	// nothing to grade, and removes it.
	_, err := f.Runtime.Start(t.Context(), sandbox.Spec{Root: f.repo, Labels: map[string]string{harness.RunLabel: runID}})
	require.NoError(t, err)
	f.grade(t)
	require.EqualValues(t, 4, f.started.Load())
}

// A patch is tried by git apply, by git apply with rejects and by patch with fuzz, in this
// order, and what one attempt leaves is gone before the next.
func TestNativeAttempts(t *testing.T) {
	t.Parallel()
	f := newField(t)
	// git does not take it, because a line of the context is another one; patch does.
	fuzzy := "diff --git a/plain.txt b/plain.txt\n--- a/plain.txt\n+++ b/plain.txt\n@@ -1 +1,2 @@\n plain\n+more\n" +
		"diff --git a/src/numbers.txt b/src/numbers.txt\n--- a/src/numbers.txt\n+++ b/src/numbers.txt\n@@ -1,4 +1,4 @@\n UNO\n-two\n+TWO\n three\n four\n"
	look := func(row *dataset.Row) {
		row.TestCommand += "cat plain.txt untracked.txt; ls; git status --short; ls .git | grep homing\n"
	}
	f.add("fuzzy", fuzzy, look)
	f.add("plain", goodPatch, look)
	report := f.grade(t)
	require.Equal(t, []string{"fuzzy", "plain"}, report.ResolvedIDs)
	log := f.file(t, "fuzzy", "run_instance.log")
	var tried []string
	for line := range strings.Lines(log) {
		if _, attempt, ok := strings.Cut(line, "Z "); ok && (strings.HasPrefix(attempt, "git apply") || strings.HasPrefix(attempt, "patch ")) {
			tried = append(tried, strings.TrimSpace(attempt))
		}
	}
	require.Equal(t, []string{"git apply --verbose -: exit code 1", "git apply --verbose --reject -: exit code 1", "patch --batch --fuzz=5 -p1 -i -: exit code 0"}, tried)
	output := f.file(t, "fuzzy", "test_output.txt")
	require.Contains(t, output, "plain\nmore\nkept\n", "applied once, and what was not in the index is still there")
	require.NotContains(t, output, "homing")
	require.NotContains(t, f.file(t, "plain", "run_instance.log"), "--reject")
}

// Whatever a prediction writes into the files of the test patch, the tests are those of the
// dataset.
func TestNativeTestsAreTheDatasets(t *testing.T) {
	t.Parallel()
	f := newField(t)
	cheat := `diff --git a/tests/test_new.sh b/tests/test_new.sh
new file mode 100644
--- /dev/null
+++ b/tests/test_new.sh
@@ -0,0 +1 @@
+true
diff --git a/tests/test_old.sh b/tests/test_old.sh
deleted file mode 100755
--- a/tests/test_old.sh
+++ /dev/null
@@ -1 +0,0 @@
-true
`
	f.add("cheat", cheat)
	f.add("folder", goodPatch+"diff --git a/tests/test_new.sh/x b/tests/test_new.sh/x\nnew file mode 100644\n--- /dev/null\n+++ b/tests/test_new.sh/x\n@@ -0,0 +1 @@\n+x\n")
	f.add("no base", goodPatch, func(r *dataset.Row) { r.BaseCommit = strings.Repeat("0", 40) })
	report := f.grade(t)
	require.Equal(t, []string{"cheat"}, report.UnresolvedIDs)
	require.Equal(t, []string{"folder", "no base"}, report.ResolvedIDs)
}

// An eval script is run as it is, reads nothing from its own text, and only what stands
// between its markers counts.
func TestNativeEvalScript(t *testing.T) {
	t.Parallel()
	f := newField(t)
	script := "#!/bin/bash\necho 'PASSED fake::before'\ncat\necho '>>>>> Start Test Output'\ngrep -q TWO src/numbers.txt && echo 'PASSED real::test'\n" +
		"echo '>>>>> End Test Output'\necho 'FAILED real::test'\n# " + strings.Repeat("long ", 60_000) + "\n"
	with := func(tests ...string) func(*dataset.Row) {
		return func(r *dataset.Row) {
			r.EvalScript, r.TestCommand, r.TestPatch, r.PassToPass, r.FailToPass = script, "false", "not applied", nil, tests
		}
	}
	f.add("real", goodPatch, with("real::test"))
	f.add("fake", goodPatch, with("fake::before"))
	report := f.grade(t)
	require.Equal(t, []string{"real"}, report.ResolvedIDs)
	require.Equal(t, []string{"fake"}, report.UnresolvedIDs)
}

// Tests that take too long end within their limit and are an error of the patch; other
// instances are graded.
func TestNativeTimeout(t *testing.T) {
	t.Parallel()
	f := newField(t)
	f.native.Timeout = 700 * time.Millisecond
	f.add("slow", goodPatch, func(r *dataset.Row) { r.TestCommand = "echo begun; trap '' TERM; sleep 1000 & sleep 1000" })
	f.add("good", goodPatch)
	begin := time.Now()
	report := f.grade(t)
	require.Less(t, time.Since(begin), 30*time.Second)
	require.Equal(t, []string{"good"}, report.ResolvedIDs)
	require.Equal(t, []string{"slow"}, report.ErrorIDs)
	require.Equal(t, "test_timeout", report.FailureReasons["slow"])
	require.True(t, report.Complete())
	require.Regexp(t, `(?s)^begun\n.*\n\nTimeout error: 0\.7 seconds exceeded\.$`, f.file(t, "slow", "test_output.txt"))
}

// A missing image, a sandbox that does not start or is lost, tests that cannot be started
// and output that is cut are failures of the infrastructure: not verdicts, and the score is
// incomplete.
func TestNativeInfrastructure(t *testing.T) {
	t.Parallel()
	f := newField(t)
	f.missing, f.gone = "nowhere", "GONE"
	f.add("image", goodPatch, func(r *dataset.Row) { r.ImageName = "nowhere" })
	f.add("start", goodPatch, func(r *dataset.Row) { r.ImageName = "unstartable" })
	f.add("gone", goodPatch, func(r *dataset.Row) { r.TestCommand = "GONE" })
	f.add("command", goodPatch, func(r *dataset.Row) { r.TestCommand = "no-such-command-here" })
	f.add("tests", goodPatch, func(r *dataset.Row) {
		r.TestPatch = strings.ReplaceAll(testPatch, "-true", "-another")
	})
	f.add("silent", goodPatch, func(r *dataset.Row) { r.TestCommand = "exit 1" })
	f.add("good", goodPatch)
	report := f.grade(t)
	require.Equal(t, []string{"good"}, report.ResolvedIDs)
	require.Equal(t, []string{"silent"}, report.UnresolvedIDs)
	require.Equal(t, []string{"silent"}, report.AmbiguousFailureIDs)
	require.Equal(t, []string{"command", "gone", "image", "start", "tests"}, report.InfraFailureIDs)
	for id, want := range map[string]string{
		"image": "the image nowhere is missing: no such image", "start": "did not start", "gone": "was lost", "command": "exit code 127", "tests": "the test patch of the row did not apply",
	} {
		require.Contains(t, report.FailureReasons[id], want)
	}
	require.False(t, report.Complete())

	f = newField(t)
	f.cut = true
	f.add("good", goodPatch)
	f.add("cut", strings.ReplaceAll(goodPatch, "+TWO", "+2"))
	report = f.grade(t)
	require.Equal(t, []string{"good"}, report.ResolvedIDs)
	require.Contains(t, report.FailureReasons["cut"], "printed more than")
}

// A run that is cancelled removes its sandboxes, keeps the verdicts that it has, and says
// that the others are missing.
func TestNativeCancelled(t *testing.T) {
	t.Parallel()
	f := newField(t)
	f.native.Workers = 1
	f.add("good", goodPatch)
	f.add("slow", goodPatch, func(r *dataset.Row) { r.TestCommand = "sleep 1000" })
	f.add("later", goodPatch)
	ctx, cancel := context.WithCancel(t.Context())
	f.run.Progress = func(p harness.Progress) {
		if p.Finished == 1 {
			time.AfterFunc(300*time.Millisecond, cancel)
		}
	}
	report, err := f.native.Evaluate(ctx, f.predictions, f.run)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []string{"good"}, report.ResolvedIDs)
	require.Equal(t, []string{"later", "slow"}, report.InfraFailureIDs)
	require.Equal(t, f.started.Load(), f.stopped.Load())
}

// Rows that cannot be graded are refused before anything starts.
func TestNativeRefuses(t *testing.T) {
	t.Parallel()
	f := newField(t)
	f.add("bare", goodPatch, func(r *dataset.Row) { r.TestCommand = "" })
	_, err := f.native.Evaluate(t.Context(), f.predictions, f.run)
	require.EqualError(t, err, "harness: 1 rows have neither a test_command nor an eval_script; grade them with the Python harness: bare")
	f = newField(t)
	f.add("free", goodPatch, func(r *dataset.Row) { r.FailToPass, r.PassToPass = nil, nil })
	_, err = f.native.Evaluate(t.Context(), f.predictions, f.run)
	require.ErrorContains(t, err, "any patch would resolve them: free")
	f.native.Runtime = nil
	_, err = f.native.Evaluate(t.Context(), f.predictions, f.run)
	require.ErrorContains(t, err, "no runtime")
	require.Zero(t, f.started.Load())
}

// Both evaluators agree on a report's JSON.
func TestReportRoundTrip(t *testing.T) {
	t.Parallel()
	f := newField(t)
	f.add("good", goodPatch)
	report := f.grade(t)
	data, err := json.Marshal(report)
	require.NoError(t, err)
	again, err := harness.ParseReport(data)
	require.NoError(t, err)
	require.Equal(t, report.ResolvedIDs, again.ResolvedIDs)
	second, err := json.Marshal(again)
	require.NoError(t, err)
	require.JSONEq(t, string(data), string(second))
}
