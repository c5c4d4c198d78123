package scorer

import "github.com/homing-go/homing/swebench"

// Progress is how far a run is. Totals only grow, and what is completed never goes back.
type Progress struct {
	Phase swebench.Phase
	Agent Bar
	Eval  Bar
	// Done is true in the last call, if there was any before.
	Done bool
}

// A Bar is one of the two phases. It opens once there is something to count.
type Bar struct {
	Open             bool
	Total, Completed int
}

// tracker keeps a Progress and tells when it changes.
type tracker struct {
	now  Progress
	any  bool
	tell func(Progress)
}

func (t *tracker) update(p swebench.Progress) {
	if t.tell == nil || !p.Known() {
		return
	}
	was := t.now
	t.now.Phase = p.Phase
	t.now.Agent.grow(p.AgentTotal, p.AgentCompleted, true)
	t.now.Eval.grow(p.EvalTotal, p.EvalCompleted, p.Phase == swebench.PhaseEval || p.Phase == swebench.PhaseSucceeded)
	if t.now != was {
		t.any = true
		t.tell(t.now)
	}
}

func (t *tracker) close() {
	if t.any {
		t.now.Done = true
		t.tell(t.now)
	}
}

func (b *Bar) grow(total, completed *int, mayOpen bool) {
	if !b.Open && mayOpen && total != nil && *total > 0 {
		b.Open = true
	}
	if !b.Open {
		return
	}
	if total != nil {
		b.Total = max(b.Total, *total)
	}
	if completed != nil {
		b.Completed = max(b.Completed, *completed)
	}
}
