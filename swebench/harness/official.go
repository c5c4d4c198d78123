package harness

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/dataset"
	"github.com/homing-go/homing/swebench/internal/atomicfile"
	"github.com/homing-go/homing/swebench/phase"
)

// Official grades with the Python harness of SWE-bench, version 4 or 5, as a child process
// in the run's folder. The zero value runs it as its documentation does.
type Official struct {
	// Command starts the harness; none means python -m swebench.harness.run_evaluation, by
	// python3 where there is no python. The options of the run are added to it, and Args
	// behind them.
	Command []string
	Args    []string
	// Dataset is the name of the dataset, or a file; "" writes the rows of the run to a file.
	Dataset string
	Split   string // "" means test
	// Workers is how many instances are graded at a time; 0 means 10.
	Workers int
	// InstanceTimeout is the harness's limit for the tests of an instance, 0 meaning its own
	// of 1800 s. Slack is what the image and the patch may take on top of it, 0 meaning 30
	// minutes. An instance that takes longer loses its container, and if then nothing goes
	// on the harness is ended.
	InstanceTimeout, Slack time.Duration
	// Timeout is the limit for all of it; 0 means none.
	Timeout time.Duration
	// Env is its environment; nil means that of this process. A key of the endpoint's is
	// never in it. Hide are further variables that are not.
	Env, Hide []string
	// Containers is the program that removes containers; "" means docker.
	Containers string
	// Grace is how long it has to end when it is told to, 0 meaning 10 s; Poll how often the
	// watchdog looks, 0 meaning 5 s.
	Grace, Poll time.Duration
}

var _ Evaluator = Official{}

// A HungError says that the harness was ended because nothing went on.
type HungError struct {
	Limit     time.Duration
	Instances []string
}

func (e *HungError) Error() string {
	return fmt.Sprintf("harness: nothing went on for %s, and it was ended; %d instances were under way: %s", e.Limit, len(e.Instances), named(e.Instances))
}

// Evaluate runs the harness to its end and reads its report.
//
// The error is that of ctx, an *[InputError], a *[phase.ExitError] when the harness failed,
// a *[HungError], or a *[ReportError] when it left no report, several, or one that
// contradicts itself. The report has then what the instances' own reports say, and all
// others with a patch are failures of the infrastructure.
func (o Official) Evaluate(ctx context.Context, predictions map[string]Prediction, run Run) (Report, error) {
	run, err := run.checked(predictions)
	if err != nil {
		return Report{}, err
	}
	if len(predictions) == 0 { // the harness refuses to run without
		return run.collect(nil), ctx.Err()
	}
	argv, err := o.prepare(predictions, run)
	if err != nil {
		return Report{}, err
	}
	report, err := o.run(ctx, argv, predictions, run)
	if err != nil {
		report = run.collect(predictions)
		for _, id := range report.ErrorIDs {
			report.infra(id, "the harness ended before it had a verdict")
		}
	}
	run.explain(&report, predictions)
	return report, err
}

// python is the name of the interpreter.
func python() string {
	if _, err := exec.LookPath("python"); err != nil {
		return "python3"
	}
	return "python"
}

// Check tells whether the harness is there, without running it: better before agents work for
// hours than afterwards. The error is that of ctx or an *[InputError].
func (o Official) Check(ctx context.Context) error {
	if len(o.Command) > 0 {
		if _, err := exec.LookPath(o.Command[0]); err != nil {
			return &InputError{Reason: "the command of the harness is missing: " + err.Error()}
		}
		return nil
	}
	const hint = ": pip install swebench, or name the command of the harness"
	name, err := exec.LookPath(python())
	if err != nil {
		return &InputError{Reason: "there is no Python for the harness" + hint}
	}
	out, err := exec.CommandContext(ctx, name, "-c", "import importlib.util as u; print(u.find_spec('swebench') is not None)").Output() //nolint:gosec // the interpreter
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return &InputError{Reason: fmt.Sprintf("%s does not work: %v", name, err)}
	case strings.TrimSpace(string(out)) != "True":
		return &InputError{Reason: name + " has no module swebench" + hint}
	}
	return nil
}

