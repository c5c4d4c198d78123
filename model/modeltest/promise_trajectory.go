package modeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/routing"
)

// ownID runs two trajectories in turns, with tool calls and a stream.
func ownID(k *kit) {
	s := NewServerFunc(k, func(r Recorded) Step {
		if r.Contains(`"tool_call_id"`) {
			return Reply("done")
		}
		return ToolCall("read_file", `{"path": "a.go"}`)
	})
	c := k.client(s, header)
	names := [...]string{"left", "right"}
	var trajectories [len(names)]*model.Trajectory
	for i, name := range names {
		trajectories[i] = k.trajectory(c, "task "+name)
	}
	var last [len(names)]*model.Response
	for turn := range 3 {
		for i, t := range trajectories {
			last[i] = k.turn(t, turn, last[i])
		}
	}
	ids := map[string][]string{}
	for _, r := range k.requests(s, 3*len(names), "three turns of two trajectories") {
		for _, name := range names {
			if r.Contains("task " + name) {
				ids[name] = append(ids[name], lineValues(r)...)
			}
		}
	}
	for i, name := range names {
		distinct := slices.Compact(slices.Sorted(slices.Values(ids[name])))
		if len(distinct) > 1 {
			k.Fatalf("one trajectory has %d IDs, one for each backend it may end on: %q", len(distinct), ids[name])
		}
		if len(ids[name]) < 3 {
			k.Fatalf("the session is lost on a turn of a trajectory: its three requests carry %q", ids[name])
		}
		if i > 0 && slices.Equal(distinct, ids[names[0]][:1]) {
			k.Fatalf("two trajectories share the ID %s", distinct[0])
		}
	}
	for i, name := range names {
		if want := string(trajectories[i].Session().ID); ids[name][0] != want {
			k.Fatalf("a trajectory carries the ID %s, want that of its session, %s", ids[name][0], want)
		}
	}
}

func lineValues(r Recorded) []string {
	var values []string
	for _, line := range r.Named(header) {
		values = append(values, value(line))
	}
	return values
}

// turn sends one turn of an agent's loop: a task, the result of the call that came
// back, a question.
func (k *kit) turn(t *model.Trajectory, turn int, last *model.Response) *model.Response {
	k.Helper()
	var res *model.Response
	var err error
	switch turn {
	case 0:
		res, err = t.Send(k.context(), model.User("Begin."))
	case 1:
		if len(last.ToolCalls) != 1 || last.ToolCalls[0].Name != "read_file" {
			k.Fatalf("the answer has the tool calls %v, want one of read_file", last.ToolCalls)
		}
		res, err = t.Stream(k.context(), model.ToolResult(last.ToolCalls[0].ID, "package a")).Response()
	default:
		res, err = t.Send(k.context(), model.User("Go on."))
	}
	if err != nil {
		k.Fatalf("turn %d of a trajectory fails: %v", turn+1, err)
	}
	return res
}

func (k *kit) trajectory(c model.Client, task string) *model.Trajectory {
	k.Helper()
	tools, err := model.NewTools(model.ToolDef{
		Name: "read_file", Description: "Reads a file.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`),
	})
	if err != nil {
		k.Fatal(err)
	}
	t := model.NewTrajectory(c, routing.NewSession(routing.NewID()), model.System("Your job is "+task+"."))
	t.Tools = tools
	return t
}

var taskName = regexp.MustCompile(`task-[0-9]+\b`)

