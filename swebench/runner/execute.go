package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/homing-go/homing/routing"
	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/agent"
	"github.com/homing-go/homing/swebench/dataset"
	"github.com/homing-go/homing/swebench/harness"
	"github.com/homing-go/homing/swebench/internal/atomicfile"
	"github.com/homing-go/homing/swebench/sandbox"
)

const (
	// stopLimit is how long the removal of a sandbox may take.
	stopLimit = time.Minute
	// startPause is the wait before a sandbox that did not start is tried again. It doubles.
	startPause = 500 * time.Millisecond
)

// A job is an instance that a worker runs.
type job struct {
	*run
	*instance

	row dataset.Row
	box sandbox.Sandbox
}

// do brings an instance to its end. An error ends the whole run.
func (j *job) do(ctx context.Context) error {
	if err := j.ready(); err != nil {
		return err
	}
	end, patch, err := j.attempts(ctx)
	if err != nil {
		if saveErr := j.save(); saveErr != nil {
			err = errors.Join(err, saveErr)
		}
		j.leave(ctx)
		return err
	}
	if end, err = j.keep(end, patch); err != nil {
		j.leave(ctx)
		return err
	}
	j.remove(ctx)
	n, err := j.statuses.set(j.id, end)
	if err != nil {
		return err
	}
	j.tell(Progress{Phase: swebench.PhaseAgent, Total: len(j.rows), Finished: n, Instance: j.id, Status: end.status, Reason: end.reason})
	return nil
}

// ready makes sure that there is an attempt that has not ended.
func (j *job) ready() error {
	if j.Attempt > 0 && j.Status == "" {
		return nil
	}
	if err := j.preds.remove(j.id); err != nil {
		return err
	}
	return j.next("")
}

// attempts goes on with the attempt that is under way. When that is not possible it begins
// another one; there is no third.
func (j *job) attempts(ctx context.Context) (ending, []byte, error) {
	end, patch, err := j.attempt(ctx)
	var lost *unresumable
	if !errors.As(err, &lost) {
		return end, patch, err
	}
	j.Logger.Warn("a trajectory cannot go on and begins anew", "instance", j.id, "reason", j.Redact.Text(lost.reason))
	j.remove(ctx) // a dead one is still there
	if err := j.next(j.Redact.Text(lost.reason)); err != nil {
		return ending{}, nil, err
	}
	return j.attempt(ctx)
}

// unresumable says that what an earlier process has begun cannot go on.
type unresumable struct{ reason string }

func (e *unresumable) Error() string { return e.reason }

// attempt executes the trajectory, or what is left of it.
func (j *job) attempt(ctx context.Context) (ending, []byte, error) {
	journal, err := agent.OpenJournal(j.journal())
	var damaged *agent.JournalError
	if errors.As(err, &damaged) && damaged.Line > 0 {
		return ending{}, nil, &unresumable{damaged.Error()}
	} else if err != nil {
		return ending{}, nil, err
	}
	defer journal.Close() //nolint:errcheck // each step is on disk
	if n := journal.Dropped(); n > 0 {
		j.Logger.Warn("a half-written last step was dropped", "instance", j.id, "bytes", n)
	}
	past := journal.Past()
	if len(past) > 0 {
		if exit := past[len(past)-1].Exit; exit != nil {
			return ending{exit.Status, exit.Reason}, exit.Submission, nil
		}
		if j.box, err = j.attach(ctx); err != nil {
			return ending{}, nil, err
		}
	} else if end, err := j.start(ctx); err != nil || end.status != "" {
		return end, nil, err
	}
	client, err := j.NewClient()
	if err != nil {
		return ending{ClientFailed, err.Error()}, nil, nil
	}
	if j.Audit != nil {
		earlier := j.Routed.atLeast(past)
		before, _ := j.Audit.Session(j.Session)
		defer func() {
			seen, _ := j.Audit.Session(j.Session)
			j.Routed = earlier.plus(before, seen)
		}()
	}
	outcome, err := agent.Replay(ctx, agent.Config{
		Client: client, Session: routing.NewSession(j.Session), Sandbox: j.box, Template: j.Template, Limits: j.Limits,
		Journal: journal, Params: j.Params, Extra: j.Extra, Stream: j.Stream, MarkerEnds: j.MarkerEnds, Cost: j.Cost,
		Model: j.Model, Headers: j.Headers,
	}, agent.Task{
		InstanceID: j.id, Problem: j.row.ProblemStatement, BaseCommit: j.row.BaseCommit,
	}, past)
	if err != nil {
		return ending{}, nil, err
	}
	return ending{outcome.ExitStatus, outcome.Reason}, outcome.Submission, nil
}

