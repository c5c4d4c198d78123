package qwen_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/homing-go/homing/internal/need"
	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/qwen"
	"github.com/stretchr/testify/require"
)

type translateInput struct {
	Call struct {
		ID        string `json:"id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"call"`
	Expand map[string]struct {
		Text  string `json:"text"`
		Count int    `json:"count"`
	} `json:"expand"`
	Fixture *fixture `json:"fixture"`
}

type translateExpect struct {
	Error    nullable[string] `json:"error"`
	Param    string           `json:"param"`
	Action   *wantAction      `json:"action"`
	Repairs  *[]string        `json:"repairs"`
	Run      *wantRun         `json:"run"`
	Upstream json.RawMessage  `json:"upstream"`
	Same     bool             `json:"same_as_upstream"`
	Better   string           `json:"better"`
}

type wantAction struct {
	Op           string   `json:"op"`
	Command      *string  `json:"command"`
	CommandBytes *int     `json:"command_bytes"`
	Path         *string  `json:"path"`
	Start        int      `json:"start"`
	End          int      `json:"end"`
	Old          *string  `json:"old"`
	OldBytes     *int     `json:"old_bytes"`
	New          *string  `json:"new"`
	NewBytes     *int     `json:"new_bytes"`
	Content      *string  `json:"content"`
	ContentBytes *int     `json:"content_bytes"`
	Paths        []string `json:"paths"`
}

var testbed = regexp.MustCompile(`(^|[^A-Za-z0-9_./-])/testbed`)

func runTranslateCase(t *testing.T, c oneCase, _ map[string]*model.Tools) {
	var want translateExpect
	strict(t, c.Expect, &want)
	var tools qwen.Toolset
	if want.Run != nil {
		need.Programs(t, "sh", "git")
		tools.Root = newRoot(t)
		move := func(raw []byte) []byte { return testbed.ReplaceAll(raw, []byte("${1}"+tools.Root)) }
		c.Input = move(c.Input)
		want = translateExpect{}
		strict(t, move(c.Expect), &want)
	}
	var input translateInput
	strict(t, c.Input, &input)
	arguments := input.Call.Arguments
	for name, e := range input.Expand {
		quoted := rawjson.AppendQuoted(nil, strings.Repeat(e.Text, e.Count))
		arguments = strings.ReplaceAll(arguments, "${"+name+"}", string(quoted[1:len(quoted)-1]))
	}
	req := &model.Request{Tools: tools.Tools(), Messages: userTurn().Snapshot()}
	reader := qwen.NewDialect(qwen.Options{}).NewReader(req)
	raw := must(json.Marshal(map[string]any{"role": "assistant", "content": "", "tool_calls": []any{map[string]any{
		"id": input.Call.ID, "type": "function", "function": map[string]any{"name": input.Call.Name, "arguments": arguments},
	}}}))
	require.NoError(t, reader.Message(raw))
	res, err := reader.Finish("tool_calls", true)
	require.NoError(t, err)
	actions, err := tools.Actions(res)
	if want.Error.value != "" {
		require.Error(t, err)
		require.Equal(t, want.Error.value, string(qwen.KindOf(err)), "%v", err)
		var format *qwen.FormatError
		require.ErrorAs(t, err, &format)
		if want.Param != "" {
			require.Equal(t, want.Param, format.Calls[0].Param, "%v", err)
		}
		require.Nil(t, want.Run)
		return
	}
	require.NoError(t, err)
	require.Len(t, actions, 1)
	require.Equal(t, input.Call.ID, actions[0].ID())
	if want.Action != nil {
		want.Action.check(t, actions[0])
	}
	if want.Repairs != nil {
		checkRepairs(t, *want.Repairs, res)
	}
	if want.Run != nil {
		want.Run.check(t, tools.Root, input.Fixture, actions[0])
	}
}

func (w *wantAction) check(t *testing.T, action qwen.Action) {
	t.Helper()
	text := func(want *string, size *int, got string) {
		t.Helper()
		if want != nil {
			require.Equal(t, *want, got)
		}
		if size != nil {
			require.Len(t, got, *size)
		}
	}
	switch a := action.(type) {
	case qwen.Exec:
		require.Equal(t, "exec", w.Op)
		text(w.Command, w.CommandBytes, a.Command)
	case qwen.View:
		require.Equal(t, "view", w.Op)
		text(w.Path, nil, a.Path)
		require.Equal(t, [2]int{w.Start, w.End}, [2]int{a.Start, a.End})
	case qwen.Edit:
		require.Equal(t, "edit", w.Op)
		text(w.Path, nil, a.Path)
		text(w.Old, w.OldBytes, a.Old)
		text(w.New, w.NewBytes, a.New)
	case qwen.Write:
		require.Equal(t, "write", w.Op)
		text(w.Path, nil, a.Path)
		text(w.Content, w.ContentBytes, a.Content)
	case qwen.Submit:
		require.Equal(t, "submit", w.Op)
		require.Equal(t, w.Paths, a.Paths)
	default:
		require.Failf(t, "unknown action", "%T", action)
	}
}
