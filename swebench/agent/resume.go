package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/qwen"
)

// A history is what the steps of a journal add up to.
type history struct {
	start    *Start
	answers  []*Answer
	messages []model.Message
	results  []*CallResult // of the last answer
	unfit    int
	last     Step
	exit     *Exit
}

// readHistory adds the steps up and refuses what cannot be.
func readHistory(past []Step) (*history, error) {
	h := &history{start: past[0].Start, last: past[len(past)-1]}
	for _, text := range h.start.Messages {
		if err := h.add(text); err != nil {
			return nil, damaged(0, err)
		}
	}
	for i, step := range past[1:] {
		var err error
		switch {
		case h.exit != nil:
			err = errors.New("it stands behind the exit")
		case step.Answer != nil:
			err = h.answer(step.Answer)
		case step.Result != nil:
			err = h.result(step.Result)
		case step.Exit != nil:
			h.exit = step.Exit
		default:
			err = errors.New("it is a second start")
		}
		if err != nil {
			return nil, damaged(i+1, err)
		}
	}
	return h, nil
}

func damaged(i int, err error) error {
	return &ConfigError{Field: "past", Reason: fmt.Sprintf("step %d of the journal cannot be used: %v", i+1, err)}
}

func (h *history) add(text string) error {
	m, err := model.Raw(json.RawMessage(text))
	if err == nil {
		h.messages = append(h.messages, m)
	}
	return err
}

func (h *history) answer(a *Answer) error {
	h.answers, h.results = append(h.answers, a), nil
	if a.Refused != "" {
		h.unfit++
		return h.add(a.Refused)
	}
	h.unfit = 0
	return h.add(a.Message)
}

func (h *history) result(res *CallResult) error {
	if len(h.answers) == 0 || res.Call != len(h.results) {
		return fmt.Errorf("it is the result of call %d, and the journal is at call %d", res.Call, len(h.results))
	}
	h.results = append(h.results, res)
	return h.add(res.Message)
}

// restore takes the counters over.
func (r *run) restore(h *history) {
	r.spent, r.unfit = h.last.Elapsed, h.unfit
	for _, a := range h.answers {
		r.account(a)
	}
}

// resume takes the conversation up where it stopped, and ends what was begun.
func (r *run) resume(ctx context.Context, h *history) error {
	r.place.machine = h.start.Machine
	r.begin(h.messages, nil)
	if n := len(h.answers); n > 0 && h.answers[n-1].Refused == "" {
		actions, err := r.kit.actions(h.answers[n-1].response())
		if err != nil {
			return &ConfigError{Field: "Template", Reason: "the last answer of the journal does not fit it; use the template that the trajectory began with"}
		}
		return r.resumeCalls(ctx, actions, h.results)
	}
	if limit := r.cfg.Limits.FormatErrors; limit > 0 && r.unfit >= limit {
		return r.endWith(ctx, RepeatedFormatError, fmt.Sprintf("%d answers in a row could not be carried out", r.unfit), nil)
	}
	return nil
}

// interrupted is what the model is told about a command that nobody saw the end of.
const interrupted = "interrupted, result unknown: the run was stopped while this was carried out, and it was not started again. Look at what it did before you go on"

// resumeCalls goes on with the calls of the last answer. The first without a result may have
// been begun.
func (r *run) resumeCalls(ctx context.Context, actions []qwen.Action, results []*CallResult) error {
	for i, res := range results {
		if res.Submitted {
			for j := len(results); j < len(actions); j++ {
				if err := r.skip(ctx, j, actions[j], "action was not executed: the work was handed in"); err != nil {
					return err
				}
			}
			return r.endWith(ctx, Submitted, "", results[i].Patch)
		}
	}
	next := len(results)
	if next >= len(actions) {
		return nil
	}
	if changesNothing(actions[next]) {
		return r.carryOut(ctx, actions, next)
	}
	if err := r.result(ctx, next, actions[next], qwen.Result{ExitCode: -1, Note: interrupted}, false); err != nil {
		return err
	}
	for i := next + 1; i < len(actions); i++ {
		if err := r.skip(ctx, i, actions[i], "action was not executed: the one before it was interrupted"); err != nil {
			return err
		}
	}
	return nil
}
