package routingtest_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/homing-go/homing/routing/routingtest"
)

func TestEcho(t *testing.T) {
	t.Parallel()
	w := serve(t, routingtest.NewBackend(routingtest.BackendConfig{Reply: routingtest.Echo()}))
	h := newHistory("task")
	_, c := w.answer(h.body())
	require.Equal(t, "task", c.text(t))
	h.grow(c.Choices[0].Message, "exit code 0")
	_, c = w.answer(h.body())
	require.Equal(t, "exit code 0", c.text(t))
	h.messages = append(h.messages, message("assistant", "not this"))
	_, c = w.answer(h.body())
	require.Equal(t, "exit code 0", c.text(t))
}

func TestScript(t *testing.T) {
	t.Parallel()
	w := serve(t, routingtest.NewBackend(routingtest.BackendConfig{
		Reply: routingtest.Script(routingtest.Answer{Text: "one"}, routingtest.Answer{Text: "two"}),
	}))
	h := newHistory("task")
	for _, want := range []string{"one", "two", "routingtest: the script has 2 answers and this is request 3"} {
		for range 2 { // trying again changes nothing
			_, c := w.answer(h.body())
			require.Equal(t, want, c.text(t))
			require.Equal(t, want, hear(t, w.events(h.body(`"stream":true,`))).content)
		}
		h.grow(json.RawMessage(message("assistant", want)), "ok")
	}
	_, c := w.answer(newHistory("another").body())
	require.Equal(t, "one", c.text(t), "conversations do not disturb each other")
}

func raws(messages ...string) []json.RawMessage {
	var list []json.RawMessage
	for _, m := range messages {
		list = append(list, json.RawMessage(m))
	}
	return list
}

func TestRecorded(t *testing.T) {
	t.Parallel()
	// Odd on purpose: order, space, escapes and number text have to survive.
	odd := `{ "content" : "caf\u00e9 <b> \/ é",` + "\n" + `"x":1.50e3, "role":"assistant","reasoning":"hm, 日本"}`
	calls := `{"role":"assistant","content":null,"reasoning_content":"r","tool_calls":[
		{"id":"a","type":"function","function":{"name":"f","arguments":"{\"p\": \"日本語の長い文字列です\"}"}},
		{"id":"b","type":"function","function":{"name":"g","arguments":{"an": "object",
			"instead":1}}}]}`
	first := raws(message("system", "s"), message("user", "task A"), odd, message("tool", "t"), calls)
	second := raws(message("user", "task B"), message("assistant", "B1"), message("user", "go on"), message("assistant", "B2"))
	third := raws(message("user", "task B"), message("assistant", "C1"), message("user", "stop"), message("assistant", "C2"))
	reply, err := routingtest.Recorded(first, second, third)
	require.NoError(t, err)
	w := serve(t, routingtest.NewBackend(routingtest.BackendConfig{Reply: reply}))

	h := newHistory("task A")
	_, c := w.answer(h.body())
	require.Equal(t, odd, string(c.Choices[0].Message), "byte for byte")
	require.Equal(t, "stop", c.Choices[0].FinishReason)
	s := hear(t, w.events(h.body(`"stream":true,`)))
	require.Equal(t, "café <b> / é", s.content)
	require.Equal(t, "hm, 日本", s.reasoning)

	h.grow(json.RawMessage(odd), "t")
	_, c = w.answer(h.body())
	require.Equal(t, calls, string(c.Choices[0].Message))
	require.Equal(t, "tool_calls", c.Choices[0].FinishReason)
	s = hear(t, w.events(h.body(`"stream":true,`)))
	require.Empty(t, s.content)
	require.Equal(t, "r", s.reasoningContent)
	require.Equal(t, []routingtest.ToolCall{
		{ID: "a", Name: "f", Arguments: `{"p": "日本語の長い文字列です"}`},
		{ID: "b", Name: "g", Arguments: `{"an":"object","instead":1}`},
	}, s.calls)
	require.Equal(t, "tool_calls", s.finish)

	h.grow(json.RawMessage(calls), "t")
	_, c = w.answer(h.body())
	require.Equal(t, "routingtest: the recorded conversation has 2 answers and this is request 3", c.text(t))

	// Two begin alike; what the user says next tells them apart.
	h = newHistory("task B")
	_, c = w.answer(h.body())
	require.Equal(t, "B1", c.text(t))
	h.messages = append(h.messages, message("assistant", "C1"), message("user", "stop"))
	_, c = w.answer(h.body())
	require.Equal(t, "C2", c.text(t))

	_, c = w.answer(newHistory("unheard of").body())
	require.Contains(t, c.text(t), "none of the 3 recorded conversations")
}

func TestRecordedAlone(t *testing.T) {
	t.Parallel()
	reply, err := routingtest.Recorded(raws(message("user", "task"), message("assistant", "done")))
	require.NoError(t, err)
	w := serve(t, routingtest.NewBackend(routingtest.BackendConfig{Reply: reply}))
	_, c := w.answer(user("something else"))
	require.Equal(t, "done", c.text(t))
}

func TestRecordedRefuses(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]string{
		"not JSON":    `{"role":`,
		"no role":     `{"content":"x"}`,
		"two at once": message("user", "a") + message("user", "b"),
		"nothing":     ``,
	} {
		_, err := routingtest.Recorded(raws(message("user", "ok"), m))
		var e *routingtest.Error
		require.ErrorAs(t, err, &e, name)
		require.ErrorContains(t, err, "conversation 0: message 1", name)
	}
}

func TestUnsoundMessage(t *testing.T) {
	t.Parallel()
	w := serve(t, routingtest.NewBackend(routingtest.BackendConfig{
		Reply: routingtest.Script(routingtest.Answer{Message: json.RawMessage(`{"role":`)}),
	}))
	_, text := w.send(user("x"))
	require.Contains(t, text, `"message":{"role":,`, "a plain response carries it as it is")
	res, text := w.send(streamed("x"))
	require.Equal(t, 500, res.StatusCode)
	requireEnvelope(t, text, "cannot be streamed")
}

// A reply sees what was sent.
func TestReplySeesTheRequest(t *testing.T) {
	t.Parallel()
	seen := make(chan *routingtest.Request, 1)
	w := serve(t, routingtest.NewBackend(routingtest.BackendConfig{Reply: func(r *routingtest.Request) routingtest.Answer {
		seen <- r
		return routingtest.Answer{Text: "ok"}
	}}))
	body := `{"tools":[ 1 ],"model":"m","stream_options":{"x":{},"include_usage":true},"messages":[ {"role":"tool","content":"a","x":[1]} ]}`
	w.answer(body, "X-Session-ID", "s1")
	r := <-seen
	require.Equal(t, body, string(r.Body))
	require.Equal(t, "m", r.Model)
	require.False(t, r.Stream)
	require.True(t, r.IncludeUsage)
	require.Equal(t, "[ 1 ]", string(r.Tools))
	require.Equal(t, "s1", r.HTTP.Header.Get("X-Session-ID"))
	require.Len(t, r.Messages, 1)
	require.Equal(t, "tool", r.Messages[0].Role)
	require.Equal(t, `"a"`, string(r.Messages[0].Content))
	require.Equal(t, `{"role":"tool","content":"a","x":[1]}`, string(r.Messages[0].Raw))
}
