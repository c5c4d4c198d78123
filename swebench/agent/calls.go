package agent

import (
	"context"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/qwen"
)

// carryOut carries the actions of one answer out, in their order, from the one at first on.
func (r *run) carryOut(ctx context.Context, actions []qwen.Action, first int) error {
	for i := first; i < len(actions); i++ {
		if i > first && r.late() {
			for ; i < len(actions); i++ {
				if err := r.skip(ctx, i, actions[i], "action was not executed: the time limit was reached"); err != nil {
					return err
				}
			}
			return nil // the next turn says so
		}
		res, err := r.exec.do(ctx, actions[i])
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return r.end(ctx, SandboxLost, err)
		}
		if err := r.result(ctx, i, actions[i], res, false); err != nil {
			return err
		}
		if res.Submission == nil {
			continue
		}
		for i++; i < len(actions); i++ {
			if err := r.skip(ctx, i, actions[i], "action was not executed: the work was handed in"); err != nil {
				return err
			}
		}
		return r.endWith(ctx, Submitted, "", res.Submission.Patch)
	}
	return nil
}

func (r *run) skip(ctx context.Context, i int, action qwen.Action, why string) error {
	return r.result(ctx, i, action, qwen.Result{ExitCode: -1, Note: why}, true)
}

// result makes the message for a result and writes both down.
func (r *run) result(ctx context.Context, i int, action qwen.Action, res qwen.Result, notRun bool) error {
	text, err := r.cfg.Template.observe(res, r.now())
	if err != nil {
		return err
	}
	message := model.ToolResult(action.ID(), text)
	if r.kit.text != nil {
		message = model.User(text)
	}
	r.pending = append(r.pending, message)
	kept := &CallResult{Call: i, Message: string(message.JSON()), Output: res.Output, ExitCode: res.ExitCode, Note: res.Note, NotRun: notRun}
	if res.Submission != nil {
		kept.Submitted, kept.Patch = true, res.Submission.Patch
	}
	return r.append(ctx, Step{Result: kept})
}
