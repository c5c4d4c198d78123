package routingtest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var requests = []string{
	`{"model":"m","stream":true,"stream_options":{"include_usage":true},"tools":[],"messages":[{"role":"user","content":"x"}]}`,
	" {\n\"messages\" : [ { } ,{ \"role\" : \"user\" } ] }\r\n\t",
	" {\n\"messages\" : [ { \"role\" : \"user\" } ,\t{\"content\":[{\"text\":\"}],\"}] ,\"role\":\"tool\" } ] , \"tools\" : [ 1 ]\r\n}\t",
	`{"messages":[{"r\u006fle":"us\u0065r","role":"tool","content":[{"text":"x"}],"content":null}]}`,
	`{"messages":[{"role":"user"}],"messages":[{"role":"a\"}\\","x":{"role":1}},{"role":"é","content":"\ud83d\ude00\n"}]}`,
	`{"messages":[{"role":"user"}],"messages":null}`,
	`{"stream":true,"stream":null,"tools":[1],"tools":null,"model":"a","model":"","messages":[{"role":"user"}]}`,
	`{"stream_options":{"include_usage":true,"include_usage":false},"messages":[{"role":"user"}]}`,
	`{"stream_options":{"include_usage":true},"stream_options":{},"messages":[{"role":"user"}]}`,
	"{\"\xff\":1,\"messages\":[{\"role\":\"\xff\",\"\xff\":\"\xff\",\"content\":\"\xff\"}]}",
	`{"messages":[{"role":"user"},]}`, `{"messages":[,{"role":"user"}]}`, `{"messages":[{"role":"user"} {"role":"user"}]}`,
	`{"messages":[{"role":"user"}]}}`, `{"messages":[{"role":"user"]}`, `{"messages":{"role":[[[`, `{"messages":[{"role":"`,
	`{"messages":[{"role":"user","content":01}]}`, `{"messages":["x"]}x`, `{"messages":[]}`, `{}`, `{`, `[]`, ``,
}

func TestRequestAgainstStdlib(t *testing.T) {
	t.Parallel()
	for _, s := range requests {
		checkRequest(t, []byte(s))
	}
	for _, levels := range []int{9_997, 9_998} { // the body, the list and the message are three more
		deep := strings.Repeat("[", levels) + strings.Repeat("]", levels)
		body := `{"messages":[{"role":"user","content":` + deep + `}]}`
		require.Equal(t, levels == 9_997, json.Valid([]byte(body)))
		checkRequest(t, []byte(body))
	}
}

// FuzzRequest looks for panics, and for requests that encoding/json reads otherwise.
func FuzzRequest(f *testing.F) {
	for _, s := range requests {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) { checkRequest(t, b) })
}

func checkRequest(t *testing.T, b []byte) {
	t.Helper()
	r := Request{Body: b}
	if err := r.parse(); err != nil {
		var e *requestError
		require.ErrorAs(t, err, &e)
		require.Equal(t, http.StatusBadRequest, e.status)
		if json.Valid(b) {
			require.NotContains(t, e.message, "invalid JSON", "%q", b)
		}
		return
	}
	require.True(t, json.Valid(b), "%q", b)

	body := members(t, b)
	var model string
	decode(t, body["model"], &model)
	require.Equal(t, model, r.Model)
	var stream bool
	decode(t, body["stream"], &stream)
	require.Equal(t, stream, r.Stream)
	var include bool
	decode(t, members(t, body["stream_options"])["include_usage"], &include)
	require.Equal(t, include, r.IncludeUsage)
	tools := body["tools"]
	if string(tools) == "null" {
		tools = nil
	}
	require.Equal(t, tools, r.Tools)

	var messages []json.RawMessage
	decode(t, body["messages"], &messages)
	require.Len(t, r.Messages, len(messages))
	for i, m := range r.Messages {
		require.Equal(t, string(messages[i]), string(m.Raw))
		message := members(t, messages[i])
		var role string
		decode(t, message["role"], &role)
		require.Equal(t, role, m.Role)
		require.Equal(t, message["content"], m.Content)
		var text string
		if json.Unmarshal(m.Content, &text) == nil {
			require.Equal(t, text, m.Text())
		}
		_ = m.Text()
		_, _ = newWireMessage(Answer{Message: m.Raw}, "reasoning")

		alone, err := parseMessage(append([]byte(" "), m.Raw...))
		require.NoError(t, err)
		require.Equal(t, m, alone)
	}
}

// members does not fold case, which encoding/json does for structs.
func members(t *testing.T, object json.RawMessage) (m map[string]json.RawMessage) {
	t.Helper()
	decode(t, object, &m)
	return m
}

// decode leaves into as it is when there is no value.
func decode(t *testing.T, value json.RawMessage, into any) {
	t.Helper()
	if value != nil {
		require.NoError(t, json.Unmarshal(value, into))
	}
}
