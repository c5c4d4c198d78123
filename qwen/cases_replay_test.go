package qwen_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/qwen"
	"github.com/stretchr/testify/require"
)

func runReplayCase(t *testing.T, c oneCase, _ map[string]*model.Tools) {
	var input struct {
		History []json.RawMessage `json:"history"`
	}
	strict(t, c.Input, &input)
	var want struct {
		Wire  []json.RawMessage `json:"wire"`
		Error nullable[string]  `json:"error"`
	}
	strict(t, c.Expect, &want)
	var history []model.Message
	for _, raw := range input.History {
		history = append(history, must(model.Raw(raw)))
	}
	got, err := qwen.Replay(history, nil, qwen.Options{})
	if want.Error.value != "" {
		require.Error(t, err)
		require.Equal(t, want.Error.value, string(qwen.KindOf(err)))
		return
	}
	require.NoError(t, err)
	require.Len(t, got, len(want.Wire))
	m := wireMatch{ids: map[string]string{}, bytes: strings.Contains(c.Note, "compare bytes"), contentJSON: strings.Contains(c.Note, "text as JSON")}
	for i := range got {
		m.message(t, want.Wire[i], got[i].JSON())
	}
	again, err := qwen.Replay(got, nil, qwen.Options{})
	require.NoError(t, err)
	require.Equal(t, got, again, "a second pass changes nothing")
}

// A wireMatch compares messages. "*" stands for any text, "*1" for one text that is the
// same wherever it stands.
type wireMatch struct {
	ids                map[string]string
	bytes, contentJSON bool
}

func (m *wireMatch) message(t *testing.T, want, got []byte) {
	t.Helper()
	var w, g map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(want, &w))
	require.NoError(t, json.Unmarshal(got, &g))
	for name := range g {
		require.Contains(t, w, name, "%s", got)
	}
	for name, value := range w {
		require.Contains(t, g, name, "%s", got)
		switch {
		case name == "tool_calls":
			m.calls(t, value, g[name])
		case name == "content" && m.contentJSON && string(w["role"]) == `"tool"`:
			sameJSON(t, []byte(text(t, value)), []byte(text(t, g[name])))
		default:
			m.value(t, value, g[name])
		}
	}
}

func (m *wireMatch) calls(t *testing.T, want, got []byte) {
	t.Helper()
	type call struct {
		ID       json.RawMessage `json:"id"`
		Type     string          `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	}
	var w, g []call
	strict(t, want, &w)
	strict(t, got, &g)
	require.Len(t, g, len(w))
	for i := range w {
		m.value(t, w[i].ID, g[i].ID)
		require.Equal(t, w[i].Type, g[i].Type)
		require.Equal(t, w[i].Function.Name, g[i].Function.Name)
		if m.bytes {
			require.Equal(t, w[i].Function.Arguments, g[i].Function.Arguments)
		}
		sameJSON(t, []byte(w[i].Function.Arguments), []byte(g[i].Function.Arguments))
	}
}

func (m *wireMatch) value(t *testing.T, want, got []byte) {
	t.Helper()
	if !strings.HasPrefix(string(want), `"*`) {
		sameJSON(t, want, got)
		return
	}
	value := text(t, got)
	require.NotEmpty(t, value)
	name := text(t, want)
	if first, known := m.ids[name]; known && name != "*" {
		require.Equal(t, first, value)
	}
	m.ids[name] = value
}

func text(t *testing.T, raw []byte) (s string) {
	t.Helper()
	require.NoError(t, json.Unmarshal(raw, &s), "%s", raw)
	return s
}
