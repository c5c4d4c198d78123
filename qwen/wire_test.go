package qwen_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/model/modeltest"
	"github.com/homing-go/homing/qwen"
	"github.com/homing-go/homing/routing"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"
)

// The Qwen client keeps what every client of this module promises.
func TestConformance(t *testing.T) {
	t.Parallel()
	modeltest.Conformance(t, func(t *testing.T, url string, c routing.Carrier) model.Client {
		client, err := qwen.New(qwen.Config{Config: model.Config{BaseURL: url, Model: "qwen", Carrier: c}})
		require.NoError(t, err)
		return client
	})
}

// script is what the server answers to one trajectory, whatever the other one does.
func script() []modeltest.Step {
	say := func(message string) modeltest.Step { return modeltest.Message(json.RawMessage(message)) }
	return []modeltest.Step{
		say(`{"role":"assistant","content":"Look.","reasoning":"plan","tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{\"command\": \"ls\"}"}}]}`),
		modeltest.Status(500, nil, `{"error":{"message":"out of order"}}`),
		say(`{"role":"assistant","content":null,"tool_calls":[{"id":"","type":"function","function":{"name":"str_replace_editor","arguments":"{\"command\": \"view\", \"path\": \"a.py\"}"}}]}`),
		say(`{"role":"assistant","content":"","tool_calls":[{"id":"c3","type":"function","function":{"name":"bash","arguments":"{\"command\": \"echo \"a\"\"}"}}]}`),
		say(`{"role":"assistant","content":"Again.\n<tool_call>\n<function=bash>\n<parameter=command>\nls -la\n</parameter>\n</function>\n</tool_call>"}`),
		say(`{"role":"assistant","content":"All is done."}`),
		say(`{"role":"assistant","content":"","tool_calls":[{"id":"c6","type":"function","function":{"name":"finish","arguments":"{\"files_modified\": [\"a.py\"]}"}}]}`),
	}
}

// Every request of a trajectory carries the trajectory's session and no other: plain and
// streamed, under the default name and under others, on a retry, behind a format error,
// behind a call recovered from the text, and behind an answer without a call.
func TestQwenSendsSessionHeaders(t *testing.T) {
	t.Parallel()
	for name, names := range map[string][]string{"default": nil, "custom": {"X-SMG-Routing-Key", "x-conversation"}} {
		for _, way := range []string{"plain", "stream"} {
			for _, made := range []string{"New", "Wrap"} {
				t.Run(name+" "+way+" "+made, func(t *testing.T) {
					t.Parallel()
					checkSessionHeaders(t, names, way == "stream", made == "Wrap")
				})
			}
		}
	}
}

func checkSessionHeaders(t *testing.T, names []string, stream, wrap bool) {
	t.Helper()
	var mu sync.Mutex
	steps := map[string][]modeltest.Step{}
	server := modeltest.NewServerFunc(t, func(r modeltest.Recorded) modeltest.Step {
		mu.Lock()
		defer mu.Unlock()
		task := "first"
		if r.Contains("second task") {
			task = "second"
		}
		if steps[task] == nil {
			steps[task] = script()
		}
		step := steps[task][0]
		steps[task] = append(steps[task][1:], modeltest.Reply("over"))
		return step
	})
	cfg := qwen.Config{Config: model.Config{BaseURL: server.URL(), Model: "qwen", Retry: model.Retry{MinWait: time.Millisecond}}}
	want := []string{routing.DefaultHeader}
	if names != nil {
		cfg.Carrier, want = must(routing.Header(names...)), names
	}
	client, err := qwen.New(cfg)
	if wrap {
		cfg.BaseURL = ""
		client, err = qwen.Wrap(openai.Client{Options: []option.RequestOption{option.WithBaseURL(server.URL())}}, cfg)
	}
	require.NoError(t, err)
	t.Cleanup(client.CloseIdleConnections)

	var tools qwen.Toolset
	ids := map[string]routing.ID{}
	var all sync.WaitGroup
	for _, task := range []string{"first task", "second task"} {
		session := routing.NewSession(routing.NewID())
		ids[task] = session.ID
		trajectory := model.NewTrajectory(client, session, model.System("You fix bugs."))
		trajectory.Tools = tools.Tools()
		all.Go(func() { runScript(t, trajectory, tools, task, stream) })
	}
	all.Wait()
	perTask := map[string]int{}
	for _, r := range server.Requests() {
		task := "first task"
		if r.Contains("second task") {
			task = "second task"
		}
		perTask[task]++
		for _, header := range want {
			require.Equal(t, []string{header + ": " + string(ids[task])}, r.Named(header), "request %d of the %s", perTask[task], task)
		}
		require.JSONEq(t, string(tools.Tools().JSON()), string(rawjson.Get(r.Body, "tools")))
	}
	require.Equal(t, map[string]int{"first task": 7, "second task": 7}, perTask)
}