// attach finds the sandbox in which an earlier process was at work.
func (j *job) attach(ctx context.Context) (sandbox.Sandbox, error) {
	if j.Sandbox == "" {
		return nil, &unresumable{"its sandbox was removed when the run was interrupted"}
	}
	box, err := j.Runtime.Attach(ctx, j.Sandbox)
	if errors.Is(err, sandbox.ErrGone) {
		return nil, &unresumable{err.Error()}
	}
	return box, err
}

// start starts the sandbox. It tries again where nothing can have begun. A status is how the
// instance ends without one.
func (j *job) start(ctx context.Context) (ending, error) {
	spec, err := j.spec(ctx)
	if ctx.Err() != nil {
		return ending{}, ctx.Err()
	}
	if err != nil {
		return ending{SandboxNotStarted, err.Error()}, nil //nolint:nilerr // it ends this instance alone
	}
	if why, ok := j.failures[spec.Image]; ok {
		return ending{ImageMissing, why}, nil
	}
	for n := 1; ; n++ {
		box, err := j.Runtime.Start(ctx, spec)
		if err == nil {
			j.box, j.Sandbox = box, box.ID()
			return ending{}, j.save()
		}
		var proof *sandbox.StartError
		var wrong *sandbox.SpecError
		switch {
		case ctx.Err() != nil:
			return ending{}, ctx.Err()
		case !errors.As(err, &proof), errors.As(err, &wrong), n >= j.Starts:
			return ending{SandboxNotStarted, fmt.Sprintf("after %d tries: %v", n, err)}, nil
		}
		j.FailedStarts = append(j.FailedStarts, j.Redact.Text(err.Error()))
		if err := j.save(); err != nil {
			return ending{}, err
		}
		if err := wait(ctx, startPause<<min(n-1, 6)); err != nil {
			return ending{}, err
		}
	}
}

// spec describes the sandbox.
func (j *job) spec(ctx context.Context) (sandbox.Spec, error) {
	spec, err := harness.Describe(ctx, j.Runtime, j.Spec, j.Arch, j.row)
	if err != nil {
		return spec, err
	}
	return j.marked(spec, map[string]string{LabelOwner: j.Owner, LabelRun: j.folder.Run, LabelInstance: j.id, LabelAttempt: strconv.Itoa(j.Attempt)}), nil
}

// keep writes down how the instance has ended, and returns it. What is written can be written
// again after a crash; the state comes last.
func (j *job) keep(end ending, patch []byte) (ending, error) {
	end.reason = j.Redact.Text(end.reason)
	if steps, err := agent.ReadJournal(j.journal()); err == nil && len(steps) > 0 {
		var b bytes.Buffer
		if err := agent.WriteTrajectory(&b, steps); err != nil {
			return end, err
		}
		if err := atomicfile.Write(j.trajectory(), b.Bytes()); err != nil {
			return end, err
		}
	}
	var err error
	if infrastructure(end.status) {
		err = j.preds.remove(j.id)
	} else {
		err = j.preds.set(j.id, harness.Prediction{Model: j.Model, Patch: string(patch)})
	}
	if full := (*fullError)(nil); errors.As(err, &full) {
		end, err = ending{PredictionsFull, full.Error()}, nil
	}
	if err != nil {
		return end, err
	}
	j.Status, j.Reason = end.status, end.reason
	return end, j.save()
}

// leave ends the sandbox of a trajectory that has not ended, unless it is to go on there.
func (j *job) leave(ctx context.Context) {
	if !j.KeepSandboxes || ctx.Err() == nil {
		j.remove(ctx)
	}
}

// remove removes the sandbox; one of an earlier process, too.
func (j *job) remove(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer cancel()
	var err error
	switch {
	case j.box != nil:
		err = j.box.Stop(ctx)
	case j.Sandbox != "":
		err = j.Runtime.Remove(ctx, j.Sandbox)
	}
	j.box = nil
	if err == nil && j.Sandbox != "" {
		j.Sandbox = "" // or a later process would remove what a killed one has half removed
		err = j.save()
	}
	if err != nil {
		j.Logger.Warn("a sandbox may be left", "instance", j.id, "sandbox", j.Sandbox, "error", j.Redact.Text(err.Error()))
	}
}
