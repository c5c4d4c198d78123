package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/homing-go/homing/swebench/dataset"
	"github.com/homing-go/homing/swebench/internal/atomicfile"
	"github.com/homing-go/homing/swebench/sandbox"
	"golang.org/x/sync/errgroup"
)

// RunLabel is the label of a sandbox in which a patch is graded; its value is the run's ID.
const RunLabel = "homing.eval-run"

// Native grades rows that carry a test command or an eval script, and the tests that have
// to pass, each in a sandbox of its own that is removed afterwards.
//
// A row with an eval script is graded by it alone, as the Python harness does: the script
// brings the tests. For a test command the test patch is applied first, on the files as the
// base commit has them. In a sandbox that says that its folder is another one than its spec
// asks for, as local ones do, both run with that path in the place of the spec's. Only
// Runtime must be set.
type Native struct {
	Runtime sandbox.Runtime
	// Spec says what sandbox an instance gets; for nil see [Describe]. Labels are added, and a
	// name where it leaves it open.
	Spec func(ctx context.Context, row dataset.Row) (sandbox.Spec, error)
	// Arch is the architecture for [dataset.ImageFor].
	Arch string
	// Workers is how many instances are graded at a time, 0 meaning one for each two cores:
	// tests that wait for a core fail by chance.
	Workers int
	// Timeout is the limit for the tests of an instance, 0 meaning 1800 s; PatchTimeout that
	// for each other command, 0 meaning 5 minutes.
	Timeout, PatchTimeout time.Duration
	// Parser reads the output of the tests of a row; nil means [ParserFor].
	Parser func(row dataset.Row) Parser
}

var _ Evaluator = Native{}

// Evaluate grades the predictions and writes the report.
//
// The error is that of ctx, an *[InputError], one of the runtime that concerns all
// instances, or of the run's folder.
func (n Native) Evaluate(ctx context.Context, predictions map[string]Prediction, run Run) (Report, error) {
	run, err := run.checked(predictions)
	if err != nil {
		return Report{}, err
	}
	g := &grading{Native: n, run: run, predictions: predictions, reasons: map[string]string{}, failed: map[string]string{}, began: map[string]time.Time{}}
	if err := g.check(); err != nil {
		return Report{}, err
	}
	if err := os.MkdirAll(run.Dir, 0o755); err != nil { //nolint:gosec // operators read logs
		return Report{}, err
	}
	if err := run.stale(predictions); err != nil {
		return Report{}, err
	}
	err = g.all(ctx)
	report := g.report(err)
	if err != nil {
		return report, err
	}
	data, err := report.MarshalJSON()
	if err != nil {
		return report, err
	}
	return report, atomicfile.Write(run.reportName(), append(data, '\n'))
}

// grading is one run of the native grader.
type grading struct {
	Native
	run         Run
	predictions map[string]Prediction

	mu        sync.Mutex
	reasons   map[string]string // errors that are the patch's, by instance
	failed    map[string]string // failures of the infrastructure
	ambiguous []string
	began     map[string]time.Time
	total     int
	finished  int
}

// check finds what the rows lack before anything starts.
func (g *grading) check() error {
	if g.Runtime == nil {
		return &InputError{Reason: "the grader has no runtime for its sandboxes"}
	}
	var commands, tests []string
	for _, row := range g.run.Rows {
		if g.predictions[row.InstanceID].Patch == "" {
			continue
		}
		if row.TestCommand == "" && row.EvalScript == "" {
			commands = append(commands, row.InstanceID)
		}
		if len(row.FailToPass)+len(row.PassToPass) == 0 {
			tests = append(tests, row.InstanceID)
		}
	}
	switch {
	case len(commands) > 0:
		return &InputError{Reason: fmt.Sprintf("%d rows have neither a test_command nor an eval_script; grade them with the Python harness", len(commands)), IDs: commands}
	case len(tests) > 0:
		return &InputError{Reason: fmt.Sprintf("%d rows have neither FAIL_TO_PASS nor PASS_TO_PASS, so that any patch would resolve them", len(tests)), IDs: tests}
	}
	return nil
}

// job is one instance that is to be graded.
type job struct {
	row  dataset.Row
	dir  string
	spec sandbox.Spec
}

