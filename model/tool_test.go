package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/homing-go/homing/model"
	"github.com/stretchr/testify/require"
)

type lampInput struct {
	Room  string   `json:"room" jsonschema:"which room"`
	Level *int     `json:"level,omitempty"`
	Tags  []string `json:"tags,omitempty"`
}

func lamp(t *testing.T, calls *[]lampInput) model.Tool {
	t.Helper()
	tool, err := model.NewTool("lamp", "Set a lamp.", func(_ context.Context, in lampInput) (string, error) {
		*calls = append(*calls, in)
		if in.Room == "cellar" {
			return "dark", errors.New("no lamp there")
		}
		return "set " + in.Room, nil
	})
	require.NoError(t, err)
	return tool
}

func TestNewToolSchema(t *testing.T) {
	t.Parallel()
	tool := lamp(t, new([]lampInput))
	def := tool.Def()
	var schema struct {
		Type                 string
		Required             []string
		Properties           map[string]json.RawMessage
		AdditionalProperties json.RawMessage
	}
	require.NoError(t, json.Unmarshal(def.Parameters, &schema))
	require.Equal(t, "object", schema.Type)
	require.Equal(t, []string{"room"}, schema.Required)
	require.Len(t, schema.Properties, 3)

	_, err := model.NewTool("text", "", func(context.Context, string) (string, error) { return "", nil })
	require.ErrorContains(t, err, "must be a struct")
	_, err = model.NewTool("f", "", func(context.Context, struct{ C chan int }) (string, error) { return "", nil })
	require.Error(t, err)
	_, err = model.NewTool("", "", func(context.Context, lampInput) (string, error) { return "", nil })
	require.ErrorContains(t, err, "no name")
}

func TestToolArguments(t *testing.T) {
	t.Parallel()
	var calls []lampInput
	tool := lamp(t, &calls)
	text, err := tool.Call(context.Background(), json.RawMessage(`{"room":"hall","level":3}`))
	require.NoError(t, err)
	require.Equal(t, "set hall", text)
	require.Equal(t, []lampInput{{Room: "hall", Level: new(3)}}, calls)
	for _, bad := range []string{``, `{}`, `{"room":1}`, `{"room":"hall","level":1.5}`, `{"room":"hall","other":1}`, `[]`, `null`, `{"room":"hall"} x`, `{`} {
		_, err := tool.Call(context.Background(), json.RawMessage(bad))
		var argument *model.ArgumentError
		require.ErrorAs(t, err, &argument, bad)
		require.Equal(t, "lamp", argument.Tool)
	}
	require.Len(t, calls, 1)
}

func TestToolboxResults(t *testing.T) {
	t.Parallel()
	var calls []lampInput
	box, err := model.NewToolbox(lamp(t, &calls))
	require.NoError(t, err)
	call := func(id, name, arguments string) model.ToolCall {
		return model.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(arguments)}
	}
	contents := func(messages []model.Message) (all []string) {
		for _, m := range messages {
			var v struct {
				Content string
				ID      string `json:"tool_call_id"`
			}
			require.NoError(t, json.Unmarshal(m.JSON(), &v))
			all = append(all, v.ID+": "+v.Content)
		}
		return all
	}
	results, err := box.Results(context.Background(), []model.ToolCall{call("1", "lamp", `{"room":"hall"}`), call("2", "lamp", `{"room":"cellar"}`), call("3", "lamp", `{}`)})
	require.NoError(t, err)
	texts := contents(results)
	require.Equal(t, []string{"1: set hall", "2: dark\nerror: no lamp there"}, texts[:2])
	require.Contains(t, texts[2], `3: error: the arguments of "lamp" do not fit`)
	require.Len(t, calls, 2)

	broken := call("2", "lamp", `{`)
	broken.Err = errors.New("no valid JSON")
	results, err = box.Results(context.Background(), []model.ToolCall{call("1", "lamp", `{"room":"hall"}`), broken, call("3", "light", `{}`)})
	require.NoError(t, err)
	require.Equal(t, []string{
		"1: error: not carried out, because another call of this answer was refused",
		"2: error: no valid JSON",
		`3: error: there is no tool "light"; there is: lamp`,
	}, contents(results))
	require.Len(t, calls, 2)

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = box.Results(ctx, []model.ToolCall{call("1", "lamp", `{"room":"hall"}`)})
	require.ErrorIs(t, err, context.Canceled)
	_, err = model.NewToolbox(lamp(t, &calls), lamp(t, &calls))
	require.ErrorContains(t, err, "two tools")
}

func ExampleNewTool() {
	type input struct {
		Path string `json:"path" jsonschema:"file to count"`
	}
	tool, err := model.NewTool("count", "Count the lines of a file.", func(_ context.Context, in input) (string, error) {
		return fmt.Sprintf("%s has 12 lines", in.Path), nil
	})
	if err != nil {
		panic(err)
	}
	box, err := model.NewToolbox(tool)
	if err != nil {
		panic(err)
	}
	results, err := box.Results(context.Background(), []model.ToolCall{{ID: "1", Name: "count", Arguments: json.RawMessage(`{"path":"a.go"}`)}})
	if err != nil {
		panic(err)
	}
	fmt.Println(string(results[0].JSON()))
	// Output: {"role":"tool","tool_call_id":"1","content":"a.go has 12 lines"}
}

// One tool that panics does not end the program.
func TestToolPanics(t *testing.T) {
	t.Parallel()
	tool, err := model.NewTool("bad", "", func(context.Context, struct{}) (string, error) { panic("boom") })
	require.NoError(t, err)
	_, err = tool.Call(context.Background(), nil)
	require.ErrorContains(t, err, `the tool "bad" panicked: boom`)
	_, err = model.NewTool[struct{}]("none", "", nil)
	require.ErrorContains(t, err, "function is nil")
	_, err = model.RawTool(model.ToolDef{Name: "none"}, nil)
	require.ErrorContains(t, err, "function is nil")
}
