package scripted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/internal/atomicfile"
	"github.com/homing-go/homing/swebench/phase"
	"github.com/homing-go/homing/swebench/service"
)

// maxNamed is how many instances an error or a warning names.
const maxNamed = 10

// writeEvery is how often predictions without a delay are written.
const writeEvery = 50 * time.Millisecond

// A Runner does what its script tells. It is a service.Runner.
type Runner struct {
	Script *Script
	// Timeout is the limit of each child process; 0 means none.
	Timeout time.Duration
	// Hide are the names of environment variables that children do not get, such as
	// those of the service's own token.
	Hide []string
}

var _ service.Runner = (*Runner)(nil)

// Run runs one job.
func (r *Runner) Run(ctx context.Context, job service.Job) (json.RawMessage, error) {
	entry, ok := r.Script.Runs[job.Request.ModelName]
	if !ok {
		entry, ok = r.Script.Runs["*"]
	}
	if !ok {
		return nil, fmt.Errorf("the script has no entry for model %q and none for \"*\"", job.Request.ModelName)
	}
	ctx, cancel := lag(ctx, entry.CancelLag)
	defer cancel()
	w := &work{Runner: r, entry: entry, job: job}
	result, err := w.run(ctx)
	if err != nil {
		err = errors.Join(err, w.keep())
	}
	if w.commands > 0 {
		w.removeContainers(ctx)
	}
	return result, err
}

// work is one run of a job.
type work struct {
	*Runner
	entry     Entry
	job       service.Job
	preds     *predictions
	evalRunID string
	commands  int
}

