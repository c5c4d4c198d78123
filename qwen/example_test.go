package qwen_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/qwen"
	"github.com/homing-go/homing/routing"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// scripted is a server that gives one answer after the other.
func scripted(messages ...string) *httptest.Server {
	n := 0
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"choices":[{"index":0,"message":%s,"finish_reason":"stop"}]}`, messages[n])
		n++
	}))
}

// An agent with two tools of its own. The server leaves the first call in the text, which
// makes no difference to the agent.
func Example() {
	server := scripted(
		`{"role":"assistant","content":"I ask.\n<tool_call>\n<function=weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n2\n</parameter>\n</function>\n</tool_call>"}`,
		`{"role":"assistant","content":"","tool_calls":[{"id":"c2","type":"function","function":{"name":"note","arguments":"{\"text\": \"Take a coat.\"}"}}]}`,
		`{"role":"assistant","content":"Noted: take a coat."}`,
	)
	defer server.Close()

	type weatherArgs struct {
		City string `json:"city" jsonschema:"name of the city"`
		Days int    `json:"days,omitempty" jsonschema:"how many days ahead"`
	}
	weather, err := model.NewTool("weather", "Tells the weather.", func(_ context.Context, in weatherArgs) (string, error) {
		return fmt.Sprintf("snow in %s for %d days", in.City, in.Days), nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	type noteArgs struct {
		Text string `json:"text"`
	}
	note, err := model.NewTool("note", "Keeps a note.", func(_ context.Context, in noteArgs) (string, error) {
		fmt.Println("note:", in.Text)
		return "kept", nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	box, err := model.NewToolbox(weather, note)
	if err != nil {
		fmt.Println(err)
		return
	}

	client, err := qwen.New(qwen.Config{Config: model.Config{BaseURL: server.URL, Model: "qwen"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.CloseIdleConnections()
	trajectory := model.NewTrajectory(client, routing.NewSession(routing.NewID()), model.System("You help."))
	for step, err := range model.Run(context.Background(), trajectory, box, model.RunConfig{}, model.User("What do I wear in Oslo?")) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s (%d calls)\n", step.Response.Text, len(step.Response.ToolCalls))
	}
	// Output:
	// I ask. (1 calls)
	// note: Take a coat.
	//  (1 calls)
	// Noted: take a coat. (0 calls)
}

// A loop of a SWE-bench agent: actions are carried out, unsound answers are answered.
func ExampleToolset() {
	server := scripted(
		`{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{\"cmd\": \"ls\"}"}}]}`,
		`{"role":"assistant","content":"","tool_calls":[{"id":"c2","type":"function","function":{"name":"bash","arguments":"{\"command\": \"echo hello\"}"}}]}`,
	)
	defer server.Close()
	client, err := qwen.New(qwen.Config{Config: model.Config{BaseURL: server.URL, Model: "qwen"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.CloseIdleConnections()

	ctx := context.Background()
	root, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(root)
	tools := qwen.Toolset{Root: root}
	executor, err := qwen.NewExecutor(ctx, qwen.Local{}, qwen.ExecutorConfig{Root: root})
	if err != nil {
		fmt.Println(err)
		return
	}
	trajectory := model.NewTrajectory(client, routing.NewSession(routing.NewID()), model.System("You fix bugs."))
	trajectory.Tools = tools.Tools()
	messages := []model.Message{model.User("Fix the bug.")}
	for range 2 {
		res, err := trajectory.Send(ctx, messages...)
		if err != nil {
			fmt.Println(err)
			return
		}
		actions, err := tools.Actions(res)
		var format *qwen.FormatError
		if errors.As(err, &format) {
			fmt.Println(format)
			messages = format.Messages
			continue
		}
		var results []qwen.Result
		for _, action := range actions {
			result, err := executor.Execute(ctx, action)
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Printf("%s", result.Output)
			if results = append(results, result); result.Submission != nil {
				break
			}
		}
		messages = qwen.Observations(actions, results)
	}
	// Output:
	// missing_param in bash, parameter "command": "command" is required; the call has only cmd
	// hello
}

// The thinking switches and the sampling of a model card.
func ExampleProfile() {
	options, err := qwen.Profile("qwen3.6-code")
	if err != nil {
		fmt.Println(err)
		return
	}
	keep := true
	options.PreserveThinking = &keep
	client, err := qwen.New(qwen.Config{Config: model.Config{BaseURL: "http://localhost:8000/v1", Model: "qwen"}, Options: options})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.CloseIdleConnections()
	fmt.Println(*options.Params.Temperature, *options.Params.TopP, *options.Params.TopK)
	// Output: 0.6 0.95 20
}

// An existing client of the SDK, with its own transport and keys.
func ExampleWrap() {
	api := openai.Client{Options: []option.RequestOption{option.WithBaseURL("http://localhost:8000/v1")}}
	client, err := qwen.Wrap(api, qwen.Config{Config: model.Config{Model: "qwen"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.CloseIdleConnections()
}

// A history from elsewhere, brought into the form that the chat templates take.
func ExampleReplay() {
	broken, _ := model.Raw([]byte(`{"role":"assistant","content":null,"reasoning":"look first","tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":{"command":"ls"}}}]}`))
	result, _ := model.Raw([]byte(`{"role":"tool","tool_call_id":"c1","content":["a.py"]}`))
	history, err := qwen.Replay([]model.Message{model.User("Fix the bug."), broken, result}, nil, qwen.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range history {
		fmt.Printf("%s\n", m.JSON())
	}
	// Output:
	// {"role":"user","content":"Fix the bug."}
	// {"role":"assistant","content":"","reasoning_content":"look first","reasoning":"look first","tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}]}
	// {"role":"tool","tool_call_id":"c1","content":"[\"a.py\"]"}
}

// An answer of any client, checked against the tools that were offered.
func ExampleCheck() {
	tools := qwen.Toolset{}.Tools()
	err := qwen.Check(&model.Response{Text: "All is done.", Finish: model.FinishStop}, tools)
	fmt.Println(err)
	fmt.Println(errors.Is(err, qwen.KindNoToolCall))
	// Output:
	// no_tool_call: your response has no tool call. Every response must call at least one of the tools: bash, finish, str_replace_editor
	// true
}

// Actions as shell commands, for a harness that can do nothing else.
func ExampleRender() {
	for _, command := range qwen.Render(qwen.View{Path: "/testbed/my file.py", Start: 3, End: -1}, "") {
		fmt.Println(command)
	}
	// Output: awk 'NR>=3 {printf "%6d\t%s\n", NR, $0}' '/testbed/my file.py'
}
