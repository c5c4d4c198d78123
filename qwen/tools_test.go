package qwen_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/qwen"
	"github.com/stretchr/testify/require"
)

// Another name of the repository stands for its folder in the paths of finish and of the
// editor, and nothing else of that name does.
func TestAlias(t *testing.T) {
	t.Parallel()
	set := qwen.Toolset{Root: "/tmp/copy", Alias: "/testbed/"}
	for name, want := range map[string]string{
		"/testbed/a b.py": "/tmp/copy/a b.py", "/testbed": "/tmp/copy", "/testbed2/a": "/testbed2/a", "/tmp/copy/testbed/x": "/tmp/copy/testbed/x",
		"testbed/x": "/tmp/copy/testbed/x", "/other": "/other",
	} {
		actions, err := set.Actions(&model.Response{ToolCalls: []model.ToolCall{call("str_replace_editor", fmt.Sprintf(`{"command":"view","path":%q}`, name))}})
		require.NoError(t, err)
		require.Equal(t, []qwen.Action{qwen.View{CallID: "c", Path: want}}, actions, name)
	}
	for name, want := range map[string]string{"/testbed/a b.py": "a b.py", "/testbed/./x/../y": "y", "/tmp/copy/y": "y", "y": "y"} {
		actions, err := set.Actions(&model.Response{ToolCalls: []model.ToolCall{call("finish", fmt.Sprintf(`{"files_modified":[%q]}`, name))}})
		require.NoError(t, err)
		require.Equal(t, []qwen.Action{qwen.Submit{CallID: "c", Paths: []string{want}}}, actions, name)
	}
	for _, name := range []string{"/testbed/../x", "/testbed", "/testbed2/x", "/testbed/.git/config"} {
		_, err := set.Actions(&model.Response{ToolCalls: []model.ToolCall{call("finish", fmt.Sprintf(`{"files_modified":[%q]}`, name))}})
		require.ErrorIs(t, err, qwen.KindBadValue, name)
	}
}

// call is a call as any client may return it.
func call(name, arguments string) model.ToolCall {
	return model.ToolCall{ID: "c", Name: name, Arguments: []byte(arguments)}
}

