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
// its work in, with the tools that the request offers. What was interrupted it does again. Each answer depends on the request
// alone, whatever the backend.
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
			return bash("cat lib.sh")
		case turn == 1 && typed:
			return call("str_replace_editor", map[string]any{"command": "str_replace", "path": "lib.sh", "old_str": t.Old, "new_str": t.New})
		case turn == 1:
			return bash(fmt.Sprintf("cat > lib.sh <<'END'\n%sEND\n", strings.Replace(t.Lib, t.Old, t.New, 1)))
		case turn == 2:
			return bash("sh tests/all")
		case typed:
			return call("finish", map[string]any{"files_modified": []string{"lib.sh"}})
		}
		return bash("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && git diff HEAD -- lib.sh")
	}
}
