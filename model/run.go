package model

import (
	"context"
	"fmt"
	"iter"
)

// RunConfig bounds [Run]. The zero value works.
type RunConfig struct {
	// MaxSteps is how many answers may be asked for; 0 means 250.
	MaxSteps int
	// Parallel is how many calls of one answer may be carried out at a time; 0 means
	// one after the other, which is what calls that build on each other need.
	Parallel int
}

// A Step is one answer of a [Run], and what its calls gave.
type Step struct {
	Response *Response
	// Results are the messages that go back, one for each call; none in the last step.
	Results []Message
}

// A StepLimitError ends a [Run] whose model goes on calling tools. The calls of its last
// answer were carried out; send Results first if the trajectory is to go on.
type StepLimitError struct {
	Steps   int
	Results []Message
}

func (e *StepLimitError) Error() string {
	return fmt.Sprintf("model: run: still calling tools after %d steps; raise RunConfig.MaxSteps if that is meant", e.Steps)
}

// Run sends msgs, carries the calls of each answer out and sends their results, until an
// answer has no call. It works over the trajectory, and so for any [Client]. Each step is
// yielded before its results are sent; a loop that ends early leaves the trajectory after
// the answer of that step, and its results are lost. An error is the last that is yielded:
// that of a call to the model, of the context, or a *[StepLimitError].
func Run(ctx context.Context, t *Trajectory, box *Toolbox, cfg RunConfig, msgs ...Message) iter.Seq2[Step, error] {
	limit := cfg.MaxSteps
	if limit <= 0 {
		limit = 250
	}
	return func(yield func(Step, error) bool) {
		if box == nil {
			box, _ = NewToolbox()
		}
		if t.Tools == nil {
			t.Tools = box.Tools()
		}
		for range limit {
			answer, err := t.Send(ctx, msgs...)
			if err != nil {
				yield(Step{}, err)
				return
			}
			step := Step{Response: answer}
			if len(answer.ToolCalls) > 0 {
				if step.Results, err = box.results(ctx, answer.ToolCalls, cfg.Parallel); err != nil {
					yield(step, err)
					return
				}
			}
			if !yield(step, nil) || len(answer.ToolCalls) == 0 {
				return
			}
			msgs = step.Results
		}
		yield(Step{}, &StepLimitError{Steps: limit, Results: msgs})
	}
}
