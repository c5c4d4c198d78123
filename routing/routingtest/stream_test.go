package routingtest_test

import (
	"bufio"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/homing-go/homing/routing/routingtest"
)

// A chunk is one event of a stream, strictly.
type chunk struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Model   string `json:"model"`
	Choices []struct {
		Index        int     `json:"index"`
		Delta        delta   `json:"delta"`
		Logprobs     any     `json:"logprobs"`
		FinishReason *string `json:"finish_reason"`
	} `json:"choices"`
	Usage *usage `json:"usage"`
}

type delta struct {
	Role             string          `json:"role"`
	Content          json.RawMessage `json:"content"`
	Reasoning        json.RawMessage `json:"reasoning"`
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	ToolCalls        []struct {
		Index    int    `json:"index"`
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      *string         `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// A heard is a stream put together again.
type heard struct {
	content, reasoning, reasoningContent string
	calls                                []routingtest.ToolCall
	finish                               string
	usage                                *usage
	pieces                               []string
}

func hear(t testing.TB, events []string) heard {
	t.Helper()
	require.GreaterOrEqual(t, len(events), 3)
	require.Equal(t, "[DONE]", events[len(events)-1])
	var h heard
	text := func(into *string, raw json.RawMessage) {
		if raw == nil {
			return
		}
		var s string
		if json.Unmarshal(raw, &s) != nil {
			s = string(raw)
		}
		*into += s
		h.pieces = append(h.pieces, s)
	}
	var first chunk
	for i, e := range events[:len(events)-1] {
		var c chunk
		d := json.NewDecoder(strings.NewReader(e))
		d.DisallowUnknownFields()
		require.NoError(t, d.Decode(&c), e)
		require.Equal(t, "chat.completion.chunk", c.Object)
		if i == 0 {
			first = c
			require.Contains(t, e, `"delta":{"role":"assistant","content":""}`)
		}
		require.Equal(t, first.ID, c.ID)
		require.Equal(t, first.Model, c.Model)
		if c.Usage != nil {
			require.Empty(t, c.Choices)
			require.NotNil(t, c.Choices, "choices is [], not null")
			require.Equal(t, len(events)-2, i, "usage comes last")
			h.usage = c.Usage
			continue
		}
		require.Len(t, c.Choices, 1)
		require.Empty(t, h.finish, "nothing follows the finish reason")
		if f := c.Choices[0].FinishReason; f != nil {
			require.Contains(t, e, `"delta":{}`)
			h.finish = *f
			continue
		}
		dl := c.Choices[0].Delta
		text(&h.content, dl.Content)
		text(&h.reasoning, dl.Reasoning)
		text(&h.reasoningContent, dl.ReasoningContent)
		for _, call := range dl.ToolCalls {
			if call.Function.Name != nil {
				require.Equal(t, len(h.calls), call.Index)
				require.Equal(t, "function", call.Type)
				require.JSONEq(t, `""`, string(call.Function.Arguments))
				h.calls = append(h.calls, routingtest.ToolCall{ID: call.ID, Name: *call.Function.Name})
				continue
			}
			require.Empty(t, call.ID)
			text(&h.calls[call.Index].Arguments, call.Function.Arguments)
		}
	}
	return h
}

func TestStream(t *testing.T) {
	t.Parallel()
	answer := routingtest.Answer{
		Text:      "Größe: \"<b>\" \\ \u2028 日本語のテキスト 🙂🙂🙂 end\n\t\x00",
		Reasoning: "let me think about this\nfor a while",
		ToolCalls: []routingtest.ToolCall{
			{ID: "call_1", Name: "bash", Arguments: `{"command": "ls -l | grep '\u00e9' && echo \"x\""}`},
			{ID: "call_2", Name: "submit", Arguments: ""},
			{ID: "call_3", Name: "bash", Arguments: `{"command": broken`},
		},
	}
	for _, size := range []int{1, 2, 3, 7, 16, 1000} {
		b := routingtest.NewBackend(routingtest.BackendConfig{ChunkBytes: size, Reply: routingtest.Script(answer)})
		w := serve(t, b)
		res, text := w.send(`{"stream":true,"stream_options":{"include_usage":true},"model":"m","messages":[{"role":"user","content":"x"}]}`)
		require.Equal(t, "text/event-stream; charset=utf-8", res.Header.Get("Content-Type"))
		require.Equal(t, "backend", res.Header.Get("X-Served-By"))
		h := hear(t, parseEvents(t, text))
		require.Equal(t, answer.Text, h.content)
		require.Equal(t, answer.Reasoning, h.reasoningContent)
		require.Empty(t, h.reasoning)
		require.Equal(t, answer.ToolCalls, h.calls)
		require.Equal(t, "tool_calls", h.finish)
		for _, p := range h.pieces {
			require.True(t, utf8.ValidString(p))
			require.NotContains(t, p, "\ufffd")
			require.LessOrEqual(t, len(p), max(size, 4))
		}

		_, plain := w.answer(`{"model":"m","messages":[{"role":"user","content":"x"}]}`)
		require.Equal(t, plain.Usage.Prompt, h.usage.Prompt)
		require.Equal(t, plain.Usage.Completion, h.usage.Completion)
		require.Equal(t, h.usage.Prompt, plain.Usage.Details.Cached, "plain and streamed share the cache")
		require.JSONEq(t, string(mustJSON(t, map[string]any{
			"role": "assistant", "content": answer.Text, "reasoning_content": answer.Reasoning,
			"tool_calls": []any{
				call("call_1", "bash", answer.ToolCalls[0].Arguments),
				call("call_2", "submit", ""),
				call("call_3", "bash", answer.ToolCalls[2].Arguments),
			},
		})), string(plain.Choices[0].Message))
		require.Equal(t, "tool_calls", plain.Choices[0].FinishReason)
	}
}

func TestStreamWithoutUsage(t *testing.T) {
	t.Parallel()
	w := serve(t, routingtest.NewBackend(routingtest.BackendConfig{}))
	h := hear(t, w.events(streamed("hello")))
	require.Equal(t, "hello", h.content)
	require.Equal(t, "stop", h.finish)
	require.Nil(t, h.usage)
	require.Empty(t, hear(t, w.events(streamed(""))).content, "an empty answer is a stream too")
}

func TestReasoningFieldAndFinish(t *testing.T) {
	t.Parallel()
	w := serve(t, routingtest.NewBackend(routingtest.BackendConfig{
		ReasoningField: "reasoning",
		Reply:          routingtest.Script(routingtest.Answer{Text: "a", Reasoning: "b", Finish: "length"}),
	}))
	h := hear(t, w.events(streamed("x")))
	require.Equal(t, "b", h.reasoning)
	require.Empty(t, h.reasoningContent)
	require.Equal(t, "length", h.finish)
	_, c := w.answer(user("x"))
	require.JSONEq(t, `{"role":"assistant","content":"a","reasoning":"b"}`, string(c.Choices[0].Message))
	require.Equal(t, "length", c.Choices[0].FinishReason)
}

// TestFlushed holds the backend between two pieces: the first has to be there.
func TestFlushed(t *testing.T) {
	t.Parallel()
	const forever = 1 << 40
	w := serve(t, routingtest.NewBackend(routingtest.BackendConfig{DecodePerToken: forever}))
	res, err := w.do(streamed("hello"))
	require.NoError(t, err, "the header comes at once")
	line, err := bufio.NewReader(res.Body).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, `"role":"assistant"`)
	require.NoError(t, res.Body.Close()) // and the backend lets go, or the server cannot close
}

func mustJSON(t testing.TB, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return b
}

func call(id, name, arguments string) any {
	return map[string]any{"id": id, "type": "function", "function": map[string]any{"name": name, "arguments": arguments}}
}