// all grades what has no report yet.
func (g *grading) all(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var jobs []job
	var images []string
	for _, row := range g.run.Rows {
		p := g.predictions[row.InstanceID]
		if p.Patch == "" {
			continue
		}
		g.total++
		dirs := g.run.instanceDirs(p.Model, row.InstanceID)
		atomicfile.Sweep(dirs[0])
		_, first := verdict(dirs[0], row.InstanceID)
		_, second := verdict(dirs[1], row.InstanceID)
		if first || second {
			g.finished++
			continue
		}
		spec, err := g.spec(ctx, row)
		if err != nil {
			g.failed[row.InstanceID] = "its sandbox cannot be described: " + err.Error()
			g.finished++
			continue
		}
		jobs = append(jobs, job{row: row, dir: dirs[0], spec: spec})
		if spec.Image != "" && !slices.Contains(images, spec.Image) {
			images = append(images, spec.Image)
		}
	}
	g.progress()
	if g.total == 0 {
		return nil
	}
	// What an earlier process with this run's ID has left would be in the way; it may have
	// been killed between a verdict and the end of its sandbox.
	if _, err := sandbox.Sweep(ctx, g.Runtime, map[string]string{RunLabel: g.run.ID}, nil); err != nil {
		return err
	}
	missing := map[string]string{}
	if len(images) > 0 {
		err := g.Runtime.Prepare(ctx, images...)
		var fault *sandbox.ImageError
		if errors.As(err, &fault) {
			for _, m := range fault.Missing {
				missing[m.Image] = fmt.Sprint(m.Err)
			}
		} else if err != nil {
			return err
		}
	}
	workers := g.Workers
	if workers <= 0 {
		workers = max(1, runtime.NumCPU()/2)
	}
	var group errgroup.Group
	group.SetLimit(workers)
	for _, j := range jobs {
		if why, ok := missing[j.spec.Image]; ok {
			g.end(j.row.InstanceID, &infraError{"the image " + j.spec.Image + " is missing: " + why})
			continue
		}
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			g.begin(j.row.InstanceID)
			err := g.instance(ctx, j)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			g.end(j.row.InstanceID, err)
			return nil
		})
	}
	return group.Wait()
}

var containerName = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]*$`)

func (g *grading) spec(ctx context.Context, row dataset.Row) (sandbox.Spec, error) {
	spec, err := Describe(ctx, g.Runtime, g.Spec, g.Arch, row)
	if err != nil {
		return spec, err
	}
	labels := map[string]string{RunLabel: g.run.ID}
	for key, value := range spec.Labels {
		labels[key] = value
	}
	spec.Labels = labels
	if name := "sweb.eval." + strings.ToLower(row.InstanceID) + "." + g.run.ID; spec.Name == "" && containerName.MatchString(strings.ToLower(name)) && len(name) <= 200 {
		spec.Name = name
	}
	if spec.Lifetime == 0 {
		spec.Lifetime = g.timeout() + 10*g.patchTimeout()
	}
	return spec, nil
}

func (n Native) timeout() time.Duration {
	if n.Timeout > 0 {
		return n.Timeout
	}
	return 1800 * time.Second
}

func (n Native) patchTimeout() time.Duration {
	if n.PatchTimeout > 0 {
		return n.PatchTimeout
	}
	return 5 * time.Minute
}

func (g *grading) begin(id string) {
	g.mu.Lock()
	g.began[id] = time.Now()
	g.mu.Unlock()
}

// end notes how the grading of an instance has ended.
func (g *grading) end(id string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.began, id)
	g.finished++
	var patch *patchError
	switch {
	case errors.As(err, &patch):
		g.reasons[id] = patch.reason
	case errors.Is(err, errAmbiguous):
		g.ambiguous = append(g.ambiguous, id)
	case err != nil:
		g.failed[id] = err.Error()
	}
	g.progress()
}

func (g *grading) progress() {
	p := Progress{Total: g.total, Finished: g.finished}
	for id := range g.began {
		p.Running = append(p.Running, id)
	}
	slices.SortFunc(p.Running, func(a, b string) int { return g.began[a].Compare(g.began[b]) })
	if len(p.Running) > 0 {
		p.Oldest = time.Since(g.began[p.Running[0]])
	}
	g.run.Progress(p)
}

// report is what the instances' reports say, and why the others have none.
func (g *grading) report(err error) Report {
	report := g.run.collect(g.predictions)
	report.InfraFailureIDs, report.AmbiguousFailureIDs = []string{}, append([]string{}, g.ambiguous...)
	report.FailureReasons = map[string]string{}
	slices.Sort(report.AmbiguousFailureIDs)
	for _, id := range report.ErrorIDs {
		switch {
		case g.reasons[id] != "":
			report.because(id, g.reasons[id])
		case g.failed[id] != "":
			report.infra(id, g.run.Redact.Text(g.failed[id]))
		case err != nil:
			report.infra(id, "the evaluation ended before it was graded")
		}
	}
	g.run.explain(&report, g.predictions)
	return report
}
