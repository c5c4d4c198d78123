package qwen_test

import (
	"encoding/json"
	"testing"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/qwen"
	"github.com/stretchr/testify/require"
)

// replayed is a history behind a first user message, replayed, as JSON.
func replayed(t *testing.T, tools *model.Tools, options qwen.Options, messages ...string) []string {
	t.Helper()
	history := []model.Message{model.User("Fix the bug.")}
	for _, m := range messages {
		history = append(history, must(model.Raw(json.RawMessage(m))))
	}
	got, err := qwen.Replay(history, tools, options)
	require.NoError(t, err)
	again, err := qwen.Replay(got, tools, options)
	require.NoError(t, err)
	require.Equal(t, got, again)
	var out []string
	for _, m := range got {
		out = append(out, string(m.JSON()))
	}
	return out
}

const firstUser = `{"role":"user","content":"Fix the bug."}`

// assistantTurn is an assistant turn in replay form with calls of f, each an ID and
// arguments.
func assistantTurn(content string, calls ...string) string {
	var list []any
	for i := 0; i < len(calls); i += 2 {
		list = append(list, model.ToolCall{ID: calls[i], Name: "f", Arguments: []byte(calls[i+1])})
	}
	toolCalls := make([]model.ToolCall, len(list))
	for i := range list {
		toolCalls[i] = list[i].(model.ToolCall)
	}
	m := string(model.Assistant(content, toolCalls...).JSON())
	if content == "" {
		m = `{"role":"assistant","content":""` + m[len(`{"role":"assistant","content":null`):]
	}
	return m
}

// Tool messages stand behind their turn, one for each call in the order of the calls,
// whatever the order was; what answers no call is left out.
func TestReplayOrdersResults(t *testing.T) {
	t.Parallel()
	turn := assistantTurn("", "a", `{}`, "b", `{}`)
	got := replayed(t, nil, qwen.Options{},
		`{"role":"tool","tool_call_id":"z","content":"before any call"}`, turn,
		`{"role":"tool","tool_call_id":"b","content":"of b"}`, `{"role":"user","content":"wait"}`, `{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"of "},{"type":"text","text":"a"}]}`,
		`{"role":"tool","tool_call_id":"q","content":"of none"}`, assistantTurn("Done."), `{"role":"tool","tool_call_id":"a","content":"late"}`)
	require.Equal(t, []string{
		firstUser, turn, `{"role":"tool","tool_call_id":"a","content":"of a"}`, `{"role":"tool","tool_call_id":"b","content":"of b"}`,
		`{"role":"user","content":"wait"}`, assistantTurn("Done."),
	}, got)
}

// Calls without IDs, or with one ID for two, get IDs of their own, and their results
// follow by order.
func TestReplayMakesIDs(t *testing.T) {
	t.Parallel()
	got := replayed(t, nil, qwen.Options{},
		`{"role":"assistant","content":"","tool_calls":[{"id":"","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"a","type":"function","function":{"name":"g","arguments":"{}"}}]}`,
		`{"role":"tool","tool_call_id":"a","content":"second"}`, `{"role":"tool","tool_call_id":"a","content":"third"}`, `{"role":"tool","content":"first"}`)
	require.Len(t, got, 5)
	var turn struct {
		ToolCalls []struct{ ID string } `json:"tool_calls"`
	}
	require.NoError(t, json.Unmarshal([]byte(got[1]), &turn))
	ids := map[string]bool{}
	for i, content := range []string{"first", "second", "third"} {
		var m struct {
			ID      string `json:"tool_call_id"`
			Content string
		}
		require.NoError(t, json.Unmarshal([]byte(got[2+i]), &m))
		require.Equal(t, turn.ToolCalls[i].ID, m.ID)
		require.Equal(t, content, m.Content)
		ids[m.ID] = true
	}
	require.Len(t, ids, 3)
}

