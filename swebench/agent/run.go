package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/routing"
)

// Run runs one trajectory: it asks the model, carries its calls out in the sandbox, tells it
// the results, and so on until the model hands its work in or a limit is reached. All
// requests carry one session.
//
// The outcome says how it ended, failures of the endpoint and of the sandbox included. The
// error is that of the context, once that is done, or a *[ConfigError] when nothing was
// begun. After the context was done the trajectory can go on, see [Replay].
func Run(ctx context.Context, cfg Config, task Task) (Outcome, error) {
	return Replay(ctx, cfg, task, nil)
}

// Replay goes on with a trajectory that was cut off, from what its journal kept: under the
// same session, with the same bytes of history, and with the limits counted from the start.
// The sandbox must be the one that the trajectory had; if it is gone, run the task anew under
// another session.
//
// A command that was begun and has no result in the journal is not run again. The model is
// told that it was interrupted, and what it did is unknown. A trajectory that has ended gives
// its outcome, and nothing is sent.
func Replay(ctx context.Context, cfg Config, task Task, past []Step) (Outcome, error) {
	if len(past) > 0 && past[0].Start == nil {
		return Outcome{}, &ConfigError{Field: "past", Reason: errNotAJournal.Error()}
	}
	if len(past) > 0 {
		start := past[0].Start
		switch {
		case start.InstanceID != task.InstanceID:
			return Outcome{}, &ConfigError{Field: "past", Reason: fmt.Sprintf("it is the journal of %.100q, and the task is %.100q", start.InstanceID, task.InstanceID)}
		case cfg.Session.ID != "" && cfg.Session != start.Session:
			return Outcome{}, &ConfigError{Field: "Session", Reason: "it is not that of the journal; leave it zero, or begin anew with a fresh journal"}
		}
		cfg.Session = start.Session
	}
	cfg, err := cfg.withDefaults(&task)
	if err != nil {
		return Outcome{}, err
	}
	r := &run{cfg: cfg, task: task, began: time.Now(), out: Outcome{Session: cfg.Session}}
	if r.kit, err = newToolkit(cfg.Template, task.Dir, cfg.Limits); err != nil {
		return Outcome{}, err
	}
	err = r.whole(ctx, past)
	var end *ending
	if errors.As(err, &end) {
		return r.out, nil
	}
	return r.out, err
}

// A run is one execution of a trajectory.
type run struct {
	cfg   Config
	task  Task
	kit   toolkit
	exec  *executor
	place place
	vars  map[string]any
	out   Outcome

	trajectory *model.Trajectory
	pending    []model.Message // what the next request brings
	unfit      int             // answers in a row that could not be carried out
	spent      time.Duration   // by earlier executions
	began      time.Time
	unwritable bool // or nothing is written yet
}

// An ending is how the loop is left; the outcome holds all of it.
type ending struct{}

func (*ending) Error() string { return "the trajectory has ended" }

func (r *run) elapsed() time.Duration { return r.spent + time.Since(r.began) }

// whole runs the trajectory and returns an *ending, the error of the context, or a
// *ConfigError.
func (r *run) whole(ctx context.Context, past []Step) error {
	var h *history
	base := ""
	r.unwritable = true
	if len(past) > 0 {
		var err error
		if h, err = readHistory(past); err != nil {
			return err
		}
		r.restore(h)
		if h.exit != nil {
			return r.recall(h.exit)
		}
		base, r.unwritable = h.start.Base, false
	}
	var err error
	if r.exec, r.place, err = newExecutor(ctx, &r.cfg, r.task.Dir, base); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return r.end(ctx, SandboxLost, err)
	}
	if h == nil {
		err = r.start(ctx)
	} else {
		err = r.resume(ctx, h)
	}
	for err == nil {
		err = r.turn(ctx)
	}
	return err
}

// start renders the prompts and writes down what the trajectory begins with.
func (r *run) start(ctx context.Context) error {
	r.vars = r.cfg.Template.vars(r.task, r.cfg.Limits, r.cfg.Model, r.place.machine)
	system, err := r.cfg.Template.system.render(r.vars)
	if err != nil {
		return err
	}
	instance, err := r.cfg.Template.instance.render(r.vars)
	if err != nil {
		return err
	}
	if err := r.cfg.Template.try(r.vars); err != nil {
		return err
	}
	messages := []model.Message{model.System(system), model.User(instance)}
	r.begin(messages[:1], messages[1:])
	r.unwritable = false
	return r.append(ctx, Step{Start: &Start{
		Version: journalVersion, InstanceID: r.task.InstanceID, Session: r.cfg.Session,
		Model: r.cfg.Model, Headers: r.cfg.Headers, Params: *r.cfg.Params, Extra: r.cfg.Extra,
		Template: r.cfg.Template.Name, Hash: r.cfg.Template.Hash(), Limits: r.cfg.Limits,
		Dir: r.task.Dir, Base: r.place.base, BaseCommit: r.task.BaseCommit, Machine: r.place.machine, Priced: r.cfg.Cost != nil,
		Messages: []string{string(messages[0].JSON()), string(messages[1].JSON())},
	}})
}

