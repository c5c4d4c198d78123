package model_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"github.com/homing-go/homing/model"
	"github.com/stretchr/testify/require"
)

// bodies are what servers send, soundly and not.
var bodies = []string{
	okAnswer, okAnswer[:60], "", " ", "null", "[]", "{}", "{", `"x"`, "hello", "<html>", "data", "data:", "[DONE]", "\ufeff" + okAnswer,
	`{"error":{"message":"boom","type":"server_error","code":500}}`, `{"object":"error","message":"boom","code":400}`, `{"error":"boom"}`, `{"detail":"boom"}`,
	`{"choices":[]}`, `{"choices":null}`, `{"choices":[{"message":null}]}`, `{"choices":[{"message":{}}]}`, `{"choices":[{"message":{"role":5}}]}`, `{"choices":[{"delta":{"content":"a"}}]}`,
	`{"choices":[{"index":0,"message":{"role":"assistant","content":"a","reasoning_content":"b","tool_calls":[{"id":"1","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1e3}}`,
	`{"choices":[{"message":{"role":"assistant","content":[{"type":"text","text":"a"}]}}]}`, `{"choices":[{"message":{"role":"assistant","content":"\ud83d\u0000"}}]}`,
	"{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"\xff\"}}]}", `{"role":"assistant","content":"a","reasoning":"b"}`,
	`{"role":"assistant","tool_calls":[{"index":0,"function":{"name":"f","arguments":{"a":1}}},{"index":2147483648},null]}`,
	"{\ndata:{\n\n", "data: " + wordChunk + "\n\ndata: " + stopChunk + "\n\ndata: [DONE]\n\n", "data: " + wordChunk + "\n\n", "data: " + stopChunk, "data: [DONE]\n\n", "data: null\n\n: ping\n\n",
	"data: " + roleChunk + "\r\n\r\ndata: " + wordChunk + "\r\r\ndata: {\"error\":{\"code\":503}}\n\n", "data: " + wordChunk[:30] + "\ndata: " + wordChunk[30:] + "\n\ndata: [DONE]",
	`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":"{"}}]}}]}` + "\n\n" +
		`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]},"finish_reason":"length"}],"usage":{}}` + "\n\n",
	`data: {"choices":[{"index":2147483648,"delta":{"content":"a"}},{"index":0,"delta":{"content":"b"}},{"index":0,"delta":{"content":"c"},"finish_reason":""}]}` + "\n\ndata: [DONE]\n\n",
}

// outcome is all that a call shows of an answer.
type outcome struct {
	kind                                            model.Kind
	text, reasoning, calls, finish, message, events string
	usage                                           model.Usage
}

// judged checks what a call returned and makes it comparable.
func judged(t *testing.T, res *model.Response, err error, events string) outcome {
	t.Helper()
	if err != nil {
		require.Nil(t, res)
		var failure *model.Error
		require.ErrorAs(t, err, &failure)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
		require.NotContains(t, err.Error(), "boom")
		require.LessOrEqual(t, len(failure.Body)+len(failure.Message)+len(failure.Code)+len(failure.Type), 8<<10)
		return outcome{kind: failure.Kind, events: events}
	}
	message := res.Message.JSON()
	require.True(t, json.Valid(message) && utf8.Valid(message) && message[0] == '{', "%q", message)
	require.True(t, utf8.ValidString(res.Text) && utf8.ValidString(res.Reasoning))
	o := outcome{text: res.Text, reasoning: res.Reasoning, finish: string(res.Finish), message: string(message), events: events, usage: res.Usage}
	for _, c := range res.ToolCalls {
		if c.Err == nil && len(c.Arguments) > 0 {
			require.True(t, json.Valid(c.Arguments) && bytes.TrimSpace(c.Arguments)[0] == '{', "%q", c.Arguments)
		}
	}
	o.calls = strings.Join(calls(res.ToolCalls), "\n")
	return o
}

// FuzzBody feeds any bytes as a whole response body. Nothing panics or hangs, each error is
// typed, an answer can be sent back, a stream gives the same however it is split, and a body
// that is no stream gives the same to both kinds of call.
func FuzzBody(f *testing.F) {
	for i, body := range bodies {
		f.Add([]byte(body), uint8(i), uint16(7*i))
	}
	labels := [...]string{"application/json", "text/event-stream", "text/plain", "", "text/html"}
	statuses := [...]int{200, 200, 200, 200, 200, 200, 400, 503}
	f.Fuzz(func(t *testing.T, body []byte, mode uint8, split uint16) {
		label, status, cut := labels[int(mode)%len(labels)], statuses[int(mode>>3)%len(statuses)], mode&0x80 != 0
		at := min(int(split), len(body))
		client := func(label string, body func() io.Reader) *model.Base {
			return through(t, model.Config{Retry: model.Retry{Max: -1}, Limits: model.Limits{ResponseBytes: mib, LineBytes: 64 * kib}}, func(*http.Request) (*http.Response, error) {
				res := response(label, "")
				res.StatusCode = status
				r := body()
				if cut {
					r = io.MultiReader(r, iotest.ErrReader(io.ErrUnexpectedEOF))
				}
				res.Body = io.NopCloser(r)
				return res, nil
			})
		}
		whole := func() io.Reader { return bytes.NewReader(body) }
		generate := func(label string) outcome {
			res, err := client(label, whole).Generate(soon(t), ask("x"))
			return judged(t, res, err, "")
		}
		stream := func(label string, body func() io.Reader) outcome {
			var events strings.Builder
			st := client(label, body).Stream(soon(t), ask("x"))
			for e := range st.Events() {
				events.WriteString(string(rune('0'+e.Kind)) + string(rune('0'+e.Call%64)) + e.ID + e.Name + e.Text + "\n")
			}
			res, err := st.Response()
			return judged(t, res, err, events.String())
		}
		want := stream(label, whole)
		require.Equal(t, want, stream(label, func() io.Reader { return io.MultiReader(bytes.NewReader(body[:at]), bytes.NewReader(body[at:])) }))
		require.Equal(t, want, stream(label, func() io.Reader { return iotest.DataErrReader(whole()) }))
		if len(body) < 1000 {
			require.Equal(t, want, stream(label, func() io.Reader { return iotest.OneByteReader(whole()) }))
		}
		plain := generate(label)
		if want.events = ""; label == labels[0] || plain.kind == 0 && want.kind == 0 {
			require.Equal(t, want, plain)
		}
		if !json.Valid(body) || bytes.ContainsAny(body, "\r\n") || cut || status != 200 {
			return
		}
		// The same object as a message and as a delta says the same.
		message := `{"choices":[{"index":0,"message":` + string(body) + `,"finish_reason":"stop"}]}`
		delta := `data: {"choices":[{"index":0,"delta":` + string(body) + `,"finish_reason":"stop"}]}` + "\n\n"
		res, err := client(labels[0], func() io.Reader { return strings.NewReader(message) }).Generate(soon(t), ask("x"))
		plain = judged(t, res, err, "")
		want = stream(labels[1], func() io.Reader { return strings.NewReader(delta) })
		if plain.kind == 0 && want.kind == 0 {
			require.Equal(t, want.text, plain.text)
			require.Equal(t, want.reasoning, plain.reasoning)
			require.Equal(t, want.finish, plain.finish)
		}
	})
}

// soon is a context that ends a call which hangs.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(routed(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}
