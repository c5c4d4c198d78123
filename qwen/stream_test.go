package qwen_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/qwen"
	"github.com/stretchr/testify/require"
)

// piece is one element of tool_calls in a delta.
func piece(members string) json.RawMessage {
	return json.RawMessage(`{"tool_calls":[` + members + `]}`)
}

// readPieces returns the calls of a stream as "id name arguments", and what was shown.
func readPieces(t *testing.T, deltas ...json.RawMessage) (calls []string, events []model.Event) {
	t.Helper()
	reader := qwen.NewDialect(qwen.Options{}).NewReader(&model.Request{Tools: fuzzTools})
	for _, delta := range deltas {
		require.NoError(t, reader.Delta(delta, func(e model.Event) bool {
			events = append(events, e)
			return true
		}))
	}
	res, err := reader.Finish("tool_calls", true)
	require.NoError(t, err)
	for _, c := range res.ToolCalls {
		id := c.ID
		if strings.HasPrefix(id, "call_") {
			id = "*"
		}
		text := id + " " + c.Name + " " + string(c.Arguments)
		if c.Err != nil {
			text += " " + string(qwen.KindOf(c.Err))
		}
		calls = append(calls, text)
	}
	return calls, events
}

// Pieces find their call by index, then by ID, then by coming last; a server's index is a
// key and no size, and the first ID and name count.
func TestPiecesFindTheirCall(t *testing.T) {
	t.Parallel()
	const ls, pwd = `{\"command\":\"ls\"}`, `{\"command\":\"pwd\"}`
	for name, test := range map[string]struct {
		deltas []json.RawMessage
		want   []string
	}{
		"huge index": {
			[]json.RawMessage{piece(`{"index":9223372036854775807,"id":"a","function":{"name":"bash","arguments":"` + ls + `"}}`)},
			[]string{`a bash {"command":"ls"}`},
		},
		"index as text, null or a fraction is none": {
			[]json.RawMessage{
				piece(`{"index":"0","id":"a","function":{"name":"bash","arguments":"{\"comm"}}`),
				piece(`{"index":null,"function":{"arguments":"and\":\"l"}}`), piece(`{"index":0.5,"function":{"arguments":"s\"}"}}`),
			},
			[]string{`a bash {"command":"ls"}`},
		},
		"first index is 1": {
			[]json.RawMessage{
				piece(`{"index":1,"id":"a","function":{"name":"bash","arguments":"` + ls + `"}}`),
				piece(`{"index":2,"id":"b","function":{"name":"bash","arguments":"` + pwd + `"}}`),
			},
			[]string{`a bash {"command":"ls"}`, `b bash {"command":"pwd"}`},
		},
		"no index, IDs interleaved": {
			[]json.RawMessage{
				piece(`{"id":"a","function":{"name":"bash","arguments":"{\"command\":"}}`), piece(`{"id":"b","function":{"name":"bash","arguments":"{\"command\":"}}`),
				piece(`{"id":"a","function":{"arguments":"\"ls\"}"}}`), piece(`{"id":"b","function":{"arguments":"\"pwd\"}"}}`),
			},
			[]string{`a bash {"command":"ls"}`, `b bash {"command":"pwd"}`},
		},
		"no index, no ID, a name behind whole arguments": {
			[]json.RawMessage{
				piece(`{"function":{"name":"bash","arguments":"` + ls + `"}}`), piece(`{"function":{"name":"bash","arguments":""}}`),
				piece(`{"function":{"arguments":"` + pwd + `"}}`),
			},
			[]string{`* bash {"command":"ls"}`, `* bash {"command":"pwd"}`},
		},
		"one index for calls without IDs": {
			[]json.RawMessage{
				piece(`{"index":0,"function":{"name":"bash","arguments":"` + ls + `"}}`), piece(`{"index":0,"function":{"name":"finish","arguments":"{\"files_modified\":[\"a\"]}"}}`),
			},
			[]string{`* bash {"command":"ls"}`, `* finish {"files_modified":["a"]}`},
		},
		"name repeated in every piece": {
			[]json.RawMessage{
				piece(`{"index":0,"id":"a","function":{"name":"bash","arguments":"{\"command\":"}}`), piece(`{"index":0,"id":"a","function":{"name":"bash","arguments":"\"ls\"}"}}`),
				piece(`{"index":0,"id":"a","function":{"name":"bash","arguments":""}}`),
			},
			[]string{`a bash {"command":"ls"}`},
		},
		"the whole call again, in pieces": {
			[]json.RawMessage{
				piece(`{"index":0,"id":"a","function":{"name":"bash","arguments":"` + ls + `"}}`), piece(`{"index":0,"id":"a","function":{"name":"bash","arguments":"{\"command\""}}`),
				piece(`{"index":0,"function":{"arguments":":\"ls\"}"}}`),
			},
			[]string{`a bash {"command":"ls"}`},
		},
		"the whole call again under another index": {
			[]json.RawMessage{
				piece(`{"index":0,"id":"a","function":{"name":"bash","arguments":"` + ls + `"}}`), piece(`{"index":1,"id":"a","function":{"name":"bash","arguments":"` + ls + `"}}`),
			},
			[]string{`a bash {"command":"ls"}`},
		},
		"one ID for two calls": {
			[]json.RawMessage{
				piece(`{"index":0,"id":"a","function":{"name":"bash","arguments":"` + ls + `"}}`), piece(`{"index":1,"id":"a","function":{"name":"bash","arguments":"` + pwd + `"}}`),
			},
			[]string{`a bash {"command":"ls"}`, `* bash {"command":"pwd"}`},
		},
		"arguments as an object": {
			[]json.RawMessage{piece(`{"index":0,"id":"a","function":{"name":"bash","arguments":{"command":"ls"}}}`)},
			[]string{`a bash {"command":"ls"}`},
		},
		"an object and then more": {
			[]json.RawMessage{
				piece(`{"index":0,"id":"a","function":{"name":"bash","arguments":{"command":"ls"}}}`), piece(`{"index":0,"function":{"arguments":"x"}}`),
			},
			[]string{`a bash {"command":"ls"}x bad_json`},
		},
		"nothing, null and other junk": {
			[]json.RawMessage{
				json.RawMessage(`null`), json.RawMessage(`{}`), json.RawMessage(`{"tool_calls":null}`), json.RawMessage(`{"tool_calls":[null,3]}`),
				json.RawMessage(`{"tool_calls":{"index":0,"id":"a","function":{"name":"bash","arguments":"` + ls + `"}}}`),
			},
			[]string{`a bash {"command":"ls"}`},
		},
		"legacy function_call": {
			[]json.RawMessage{
				json.RawMessage(`{"function_call":{"name":"bash","arguments":"{\"command\":"}}`), json.RawMessage(`{"function_call":{"arguments":"\"ls\"}"}}`),
			},
			[]string{`* bash {"command":"ls"}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls, _ := readPieces(t, test.deltas...)
			require.Equal(t, test.want, calls)
		})
	}
}

// More calls than any answer may have are an error.
func TestTooManyCalls(t *testing.T) {
	t.Parallel()
	one := `{"function":{"name":"bash","arguments":"{}"}}`
	raw := piece(one + strings.Repeat(","+one, 20_000))
	reader := qwen.NewDialect(qwen.Options{}).NewReader(&model.Request{Tools: fuzzTools})
	require.ErrorContains(t, reader.Message(raw), "16384")
	res := readWhole(t, message(strings.Repeat("<tool_call><function=bash></function></tool_call>", 20_000), "", nil))
	require.Len(t, res.ToolCalls, 16384)
	require.ErrorIs(t, res.ToolCalls[16383].Err, qwen.KindTooLarge)
}

// Text is shown as soon as it cannot be anything else, and structured calls as they come;
// a call in the text is not shown.
func TestWhatIsShown(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options qwen.Options
		deltas  []string
		want    []string // what is shown after each delta
	}{
		"text":        {deltas: []string{"He", "llo ", "you.\n", "Bye"}, want: []string{"He", "llo", " you.", "\nBye"}},
		"a call":      {deltas: []string{"I look.\n", "<tool", "_call>\n<function=bash>", "\n</function>\n</tool_call>x"}, want: []string{"I look.", "", "", ""}},
		"no call":     {deltas: []string{"a <too", "l> b"}, want: []string{"a", " <tool> b"}},
		"inline code": {deltas: []string{"a `<tool", "_call>` b"}, want: []string{"a", " `<tool_call>` b"}},
		"a fence":     {deltas: []string{"```\n<tool_call>\n", "x", "\n```\n<tool_call>"}, want: []string{"```\n<tool_call>", "\nx", "\n```"}},
		"JSON":        {deltas: []string{" {\"a\"", ": 1}"}, want: []string{"", ""}},
		"thinking":    {deltas: []string{"<thi", "nk>\nplan ", "it</th", "ink>\n\nDo", " it"}, want: []string{"", "R:plan", "R: it", "Do", " it"}},
		"thinking of the prompt": {
			options: qwen.Options{PromptOpensThinking: true},
			deltas:  []string{"plan", "\n</think>", "Do"}, want: []string{"R:plan", "", "Do"},
		},
		"a draft in thinking": {deltas: []string{"<think>a <tool_call>", "b", "</think>c"}, want: []string{"R:a", "", "R: <tool_call>bc"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reader := qwen.NewDialect(test.options).NewReader(&model.Request{Tools: fuzzTools})
			for i, text := range test.deltas {
				shown := ""
				require.NoError(t, reader.Delta(message(text, "", nil), func(e model.Event) bool {
					if e.Kind == model.EventReasoning {
						shown += "R:"
					}
					shown += e.Text
					return true
				}))
				require.Equal(t, test.want[i], shown, "after delta %d", i)
			}
		})
	}
	_, events := readPieces(t, piece(`{"index":0,"id":"a","function":{"name":"bash","arguments":"{\"com"}}`),
		piece(`{"index":0,"id":"a","function":{"name":"bash","arguments":"mand\":\"ls\"}"}}`), piece(`{"index":0,"function":{"arguments":"{\"command\":\"ls\"}"}}`))
	require.Equal(t, []model.Event{
		{Kind: model.EventToolCall, ID: "a", Name: "bash", Text: `{"com`}, {Kind: model.EventToolCall, Text: `mand":"ls"}`},
	}, events)
}

// A consumer that has enough stops the reading of a delta.
func TestShowingStops(t *testing.T) {
	t.Parallel()
	n := 0
	reader := qwen.NewDialect(qwen.Options{}).NewReader(&model.Request{})
	require.NoError(t, reader.Delta(json.RawMessage(`{"reasoning":"a","content":"b","tool_calls":[{"id":"c"}]}`), func(model.Event) bool {
		n++
		return false
	}))
	require.Equal(t, 1, n)
}

// The halves of a character that two deltas split are joined; one alone is reported.
func TestHalfCharacters(t *testing.T) {
	t.Parallel()
	reader := qwen.NewDialect(qwen.Options{}).NewReader(&model.Request{Tools: fuzzTools})
	for _, delta := range []string{`{"content":"a\ud83d"}`, `{"content":"\ude80b"}`, `{"content":"\ud83d"}`, `{"reasoning":"\udc00\ud83d"}`, `{"reasoning":"\ude80"}`} {
		require.NoError(t, reader.Delta([]byte(delta), func(model.Event) bool { return true }))
	}
	res, err := reader.Finish("stop", true)
	require.NoError(t, err)
	require.Equal(t, "a\U0001f680b\ufffd", res.Text)
	require.Equal(t, "\ufffd\U0001f680", res.Reasoning)
	calls, _ := readPieces(t, piece(`{"index":0,"id":"a","function":{"name":"bash","arguments":"{\"command\":\"\ud83d"}}`), piece(`{"index":0,"function":{"arguments":"\ude80\"}"}}`))
	require.Equal(t, []string{"a bash {\"command\":\"\U0001f680\"}"}, calls)
	calls, _ = readPieces(t, piece(`{"index":0,"id":"a","function":{"name":"bash","arguments":"{\"command\":\"\ud83d\"}"}}`))
	require.Equal(t, []string{"a bash {\"command\":\"\ufffd\"} bad_value"}, calls)
}

// A character that is split between deltas is shown when both halves are there, and a half
// that stays alone is shown as what the answer has in its place.
func TestSplitCharacters(t *testing.T) {
	t.Parallel()
	const rocket = `\ud83d|\ude80`
	for _, text := range []string{
		rocket, "a" + rocket + "b", rocket + "|" + rocket, `\ud83d|a`, `\ud83d|\ud83d|\ude80`, `\ude80|\ude80|\ud83d|\ud83d`, `\ud83d`, "x |" + rocket + "| |", `\uD83D|\uDE80`,
	} {
		for layer, delta := range map[string]func(string) string{
			"content":   func(s string) string { return `{"content":"` + s + `"}` },
			"reasoning": func(s string) string { return `{"reasoning":"` + s + `"}` },
			"arguments": func(s string) string {
				return `{"tool_calls":[{"index":0,"id":"c","function":{"name":"bash","arguments":"` + s + `"}}]}`
			},
			"think": func(s string) string { return `{"content":"` + s + `"}` },
		} {
			deltas := []string{}
			if layer == "think" {
				deltas = append(deltas, delta("<think>a</think><think>"))
			}
			for _, part := range strings.Split(text, "|") {
				deltas = append(deltas, delta(part))
			}
			reader := qwen.NewDialect(qwen.Options{}).NewReader(&model.Request{Tools: fuzzTools})
			var shown strings.Builder
			for _, d := range deltas {
				require.NoError(t, reader.Delta([]byte(d), func(e model.Event) bool {
					shown.WriteString(e.Text)
					return true
				}))
			}
			res, err := reader.Finish("stop", true)
			require.NoError(t, err)
			whole := res.Text + res.Reasoning
			if layer == "arguments" {
				whole = string(res.ToolCalls[0].Arguments)
			}
			require.True(t, strings.HasPrefix(whole, shown.String()), "%s %s: shown %q of %q", layer, text, shown.String(), whole)
			if strings.HasSuffix(text, "80b") {
				require.Equal(t, whole, shown.String(), "%s %s", layer, text)
			}
		}
	}
}