func (w *work) run(ctx context.Context) (json.RawMessage, error) {
	if err := w.prepare(); err != nil {
		return nil, err
	}
	if err := w.phase(ctx, "agent", swebench.FileAgentLog, w.entry.AgentLog, w.entry.AgentCommand); err != nil {
		return nil, err
	}
	if w.entry.Outcome == Hang {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if err := w.instances(ctx); err != nil {
		return nil, err
	}
	if err := wait(ctx, w.entry.Delay); err != nil {
		return nil, err
	}
	if w.entry.Outcome == Fail {
		if w.entry.Error == "" {
			return nil, errors.New("the script lets this run fail")
		}
		return nil, errors.New(w.entry.Error)
	}
	if err := w.check(); err != nil {
		return nil, err
	}
	if err := w.keep(); err != nil {
		return nil, err
	}
	w.evalRunID = newEvalRunID()
	if err := atomicfile.Write(w.job.Path(swebench.FileEvalRunID), []byte(w.evalRunID)); err != nil {
		return nil, err
	}
	if err := w.phase(ctx, "eval", swebench.FileEvalLog, w.entry.EvalLog, w.entry.EvalCommand); err != nil {
		return nil, err
	}
	result := w.result()
	return result, atomicfile.Write(w.job.Path(swebench.FileResults), result)
}

// prepare makes the output folder: an empty one, unless the run is resumed.
func (w *work) prepare() error {
	output := w.job.Path(swebench.DirOutput)
	if !w.job.Resume {
		if err := os.RemoveAll(output); err != nil {
			return err
		}
	}
	for _, stale := range []string{swebench.FileEvalRunID, swebench.FileResults} {
		if err := os.Remove(w.job.Path(stale)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return os.MkdirAll(output, 0o755) //nolint:gosec // operators read artifacts
}

// phase writes the log of a phase, or runs its command, whose output is the log.
func (w *work) phase(ctx context.Context, name, file, text string, argv []string) error {
	log, err := w.job.Log(file, len(argv) > 0)
	if err != nil {
		return err
	}
	if len(argv) == 0 {
		_, err := log.Write([]byte(text))
		return errors.Join(err, log.Publish())
	}
	release := w.job.Hold()
	defer release()
	w.commands++
	env := phase.EvalEnv(os.Environ(), w.Hide...)
	if name == "agent" {
		env = phase.AgentEnv(os.Environ(), w.job.Request.EndpointURLs[0], w.job.EndpointAPIKey, w.Hide...)
	}
	base, err := phase.EndpointBase(w.job.Request.EndpointURLs[0])
	if err != nil {
		return err
	}
	env = append(env, phase.RunIDVariable+"="+w.job.RunID, "SWEBENCH_RUN_DIR="+w.job.Dir, "SWEBENCH_API_BASE="+base)
	return phase.Command{
		Name: name, Argv: argv, Dir: w.job.Path(swebench.DirOutput), Log: log, Timeout: w.Timeout, Hide: w.job.Redact.Text,
		Env: env,
	}.Run(ctx)
}

// instances goes through the instances in the order of the request. Those that have a
// prediction already are finished.
func (w *work) instances(ctx context.Context) (err error) {
	if w.preds, err = readPredictions(w.job.Path(swebench.DirOutput, swebench.FilePreds)); err != nil {
		return err
	}
	// Instances without a delay are written together: with thousands of them each write
	// of its own would take minutes.
	unwritten, written := false, time.Time{}
	flush := func() error {
		if !unwritten {
			return nil
		}
		unwritten, written = false, time.Now()
		return w.preds.write()
	}
	defer func() { err = errors.Join(err, flush()) }()
	for _, id := range w.job.Request.EvaluatedInstanceIDs {
		if w.preds.has(id) {
			continue
		}
		script := w.entry.Instances[id]
		if script.Delay > 0 || script.Outcome == Hang || time.Since(written) > writeEvery {
			if err := flush(); err != nil {
				return err
			}
		}
		if err := wait(ctx, script.Delay); err != nil {
			return err
		}
		if script.Outcome == Hang {
			<-ctx.Done()
			return ctx.Err()
		}
		patch, ok := w.patch(id, script)
		if !ok {
			continue
		}
		w.preds.add(id, w.job.Request.ModelName, patch)
		unwritten = true
	}
	for id, patch := range w.entry.Predictions {
		if !w.preds.has(id) {
			w.preds.add(id, w.job.Request.ModelName, patch)
			unwritten = true
		}
	}
	return nil
}

// patch is the patch of an instance; false if the script leaves it without a prediction.
func (w *work) patch(id string, script Instance) (*string, bool) {
	switch {
	case w.entry.Predictions != nil:
		patch, ok := w.entry.Predictions[id]
		return patch, ok
	case script.Patch != nil:
		return script.Patch, true
	case w.entry.Patch != nil:
		return w.entry.Patch, true
	}
	return ptr("diff"), true
}

// check compares the predictions with what was asked for.
func (w *work) check() error {
	asked := w.job.Request.EvaluatedInstanceIDs
	strange := without(w.preds.ids(), asked)
	if len(strange) > 0 {
		return fmt.Errorf("%s has IDs that were not asked for, %d of them: %s", swebench.FilePreds, len(strange), named(strange))
	}
	if missing := without(asked, w.preds.ids()); len(missing) > 0 {
		w.job.Warn("%d of %d instances have no prediction: %s", len(missing), len(asked), named(missing))
	}
	return nil
}

// keep copies the predictions, as far as there are any, to where clients find them.
func (w *work) keep() error {
	data, err := atomicfile.Read(w.job.Path(swebench.DirOutput, swebench.FilePreds), maxPreds)
	switch {
	case errors.Is(err, os.ErrNotExist) && w.preds == nil:
		return nil
	case errors.Is(err, os.ErrNotExist):
		data = []byte("{}")
	case err != nil:
		return err
	}
	return atomicfile.Write(w.job.Path(swebench.FilePreds), data)
}

// result is what the script tells, or what follows from its instances.
func (w *work) result() json.RawMessage {
	if w.entry.Counters != nil {
		return w.entry.Counters
	}
	resolved := 0
	for _, id := range w.job.Request.EvaluatedInstanceIDs {
		if o := w.entry.Instances[id].Outcome; o == Succeed || o == "" {
			resolved++
		}
	}
	return json.RawMessage(fmt.Sprintf(`{"submitted_instances": %d, "resolved_instances": %d}`, len(w.job.Request.EvaluatedInstanceIDs), resolved))
}

// removeContainers removes what the run's commands may have started. That it fails is a
// warning and changes nothing.
func (w *work) removeContainers(ctx context.Context) {
	err := phase.Containers{
		Executable: os.Getenv("MSWEA_DOCKER_EXECUTABLE"), RunID: w.job.RunID,
		EvalRunID: w.evalRunID, InstanceIDs: w.job.Request.EvaluatedInstanceIDs,
	}.Remove(context.WithoutCancel(ctx))
	if err != nil {
		w.job.Warn("containers of the run may be left: %v", err)
	}
}

func without(list, drop []string) []string {
	dropped := make(map[string]bool, len(drop))
	for _, s := range drop {
		dropped[s] = true
	}
	var left []string
	for _, s := range list {
		if !dropped[s] {
			left = append(left, s)
		}
	}
	return left
}

func named(ids []string) string {
	text := strings.Join(ids[:min(len(ids), maxNamed)], ", ")
	if more := len(ids) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
