package agent

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/qwen"
)

// fromText takes the command out of the text of an answer, which must have exactly one.
func (k toolkit) fromText(res *model.Response) ([]qwen.Action, error) {
	found := k.text.FindAllStringSubmatch(res.Text, -1)
	wrong := &notOneActionError{actions: []any{}, truncated: res.Finish == model.FinishLength}
	for _, groups := range found {
		wrong.actions = append(wrong.actions, strings.TrimSpace(groups[len(groups)-1]))
	}
	if len(found) != 1 {
		return nil, wrong
	}
	command, _ := wrong.actions[0].(string)
	if command == "" || strings.Contains(command, "\x00") {
		return nil, &qwen.CallError{Kind: qwen.KindBadValue, Reason: "the command is empty or holds a NUL character; write the command to run"}
	}
	return []qwen.Action{qwen.Exec{Command: command}}, nil
}

// notOneActionError refuses a text with no command, or with several.
type notOneActionError struct {
	actions   []any
	truncated bool
}

func (e *notOneActionError) Error() string {
	if len(e.actions) == 0 && e.truncated {
		return "truncated: your response was cut off before a command. Think less before you act and use smaller steps"
	}
	return fmt.Sprintf("Expected exactly 1 action, found %d.", len(e.actions))
}

// textCalls are the calls that a journal keeps of commands in a text.
func textCalls(actions []qwen.Action) (calls []Call) {
	for _, action := range actions {
		if run, ok := action.(qwen.Exec); ok {
			arguments, _ := json.Marshal(map[string]string{"command": run.Command})
			calls = append(calls, Call{Name: toolBash, Arguments: string(arguments)})
		}
	}
	return calls
}