func manyAtOnce(k *kit) {
	const n, turns = 64, 3
	together := make(chan struct{})
	s := NewServerFunc(k, func(r Recorded) Step {
		return Hold(together, Reply("answer for "+taskName.FindString(string(r.Body))))
	})
	c := k.client(s, header)
	ctx := k.context()
	trajectories := make([]*model.Trajectory, n)
	ids := map[string]string{}
	for i := range trajectories {
		task := fmt.Sprintf("task-%d", i)
		trajectories[i] = k.trajectory(c, task)
		ids[task] = string(trajectories[i].Session().ID)
	}
	failures := make(chan error, n)
	for i, t := range trajectories {
		go func() { failures <- runTask(ctx, t, fmt.Sprintf("task-%d", i), turns) }()
	}
	if !s.await(patience, func() bool { return len(s.requests) >= n }) {
		k.Fatalf("of %d trajectories at once %d are in flight", n, len(s.Requests()))
	}
	close(together)
	for range trajectories {
		if err := <-failures; err != nil {
			k.Errorf("%d trajectories at once: %v", n, err)
		}
	}
	if k.Failed() {
		k.FailNow()
	}
	for _, r := range k.requests(s, n*turns, fmt.Sprintf("%d turns of %d trajectories", turns, n)) {
		task := taskName.FindString(string(r.Body))
		for other, id := range ids {
			if other != task && r.Contains(id) {
				k.Fatalf("%d trajectories at once mix their sessions: a request of %s carries the ID of %s", n, task, other)
			}
		}
		k.carries(r, header, routing.ID(ids[task]), fmt.Sprintf("with %d trajectories at once", n))
	}
}

func runTask(ctx context.Context, t *model.Trajectory, task string, turns int) error {
	for turn := range turns {
		var res *model.Response
		var err error
		if msg := model.User(fmt.Sprintf("This is turn %d.", turn)); turn%2 == 0 {
			res, err = t.Send(ctx, msg)
		} else {
			res, err = t.Stream(ctx, msg).Response()
		}
		if err != nil {
			return fmt.Errorf("%s fails: %w", task, err)
		}
		if res.Text != "answer for "+task {
			return fmt.Errorf("%s gets the answer of another: %q", task, res.Text)
		}
	}
	return nil
}

// growingHistory has answers with all that an encoder could change: the order of
// members, the spelling of numbers, spaces, escapes.
func growingHistory(k *kit) {
	s := NewServer(k,
		Message(json.RawMessage(`{"content": "a < b \u0026\u0026 c > d \/ \u00e9", "role":"assistant",  "refusal":null, "score": 1.50e1}`)),
		ToolCall("read_file", `{"path": "a<b>.go",  "limit": 1.0}`),
		Reply("text & <tags> of a stream"),
		Message(json.RawMessage(`{"role":"assistant","content":"the end \ud83d\ude00"}`)),
	)
	t := k.trajectory(k.client(s, header), "to keep a history")
	ctx := k.context()
	_, err1 := t.Send(ctx, model.User("Compare <a> & <b>."))
	_, err2 := t.Send(ctx, model.User("Read it."))
	_, err3 := t.Stream(ctx, model.ToolResult("call_2", "if a < b && c > d {\n\t\u2028}")).Response()
	_, err4 := t.Send(ctx, model.User("Once more."))
	for i, err := range [...]error{err1, err2, err3, err4} {
		if err != nil {
			k.Fatalf("turn %d of a trajectory fails: %v", i+1, err)
		}
	}
	var before json.RawMessage
	for i, r := range k.requests(s, 4, "four turns") {
		var body struct{ Messages json.RawMessage }
		if err := json.Unmarshal(r.Body, &body); err != nil {
			k.Fatalf("the body of turn %d is no JSON object: %v", i+1, err)
		}
		var list []json.RawMessage
		if err := json.Unmarshal(body.Messages, &list); err != nil || len(list) != 2*i+2 {
			k.Fatalf("turn %d sends %d messages, want %d: the history, the answers and one new message (%v)", i+1, len(list), 2*i+2, err)
		}
		if old := bytes.TrimSuffix(before, []byte("]")); !bytes.HasPrefix(body.Messages, old) {
			at, _ := firstDifference(old, body.Messages)
			k.Fatalf("the history of turn %d is not that of turn %d with more behind it; from byte %d on it is %q and was %q, so that no prefix cache can help",
				i+1, i, at, excerpt(body.Messages, at), excerpt(old, at))
		}
		before = body.Messages
	}
}
