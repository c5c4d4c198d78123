package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/qwen"
	"github.com/homing-go/homing/swebench/agent"
)

// A trajectory from an issue to a patch, kept in a journal and written as a trajectory file.
func Example() {
	ctx := context.Background()
	folder, _ := os.MkdirTemp("", "agent")
	defer os.RemoveAll(folder)
	endpoint := httptest.NewServer(&twoSteps{})
	defer endpoint.Close()

	client, err := qwen.New(qwen.Config{Config: model.Config{BaseURL: endpoint.URL + "/v1", Model: "qwen3"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.CloseIdleConnections()
	journal, err := agent.OpenJournal(filepath.Join(folder, "task-1.jsonl"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer journal.Close()
	outcome, err := agent.Replay(ctx, agent.Config{
		Client:   client,
		Sandbox:  qwen.Local{},
		Template: agent.Default(),
		Journal:  journal,
	}, agent.Task{InstanceID: "task-1", Problem: "add.txt subtracts.", Dir: folder}, journal.Past())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(outcome.ExitStatus, outcome.Calls)
	fmt.Printf("%s", outcome.Submission)

	steps, _ := agent.ReadJournal(filepath.Join(folder, "task-1.jsonl"))
	file, _ := os.Create(filepath.Join(folder, "task-1.traj.json"))
	defer file.Close()
	fmt.Println(agent.WriteTrajectory(file, steps))
	// Output:
	// Submitted 2
	// -a - b
	// +a + b
	// <nil>
}

// twoSteps is a model that makes a patch and hands it in.
type twoSteps struct{ n int }

func (m *twoSteps) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	command := `printf -- '-a - b\\n+a + b\\n' > patch.txt`
	if m.n++; m.n > 1 {
		command = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && cat patch.txt"
	}
	call := map[string]string{"name": "bash", "arguments": `{"command":"` + command + `"}`}
	message := map[string]any{"role": "assistant", "content": "", "tool_calls": []any{map[string]any{"id": "call", "type": "function", "function": call}}}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"index": 0, "finish_reason": "tool_calls", "message": message}}})
}
