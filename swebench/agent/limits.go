package agent

import (
	"fmt"
	"time"
)

// Limits bound a trajectory. In [Config.Limits] 0 means that of the template and a
// negative value none; in a template 0 means none.
type Limits struct {
	// Steps is the number of answers that may be asked for, those that cannot be carried
	// out included.
	Steps int
	// Wall is the time from the start, over all executions of a trajectory that was resumed.
	// It never interrupts a call or a command, which have limits of their own.
	Wall time.Duration
	// Cost is in the unit of [Config.Cost].
	Cost float64
	// Tokens bounds the sum of the tokens of all prompts and answers.
	Tokens int
	// FormatErrors is how many answers in a row may be unfit.
	FormatErrors int
	// Command bounds one command; without a limit it is 5 minutes.
	Command time.Duration
	// Calls is how many tool calls one answer may have; without a limit it is 100. An answer
	// with more is a format error.
	Calls int
	// Output is how many bytes are kept of what one command prints, from both ends; without
	// a limit it is 1 MiB.
	Output int
	// Patch is how many bytes a patch may have; without a limit it is 4 MiB. A longer one is
	// not taken: the model is told, and the task goes on.
	Patch int
}

// over returns the limits l, and those of base where l has none of its own.
func (l Limits) over(base Limits) Limits {
	l.Steps = pick(l.Steps, base.Steps, 0)
	l.Wall = pick(l.Wall, base.Wall, 0)
	l.Cost = pick(l.Cost, base.Cost, 0)
	l.Tokens = pick(l.Tokens, base.Tokens, 0)
	l.FormatErrors = pick(l.FormatErrors, base.FormatErrors, 0)
	l.Command = pick(l.Command, base.Command, 5*time.Minute)
	l.Calls = pick(l.Calls, base.Calls, 100)
	l.Output = pick(l.Output, base.Output, 1<<20)
	l.Patch = pick(l.Patch, base.Patch, 4<<20)
	return l
}

func pick[T int | float64 | time.Duration](own, base, none T) T {
	value := own
	if own == 0 {
		value = base
	}
	if value <= 0 {
		return none
	}
	return value
}

// account counts an answer, whether it can be carried out or not.
func (r *run) account(a *Answer) {
	r.out.Calls++
	r.out.Cost += a.Cost
	u, sum := a.Usage, &r.out.Usage
	sum.PromptTokens += u.PromptTokens
	sum.CompletionTokens += u.CompletionTokens
	sum.CachedTokens += u.CachedTokens
	sum.ReasoningTokens += u.ReasoningTokens
	sum.HasCached = sum.HasCached || u.HasCached
}

// limit returns the limit that is reached, if one is.
func (r *run) limit() (ExitStatus, string) {
	l := r.cfg.Limits
	tokens := r.out.Usage.PromptTokens + r.out.Usage.CompletionTokens
	switch {
	case l.Steps > 0 && r.out.Calls >= l.Steps:
		return LimitsExceeded, fmt.Sprintf("%d steps, the limit is %d", r.out.Calls, l.Steps)
	case l.Cost > 0 && r.out.Cost >= l.Cost:
		return LimitsExceeded, fmt.Sprintf("a cost of %.4g, the limit is %.4g", r.out.Cost, l.Cost)
	case l.Tokens > 0 && tokens >= l.Tokens:
		return LimitsExceeded, fmt.Sprintf("%d tokens, the limit is %d", tokens, l.Tokens)
	case r.late():
		return TimeExceeded, fmt.Sprintf("%v, the limit is %v", r.elapsed().Round(time.Second), l.Wall)
	}
	return "", ""
}

func (r *run) late() bool { return r.cfg.Limits.Wall > 0 && r.elapsed() >= r.cfg.Limits.Wall }
