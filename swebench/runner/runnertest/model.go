package runnertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/homing-go/homing/routing/routingtest"
)

// Turns is how many answers the scripted model gives for a task.
const Turns = 4

// TaskOf returns the task that a request is about.
func TaskOf(req *routingtest.Request, tasks ...Task) (Task, bool) {
	for _, m := range req.Messages {
		if m.Role != "user" {
			continue
		}
		for _, t := range tasks {
			if strings.Contains(m.Text(), t.Problem) {
				return t, true
			}
		}
	}
	return Task{}, false
}

// Model is a scripted model that looks at a task's code, edits it, runs the tests and hands
// its work in, with the tools that the request offers. What was interrupted it does again.
// Each answer depends on the request alone, whatever the backend.
func Model(tasks ...Task) routingtest.Reply {
	return func(req *routingtest.Request) routingtest.Answer {
		t, ok := TaskOf(req, tasks...)
		if !ok {
			return routingtest.Answer{Text: "There is no script for this task."}
		}
		typed := bytes.Contains(req.Tools, []byte(`"finish"`))
		turn := req.Answered()
		for _, m := range req.Messages {
			if m.Role == "tool" && strings.Contains(m.Text(), "interrupted") {
				turn-- // what became of it is unknown: once more
			}
		}
		call := func(name string, arguments map[string]any) routingtest.Answer {
			text, _ := json.Marshal(arguments) // maps of texts
			return routingtest.Answer{Text: "Next.", ToolCalls: []routingtest.ToolCall{{ID: fmt.Sprintf("call_%d", turn), Name: name, Arguments: string(text)}}}
		}
		bash := func(command string) routingtest.Answer { return call("bash", map[string]any{"command": command}) }
		switch {
		case turn == 0:
			return bash("cat " + t.File())
		case turn == 1 && typed:
			return call("str_replace_editor", map[string]any{"command": "str_replace", "path": t.File(), "old_str": t.Old, "new_str": t.New})
		case turn == 1:
			return bash(fmt.Sprintf("cat > %s <<'END'\n%sEND\n", t.File(), t.Fixed()))
		case turn == 2:
			return bash(t.language().command)
		case typed:
			return call("finish", map[string]any{"files_modified": []string{t.File()}})
		}
		return bash("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && git diff HEAD -- " + t.File())
	}
}