// runScript plays one trajectory to its end.
func runScript(t *testing.T, trajectory *model.Trajectory, tools qwen.Toolset, task string, stream bool) {
	messages := []model.Message{model.User(task)}
	var kinds []qwen.Kind
	for range 6 {
		send := trajectory.Send
		if stream {
			send = func(ctx context.Context, ms ...model.Message) (*model.Response, error) {
				return trajectory.Stream(ctx, ms...).Response()
			}
		}
		res, err := send(t.Context(), messages...)
		if !check(t, err == nil, "%v", err) {
			return
		}
		actions, err := tools.Actions(res)
		var format *qwen.FormatError
		switch {
		case errors.As(err, &format):
			kinds = append(kinds, format.Kind)
			messages = format.Messages
		case len(actions) == 1:
			if _, done := actions[0].(qwen.Submit); done {
				check(t, len(kinds) == 2 && kinds[0] == qwen.KindBadJSON && kinds[1] == qwen.KindNoToolCall, "format errors %v", kinds)
				return
			}
			messages = qwen.Observations(actions, []qwen.Result{{Output: []byte("a.py\n")}})
		}
	}
	check(t, false, "the trajectory does not end; format errors %v", kinds)
}

// check is for goroutines that are not the test's own.
func check(t *testing.T, ok bool, format string, args ...any) bool {
	if !ok {
		t.Errorf(format, args...)
	}
	return ok
}

// A trajectory's history only grows at its end, and its calls are structured there,
// whatever form they came in.
func TestHistoryIsClean(t *testing.T) {
	t.Parallel()
	steps := script()
	server := modeltest.NewServer(t, append(steps[:1:1], steps[2:]...)...)
	client, err := qwen.New(qwen.Config{Config: model.Config{BaseURL: server.URL(), Model: "qwen"}})
	require.NoError(t, err)
	t.Cleanup(client.CloseIdleConnections)
	var tools qwen.Toolset
	trajectory := model.NewTrajectory(client, routing.NewSession(routing.NewID()), model.System("You fix bugs."))
	trajectory.Tools = tools.Tools()
	runScript(t, trajectory, tools, "task", false)
	var before string
	for _, r := range server.Requests() {
		messages := string(rawjson.Get(r.Body, "messages"))
		require.True(t, strings.HasPrefix(messages, strings.TrimSuffix(before, "]")), "the history changed:\n%s\n%s", before, messages)
		before = messages
	}
	require.NotContains(t, before, "<tool_call>")
	require.NotContains(t, before, `"tool_calls":[]`)
	require.Contains(t, before, `"reasoning_content":"plan","reasoning":"plan"`)
	require.Equal(t, 4, strings.Count(before, `"role":"tool"`), "one tool message for each call")
	history := []model.Message{}
	for e := rawjson.Elements([]byte(before)); e.Next(); {
		history = append(history, must(model.Raw(e.Value)))
	}
	again, err := qwen.Replay(history, tools.Tools(), qwen.Options{})
	require.NoError(t, err)
	require.Equal(t, history, again, "what the client keeps needs no replay")
}

// The settings that both sides fix are refused by name.
func TestConfigErrors(t *testing.T) {
	t.Parallel()
	for field, cfg := range map[string]qwen.Config{
		"Dialect": {Config: model.Config{BaseURL: "http://localhost", Model: "m", Dialect: model.OpenAI{}}},
		"Server":  {Config: model.Config{BaseURL: "http://localhost", Model: "m"}, Options: qwen.Options{Server: "other"}},
		"BaseURL": {Config: model.Config{Model: "m"}},
	} {
		_, err := qwen.New(cfg)
		var e *model.ConfigError
		require.ErrorAs(t, err, &e)
		require.Equal(t, field, e.Field)
		if field != "BaseURL" {
			_, err = qwen.Wrap(openai.Client{}, cfg)
			require.ErrorAs(t, err, &e)
			require.Equal(t, field, e.Field)
		}
	}
	_, err := qwen.Wrap(openai.Client{}, qwen.Config{})
	require.Error(t, err)
}