// begin makes the conversation.
func (r *run) begin(history, pending []model.Message) {
	r.trajectory = model.NewTrajectory(r.cfg.Client, r.cfg.Session, history...)
	r.trajectory.Tools, r.trajectory.Params, r.trajectory.Extra = r.kit.tools, *r.cfg.Params, r.cfg.Extra
	r.pending = pending
}

// turn is one step: limits, an answer, its calls. It returns an error when there is no next.
func (r *run) turn(ctx context.Context) error {
	if status, reason := r.limit(); status != "" {
		return r.endWith(ctx, status, reason, nil)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	before := r.trajectory.Snapshot()
	res, err := r.ask(ctx)
	if err != nil {
		return r.unanswered(ctx, err)
	}
	answer := &Answer{
		Message: string(res.Message.JSON()), Finish: string(res.Finish), Usage: res.Usage,
		Seconds: res.Timing.Total.Seconds(), Attempts: res.Timing.Attempts,
	}
	for _, c := range res.ToolCalls {
		answer.Calls = append(answer.Calls, Call{ID: c.ID, Name: c.Name, Arguments: string(c.Arguments)})
	}
	if r.cfg.Cost != nil {
		answer.Cost = r.cfg.Cost(res)
	}
	r.account(answer)
	actions, fault := r.kit.actions(res)
	if r.kit.text != nil {
		answer.Calls = textCalls(actions)
	}
	if fault != nil {
		return r.refuse(ctx, before, answer, fault, res)
	}
	if err := r.append(ctx, Step{Answer: answer}); err != nil {
		return err
	}
	r.unfit, r.pending = 0, nil
	return r.carryOut(ctx, actions, 0)
}

// ask sends one turn.
func (r *run) ask(ctx context.Context) (*model.Response, error) {
	if r.cfg.Stream {
		return r.trajectory.Stream(ctx, r.pending...).Response()
	}
	return r.trajectory.Send(ctx, r.pending...)
}

// unanswered judges a call to the model that failed. What the server could not parse, and an
// answer with more calls than a client takes, is the model's fault, and the model is told.
func (r *run) unanswered(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, routing.ErrNoSession) {
		return &ConfigError{Field: "Client", Reason: err.Error()}
	}
	var fault error
	switch {
	case errors.Is(err, model.KindOutput):
		fault = errors.New("bad_json: the server could not read the tool call in your response. Write one call at a time, its arguments as one JSON object")
	case errors.Is(err, model.KindResponse) && tooMany(err):
		fault = &tooManyCallsError{limit: r.cfg.Limits.Calls}
	default:
		return r.end(ctx, modelExit(err), err)
	}
	answer := new(Answer)
	r.account(answer)
	return r.refuse(ctx, r.trajectory.Snapshot(), answer, fault, &model.Response{})
}

// refuse tells the model why its answer could not be carried out. The answer itself does
// not stay in the history; the journal keeps it.
func (r *run) refuse(ctx context.Context, before model.Snapshot, answer *Answer, fault error, res *model.Response) error {
	text, err := r.cfg.Template.guidance(fault, res, r.now())
	if err != nil {
		return err
	}
	guidance := model.User(text)
	answer.Refused, answer.Fault = string(guidance.JSON()), fault.Error()
	if err := r.append(ctx, Step{Answer: answer}); err != nil {
		return err
	}
	if r.trajectory.Snapshot() != before {
		kept := make([]model.Message, 0, before.Len()+len(r.pending))
		for _, m := range before.Messages() {
			kept = append(kept, m)
		}
		if err := r.trajectory.Compact(append(kept, r.pending...)...); err != nil {
			return err
		}
		r.pending = nil
	}
	r.pending = append(r.pending, guidance)
	if r.unfit++; r.cfg.Limits.FormatErrors > 0 && r.unfit >= r.cfg.Limits.FormatErrors {
		return r.endWith(ctx, RepeatedFormatError, fmt.Sprintf("%d answers in a row could not be carried out", r.unfit), nil)
	}
	return nil
}

// now returns the variables with the counters as they are.
func (r *run) now() map[string]any {
	if r.vars == nil {
		r.vars = r.cfg.Template.vars(r.task, r.cfg.Limits, r.cfg.Model, r.place.machine)
	}
	r.vars["n_model_calls"], r.vars["model_cost"], r.vars["elapsed_seconds"] = r.out.Calls, r.out.Cost, r.elapsed().Seconds()
	return r.vars
}

// append writes a step down; an error ends the trajectory.
func (r *run) append(ctx context.Context, step Step) error {
	if r.cfg.Journal == nil {
		return nil
	}
	step.Time, step.Elapsed = time.Now(), r.elapsed()
	if err := r.cfg.Journal.Append(step); err != nil {
		r.unwritable = true
		return r.end(ctx, JournalFailed, err)
	}
	return nil
}