// prepare writes what the harness reads, removes what an earlier one has left that must not
// be taken for its report, and returns its command line.
func (o Official) prepare(predictions map[string]Prediction, run Run) ([]string, error) {
	if err := os.MkdirAll(run.Dir, 0o755); err != nil { //nolint:gosec // operators read logs
		return nil, err
	}
	if err := run.stale(predictions); err != nil {
		return nil, err
	}
	old, err := reportsIn(run.Dir, run.ID)
	if err != nil {
		return nil, err
	}
	for _, name := range old {
		if err := os.Remove(name); err != nil {
			return nil, err
		}
	}
	name := filepath.Join(run.Dir, "eval_preds.json")
	if err := atomicfile.Write(name, AppendPredictions(nil, predictions)); err != nil {
		return nil, err
	}
	set := o.Dataset
	if set == "" {
		set = filepath.Join(run.Dir, "eval_dataset.jsonl")
		if err := atomicfile.Write(set, lines(run.Rows)); err != nil {
			return nil, err
		}
	}
	argv := slices.Clone(o.Command)
	if len(argv) == 0 {
		argv = []string{python(), "-m", "swebench.harness.run_evaluation"}
	}
	split, workers := o.Split, o.Workers
	if split == "" {
		split = "test"
	}
	if workers <= 0 {
		workers = 10
	}
	argv = append(argv, "--dataset_name", set, "--split", split, "--predictions_path", name, "--max_workers", strconv.Itoa(workers), "--run_id", run.ID)
	if o.InstanceTimeout > 0 {
		argv = append(argv, "--timeout", strconv.Itoa(int(o.InstanceTimeout.Seconds()+0.999)))
	}
	// A list of IDs ends where an option begins, so nothing that is not one may follow it.
	argv = append(append(argv, "--instance_ids"), run.ids()...)
	return append(argv, o.Args...), nil
}

func lines(rows []dataset.Row) []byte {
	var b []byte
	for _, row := range rows {
		b = append(append(b, strings.ReplaceAll(string(row.Raw), "\n", " ")...), '\n')
	}
	return b
}

func (o Official) run(ctx context.Context, argv []string, predictions map[string]Prediction, run Run) (Report, error) {
	name := run.Log
	if name == "" {
		name = filepath.Join(run.Dir, swebench.FileEvalLog)
	}
	log, err := phase.Create(name, run.Redact, true)
	if err != nil {
		return Report{}, err
	}
	env := o.Env
	if env == nil {
		env = os.Environ()
	}
	watch := newWatch(o, predictions, run)
	child, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	done, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		watch.run(child, done, stop)
	}()
	err = phase.Command{
		Name: "eval", Argv: argv, Dir: run.Dir, Env: append(phase.EvalEnv(env, o.Hide...), run.Env...), Log: log, Timeout: o.Timeout, Grace: o.Grace, Hide: run.Redact.Text,
	}.Run(child)
	close(done)
	<-watched
	var hung *HungError
	if errors.As(context.Cause(child), &hung) && ctx.Err() == nil {
		err = hung
	}
	if err != nil {
		o.remove(ctx, run, run.ids()...)
		return Report{}, err
	}
	file, err := FindReport(run.Dir, run.Model, run.ID)
	if err != nil {
		return Report{}, err
	}
	return o.read(file, predictions, run)
}

// read reads the report, and holds it against what was asked for.
func (o Official) read(file string, predictions map[string]Prediction, run Run) (Report, error) {
	fail := func(reason string) (Report, error) {
		return Report{}, &ReportError{File: filepath.Base(file), Reason: reason}
	}
	data, err := readFile(file, maxReport)
	if err != nil {
		return fail(err.Error())
	}
	report, err := ParseReport(data)
	var fault *ReportError
	switch {
	case errors.As(err, &fault):
		return fail(fault.Reason)
	case report.SubmittedInstances != len(predictions):
		return fail(fmt.Sprintf("it counts %d submitted instances, there are %d predictions", report.SubmittedInstances, len(predictions)))
	}
	known := map[string]bool{}
	for _, id := range run.ids() {
		known[id] = true
	}
	for _, f := range report.fields() {
		if f.ids == nil {
			continue
		}
		for _, id := range *f.ids {
			if _, submitted := predictions[id]; !known[id] || (!submitted && f.list != "incomplete_ids") {
				return fail(fmt.Sprintf("%s has %q, which was not asked for", f.list, id))
			}
		}
	}
	return report, nil
}

// remove removes the containers of instances of the run, and no others. It also does so
// when ctx is over; that it fails is a warning.
func (o Official) remove(ctx context.Context, run Run, ids ...string) {
	// No agent has the evaluation's ID: containers are found by their exact names alone.
	err := phase.Containers{Executable: o.Containers, RunID: run.ID, EvalRunID: run.ID, InstanceIDs: ids}.Remove(context.WithoutCancel(ctx))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		run.Warn(run.Redact.Text("containers of the evaluation may be left: " + err.Error()))
	}
}