// One call becomes one typed action, or a refusal that names the parameter; what the call
// says is checked whatever client read it.
func TestActions(t *testing.T) {
	t.Parallel()
	set := qwen.Toolset{Root: "/repo/", MaxPayload: 40}
	long := strings.Repeat("x", 41)
	for _, test := range []struct {
		call model.ToolCall
		want any // the action, or "kind param"
	}{
		{call("bash", `{"command":" ls\n"}`), qwen.Exec{"c", " ls\n"}},
		{call("bash", `{"command":""}`), "bad_value command"},
		{call("bash", `{"command":"`+long+`"}`), "too_large command"},
		{call("bash", ``), "missing_param command"},
		{call("bash", `{"command":"a"`), "incomplete_args "},
		{call("BASH", `{"command":"a"}`), "unknown_tool "},
		{call("str_replace_editor", `{"command":"view","path":"a"}`), qwen.View{"c", "/repo/a", 0, 0}},
		{call("str_replace_editor", `{"command":"view","path":".//./a/../b"}`), qwen.View{"c", "/repo/a/../b", 0, 0}},
		{call("str_replace_editor", `{"command":"view","path":"."}`), qwen.View{"c", "/repo", 0, 0}},
		{call("str_replace_editor", `{"command":"view","path":"../a"}`), qwen.View{"c", "/repo/../a", 0, 0}},
		{call("str_replace_editor", `{"command":"view","path":" a "}`), qwen.View{"c", "/repo/ a ", 0, 0}},
		{call("str_replace_editor", `{"command":"view","path":"a\nb","view_range":null}`), qwen.View{"c", "/repo/a\nb", 0, 0}},
		{call("str_replace_editor", `{"command":"view","path":"a","view_range":[0, 7.0]}`), qwen.View{"c", "/repo/a", 1, 7}},
		{call("str_replace_editor", `{"command":"view","path":"a","view_range":"[\"2\", -1]"}`), qwen.View{"c", "/repo/a", 2, -1}},
		{call("str_replace_editor", `{"command":"view","path":"a","view_range":[]}`), "bad_type view_range"},
		{call("str_replace_editor", `{"command":"view","path":"a","view_range":[1]}`), "bad_type view_range"},
		{call("str_replace_editor", `{"command":"view","path":"a","view_range":[true, 5]}`), "bad_type view_range"},
		{call("str_replace_editor", `{"command":"view","path":"a","view_range":{"start":1}}`), "bad_type view_range"},
		{call("str_replace_editor", `{"command":"view","path":"a","view_range":[-1, 5]}`), "bad_value view_range"},
		{call("str_replace_editor", `{"command":"view","path":"a","view_range":[1, -2]}`), "bad_value view_range"},
		{call("str_replace_editor", `{"command":"view","path":"a","view_range":[0, 0]}`), "bad_value view_range"},
		{call("str_replace_editor", `{"command":"view","path":"a","view_range":[1, 1e30]}`), "bad_value view_range"},
		{call("str_replace_editor", `{"command":"view","path":"a\u0000"}`), "bad_value path"},
		{call("str_replace_editor", `{"command":"view","path":7}`), "bad_type path"},
		{call("str_replace_editor", `{"command":"View","path":"a"}`), "bad_value command"},
		{call("str_replace_editor", `{"command":"create","path":"/a","new_str":""}`), qwen.Write{"c", "/a", ""}},
		{call("str_replace_editor", `{"command":"create","path":"a","file_text":"x\u0000"}`), qwen.Write{"c", "/repo/a", "x\x00"}},
		{call("str_replace_editor", `{"command":"create","path":"a"}`), "missing_param new_str"},
		{call("str_replace_editor", `{"command":"create","path":"a","file_text":null}`), "bad_type file_text"},
		{call("str_replace_editor", `{"command":"create","path":"a","new_str":"`+long+`"}`), "too_large new_str"},
		{call("str_replace_editor", `{"command":"create","path":"a","new_str":"\ud83d"}`), "bad_value new_str"},
		{call("str_replace_editor", `{"command":"str_replace","path":"a","old_str":" x","new_str":"é\n"}`), qwen.Edit{"c", "/repo/a", " x", "é\n"}},
		{call("str_replace_editor", `{"command":"str_replace","path":"a","new_str":"y"}`), "missing_param old_str"},
		{call("str_replace_editor", `{"command":"str_replace","path":"a","old_str":null}`), "bad_type old_str"},
		{call("str_replace_editor", `{"command":"str_replace","path":"a","old_str":"x","new_str":null}`), "bad_type new_str"},
		{call("str_replace_editor", `{"command":"insert","path":"a"}`), "bad_value command"},
		{call("finish", `{"files_modified":["/repo//b/./c","b/c","d/","./e"]}`), qwen.Submit{"c", []string{"b/c", "d", "e"}}},
		{call("finish", `{"files_modified":["/repository/a"]}`), "bad_value files_modified"},
		{call("finish", `{"files_modified":["a/../.."]}`), "bad_value files_modified"},
		{call("finish", `{"files_modified":["a/.."]}`), "bad_value files_modified"},
		{call("finish", `{"files_modified":["/"]}`), "bad_value files_modified"},
		{call("finish", `{"files_modified":[".git/config"]}`), "bad_value files_modified"},
		{call("finish", `{"files_modified":["a\u0000"]}`), "bad_value files_modified"},
		{call("finish", `{"files_modified":"a"}`), "bad_type files_modified"},
		{call("finish", `{"files_modified":""}`), "bad_type files_modified"},
		{call("finish", `{"files_modified":["a", 1]}`), "bad_type files_modified"},
	} {
		actions, err := set.Actions(&model.Response{ToolCalls: []model.ToolCall{test.call}})
		name := test.call.Name + string(test.call.Arguments)
		var format *qwen.FormatError
		if errors.As(err, &format) {
			require.Equal(t, test.want, string(format.Kind)+" "+format.Calls[0].Param, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, []qwen.Action{test.want.(qwen.Action)}, actions, name)
		require.Equal(t, "c", actions[0].ID())
	}
}

// Paths are arguments of processes, so they may not be long: that is the model's fault and
// not the sandbox's.
func TestLongPaths(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range 15_000 {
		fmt.Fprintf(&many, `, "src/%d"`, i)
	}
	long := strings.Repeat("a/", 70_000)
	for want, c := range map[string]model.ToolCall{
		"bad_value path":           call("str_replace_editor", `{"command":"view","path":"`+long+`"}`),
		"bad_value files_modified": call("finish", `{"files_modified":["`+long+`"]}`),
		"too_large files_modified": call("finish", `{"files_modified":["a"`+many.String()+`]}`),
	} {
		_, err := qwen.Toolset{}.Actions(&model.Response{ToolCalls: []model.ToolCall{c}})
		var format *qwen.FormatError
		require.ErrorAs(t, err, &format)
		require.Equal(t, want, string(format.Kind)+" "+format.Calls[0].Param)
		require.Less(t, len(format.Error()), 300)
	}
}

// One unsound call refuses the whole answer: every call gets one message, in order, and
// the others are told that they were not run.
func TestAllOrNothing(t *testing.T) {
	t.Parallel()
	res := &model.Response{ToolCalls: []model.ToolCall{
		{ID: "a", Name: "bash", Arguments: []byte(`{"command":"ls"}`)},
		{ID: "b", Name: "bash", Arguments: []byte(`{}`), Err: errors.New("of another client")},
		{ID: "c", Name: "finish", Arguments: []byte(`{"files_modified":["/etc/passwd"]}`)},
	}}
	_, err := qwen.Toolset{}.Actions(res)
	var format *qwen.FormatError
	require.ErrorAs(t, err, &format)
	require.ErrorIs(t, err, qwen.KindBadValue)
	require.Len(t, format.Calls, 2)
	checkReport(t, res, err)
	contents := make([]string, len(format.Messages))
	for i, m := range format.Messages {
		contents[i] = rawjson.Text(rawjson.Get(m.JSON(), "content"))
	}
	require.Contains(t, contents[0], "not run")
	require.Contains(t, contents[1], "of another client")
	require.Contains(t, contents[2], "/etc/passwd")
	require.Equal(t, "user", format.UserMessage().Role())
	require.Contains(t, string(format.UserMessage().JSON()), "/etc/passwd")
}

// An answer that was cut before a call is told so, with the number of tokens; only when
// tools were offered is an answer without a call a fault.
func TestNoCall(t *testing.T) {
	t.Parallel()
	tools := qwen.Toolset{}.Tools()
	err := qwen.Check(&model.Response{Finish: model.FinishLength, Usage: model.Usage{CompletionTokens: 8192}}, tools)
	require.ErrorIs(t, err, qwen.KindTruncated)
	require.ErrorContains(t, err, "after 8192 tokens")
	require.ErrorIs(t, qwen.Check(&model.Response{Finish: model.FinishStop}, tools), qwen.KindNoToolCall)
	require.NoError(t, qwen.Check(&model.Response{Finish: model.FinishStop}, nil))
	require.NoError(t, qwen.Check(&model.Response{ToolCalls: []model.ToolCall{call("bash", `{"command":"ls"}`)}}, tools))
	require.Equal(t, qwen.KindNoToolCall, qwen.KindOf(qwen.Check(&model.Response{}, tools)))
	require.Empty(t, qwen.KindOf(errors.New("x")))
	require.Empty(t, qwen.KindOf(nil))
}

// Output is shown whole below 10,000 characters and by its two ends from there on; actions
// without a result are answered, too.
func TestObservations(t *testing.T) {
	t.Parallel()
	require.Equal(t, "<returncode>3</returncode>\n<output>\na\n</output>", qwen.Result{Output: []byte("a\n"), ExitCode: 3}.Text())
	require.Equal(t, "<exception>late</exception>\n<returncode>-1</returncode>\n<output>\n\ufffd</output>", qwen.Result{Output: []byte("\xff"), ExitCode: -1, Note: "late"}.Text())
	short := qwen.Result{Output: []byte(strings.Repeat("é", 9_999))}.Text()
	require.Contains(t, short, strings.Repeat("é", 9_999))
	exact := qwen.Result{Output: []byte(strings.Repeat("é", 10_000))}.Text()
	require.NotContains(t, exact, strings.Repeat("é", 5_001))
	require.Contains(t, exact, "\n0 characters left out\n")
	text := qwen.Result{Output: []byte(strings.Repeat("a", 5_000) + "bbb" + strings.Repeat("c", 5_000))}.Text()
	require.Contains(t, text, "</warning><output_head>\n"+strings.Repeat("a", 5_000)+"\n</output_head>")
	require.Contains(t, text, "\n3 characters left out\n")
	require.Contains(t, text, "<output_tail>\n"+strings.Repeat("c", 5_000)+"\n</output_tail>")
	require.NotContains(t, text, "bbb")

	actions := []qwen.Action{qwen.Exec{CallID: "a"}, qwen.Submit{CallID: "b"}, qwen.Exec{CallID: "c"}}
	messages := qwen.Observations(actions, []qwen.Result{{}, {}})
	require.Len(t, messages, 3)
	for i, id := range []string{"a", "b", "c"} {
		require.Equal(t, id, rawjson.Text(rawjson.Get(messages[i].JSON(), "tool_call_id")))
	}
	require.Contains(t, string(messages[2].JSON()), "not run")
}
