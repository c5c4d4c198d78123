package scorer_test

import (
	"testing"

	"github.com/homing-go/homing/swebench/scorer"
	"github.com/stretchr/testify/require"
)

// Without the fields nothing is shown. With them both bars open in their time, only grow, and
// are closed on every way out.
func TestCase043_Progress(t *testing.T) {
	t.Parallel()
	var seen []scorer.Progress
	watch := func(r *rig) { r.cfg.Progress = func(p scorer.Progress) { seen = append(seen, p) } }

	bare := status("running", "phase", "", "agent_total", "", "agent_completed", "", "eval_total", "", "eval_completed", "")
	last := status("succeeded", "phase", "", "agent_total", "", "agent_completed", "", "eval_total", "", "eval_completed", "", "result", result)
	r := newRig(t, &pyService{submit: reply(bare), statuses: []string{bare, last}})
	watch(r)
	reasons(t, r.score(t))
	require.Empty(t, seen)

	at := func(phase string, counters ...string) string {
		state := "running"
		if phase == "succeeded" {
			state = phase
		}
		return status(state, "phase", `"`+phase+`"`, "agent_total", counters[0], "agent_completed", counters[1], "eval_total", counters[2], "eval_completed", counters[3], "result", result)
	}
	r = newRig(t, &pyService{submit: reply(at("queued", "0", "0", "0", "0")), statuses: []string{
		at("agent", `"3"`, "1", "2", "2"), at("agent", "3", "1", "2", "2"), at("agent", "2", "0", "0", "0"), at("agent", "null", "-1", "true", "[]"),
		at("eval", "4", "3.9", "2", "1"), at("succeeded", "4", "4", "2", "2"),
	}})
	watch(r)
	reasons(t, r.score(t))
	bar := func(total, completed int) scorer.Bar {
		return scorer.Bar{Open: true, Total: total, Completed: completed}
	}
	require.Equal(t, []scorer.Progress{
		{Phase: "queued"},
		{Phase: "agent", Agent: bar(3, 1)},
		{Phase: "eval", Agent: bar(4, 3), Eval: bar(2, 1)},
		{Phase: "succeeded", Agent: bar(4, 4), Eval: bar(2, 2)},
		{Phase: "succeeded", Agent: bar(4, 4), Eval: bar(2, 2), Done: true},
	}, seen)

	for name, poll := range map[string]string{"failed": status("failed"), "mismatch": status("running", "run_id", `"x"`), "text": "hello"} {
		seen = nil
		r = newRig(t, &pyService{poll: reply(poll)})
		watch(r)
		require.False(t, r.score(t).Complete)
		require.True(t, seen[len(seen)-1].Done, name)
	}
}
