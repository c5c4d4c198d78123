package modeltest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/model/modeltest"
	"github.com/homing-go/homing/routing"
)

// t stands for the test's own in the examples.
var t *testing.T

// A test of one's own client type is one call.
func ExampleConformance() {
	modeltest.Conformance(t, func(t *testing.T, url string, c routing.Carrier) model.Client {
		client, err := model.New(model.Config{BaseURL: url, Model: "m", Carrier: c, Retry: model.Retry{MinWait: time.Millisecond}})
		if err != nil {
			t.Fatal(err)
		}
		return client
	})
}

// A server that fails once, and what the client sends it.
func ExampleNewServer() {
	t := new(fakeT) // in a test: its own
	defer t.end()

	s := modeltest.NewServer(t, modeltest.Status(500, nil, ""), modeltest.Reply("hello"))
	client, err := model.New(model.Config{BaseURL: s.URL(), Model: "m", Retry: model.Retry{MinWait: time.Millisecond}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.CloseIdleConnections()

	run := model.NewTrajectory(client, routing.NewSession(routing.Derive("run-1", "task-1")))
	res, err := run.Send(t.Context(), model.User("hi"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Text)
	for _, r := range s.Requests() {
		fmt.Println(r, strings.Join(r.Named("X-Session-ID"), "\n"))
	}
	// Output:
	// hello
	// POST /v1/chat/completions X-Session-ID: 465657ab59cd5e9d920119c3f85e8100
	// POST /v1/chat/completions X-Session-ID: 465657ab59cd5e9d920119c3f85e8100
}

// A server that answers by what is in the request.
func ExampleNewServerFunc() {
	t := new(fakeT) // in a test: its own
	defer t.end()

	s := modeltest.NewServerFunc(t, func(r modeltest.Recorded) modeltest.Step {
		if r.Contains(`"role":"tool"`) {
			return modeltest.Reply("one file")
		}
		return modeltest.ToolCall("sh", `{"command":"ls"}`)
	})
	client, err := model.New(model.Config{BaseURL: s.URL(), Model: "m"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.CloseIdleConnections()

	run := model.NewTrajectory(client, routing.NewSession(routing.NewID()))
	res, err := run.Send(t.Context(), model.User("What is here?"))
	for err == nil && len(res.ToolCalls) > 0 {
		call := res.ToolCalls[0]
		fmt.Println(call.Name, string(call.Arguments))
		res, err = run.Send(t.Context(), model.ToolResult(call.ID, "a.go"))
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Text)
	// Output:
	// sh {"command":"ls"}
	// one file
}