// What is sound keeps its bytes, spelling included; what a template or a server cannot take
// is mended.
func TestReplayTurns(t *testing.T) {
	t.Parallel()
	sound := `{ "role":"assistant", "content":"<b> &amp; \u00e9","refusal":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{ \"n\": 1.50, \"a\": \"\\u003c\" }"}}]}`
	require.Equal(t, []string{firstUser, sound}, replayed(t, nil, qwen.Options{}, sound))
	for in, want := range map[string]string{
		`{"role":"assistant","content":null}`:                                                                                                                                  `{"role":"assistant","content":""}`,
		`{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`:                                                                               `{"role":"assistant","content":"ab"}`,
		`{"role":"assistant","content":"<think>\nplan\n</think>\n\nDo."}`:                                                                                                      `{"role":"assistant","content":"Do.","reasoning_content":"plan","reasoning":"plan"}`,
		`{"role":"assistant","content":"x","reasoning":"a","reasoning_content":"b"}`:                                                                                           `{"role":"assistant","content":"x","reasoning_content":"b","reasoning":"b"}`,
		`{"role":"assistant","content":"x","tool_calls":null}`:                                                                                                                 `{"role":"assistant","content":"x"}`,
		`{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":" f ","arguments":""}}]}`:                                               assistantTurn("", "a", `{}`),
		`{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"\"{\\\"n\\\": 1}\""}}]}`:                               assistantTurn("", "a", `{"n": 1}`),
		`{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"n\": [1,]}"}}]}`:                                    assistantTurn("", "a", `{"n": [1]}`),
		`{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"n\": "}}]}`:                                         assistantTurn("", "a", `{}`),
		`{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"[1]"}}]}`:                                              assistantTurn("", "a", `{}`),
		`{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"n\":\"\\ud83d\"}"}}]}`:                              assistantTurn("", "a", `{}`),
		`{"role":"assistant","content":"","function_call":{"name":"f","arguments":"{}"},"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`: assistantTurn("", "a", `{}`),
	} {
		require.Equal(t, []string{firstUser, want}, replayed(t, nil, qwen.Options{}, in))
	}
	null := qwen.Options{NullContent: true}
	turn := string(model.Assistant("", model.ToolCall{ID: "a", Name: "f", Arguments: []byte("{}")}).JSON())
	require.Equal(t, []string{firstUser, turn}, replayed(t, nil, null, assistantTurn("", "a", "{}")))
	require.Equal(t, []string{firstUser, turn}, replayed(t, nil, null, turn))
	require.Equal(t, []string{firstUser, `{"role":"assistant","content":"b","reasoning_content":"a","reasoning":"a"}`},
		replayed(t, nil, qwen.Options{PromptOpensThinking: true}, `{"role":"assistant","content":"a</think>b"}`))
	require.Equal(t, []string{firstUser, `{"role":"assistant","content":"an answer"}`},
		replayed(t, nil, qwen.Options{PromptOpensThinking: true}, `{"role":"assistant","content":"an answer"}`))
}

// Calls in the text of old turns become structured, fitted to the schema when it is known;
// those in thinking were never run and stay there.
func TestReplayRecovers(t *testing.T) {
	t.Parallel()
	text := `"Go.\n<tool_call>\n<function=finish>\n<parameter=files_modified>\n[\"a\"]\n</parameter>\n</function>\n</tool_call>"`
	with := replayed(t, fuzzTools, qwen.Options{}, `{"role":"assistant","content":`+text+`}`, `{"role":"tool","tool_call_id":"x","content":"r"}`)
	require.Len(t, with, 3)
	require.Contains(t, with[1], `"arguments":"{\"files_modified\":[\"a\"]}"`)
	require.Contains(t, with[2], `"content":"r"`)
	without := replayed(t, nil, qwen.Options{}, `{"role":"assistant","content":`+text+`}`)
	require.Contains(t, without[1], `"arguments":"{\"files_modified\":\"[\\\"a\\\"]\"}"`)
	thought := replayed(t, fuzzTools, qwen.Options{}, `{"role":"assistant","content":"","reasoning":`+text+`}`)
	require.Len(t, thought, 2)
	require.NotContains(t, thought[1], `"tool_calls"`)
}

// There is one system message, in front, and one user message at least that is no tool
// result.
func TestReplaySystemAndUser(t *testing.T) {
	t.Parallel()
	got := replayed(t, nil, qwen.Options{}, `{"role":"developer","content":[{"type":"text","text":"a"}]}`, `{"role":"system","content":"b"}`)
	require.Equal(t, []string{`{"role":"system","content":"a\n\nb"}`, firstUser}, got)
	for _, history := range [][]model.Message{
		nil, {model.System("s")}, {model.User("<tool_response>\nx\n</tool_response>")},
	} {
		_, err := qwen.Replay(history, nil, qwen.Options{})
		require.ErrorIs(t, err, qwen.KindBadHistory)
		var e *qwen.HistoryError
		require.ErrorAs(t, err, &e)
		require.Equal(t, -1, e.Index)
		require.False(t, qwen.KindOf(err).Retryable())
	}
}
