package model_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/homing-go/homing/model"
	"github.com/stretchr/testify/require"
)

func TestConfigRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		cfg   model.Config
		field string
		says  string
	}{
		"no base URL":         {model.Config{Model: "m"}, "BaseURL", "http://localhost:8000/v1"},
		"no scheme":           {model.Config{Model: "m", BaseURL: "localhost:8000/v1"}, "BaseURL", "http"},
		"path only":           {model.Config{Model: "m", BaseURL: "/v1"}, "BaseURL", "scheme"},
		"other scheme":        {model.Config{Model: "m", BaseURL: "ftp://host/v1"}, "BaseURL", "ftp://host/v1"},
		"no host":             {model.Config{Model: "m", BaseURL: "http:///v1"}, "BaseURL", "host"},
		"port only":           {model.Config{Model: "m", BaseURL: "http://:80/v1"}, "BaseURL", "host"},
		"query":               {model.Config{Model: "m", BaseURL: "http://host/v1?a=b"}, "BaseURL", "query"},
		"no model":            {model.Config{BaseURL: "http://host/v1"}, "Model", "empty"},
		"blank model":         {model.Config{BaseURL: "http://host/v1", Model: " "}, "Model", "empty"},
		"negative wait":       {model.Config{BaseURL: "http://host/v1", Model: "m", Retry: model.Retry{MinWait: -1}}, "Retry.MinWait", "negative"},
		"waits in order":      {model.Config{BaseURL: "http://host/v1", Model: "m", Retry: model.Retry{MinWait: 2, MaxWait: 1}}, "Retry.MaxWait", "below"},
		"key with a line end": {model.Config{BaseURL: "http://host/v1", Model: "m", APIKey: "sk-secret\n"}, "APIKey", "byte 9"},
		"negative limit":      {model.Config{BaseURL: "http://host/v1", Model: "m", Limits: model.Limits{ResponseBytes: -1}}, "Limits.ResponseBytes", "negative"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := model.New(test.cfg)
			var config *model.ConfigError
			require.ErrorAs(t, err, &config)
			require.Equal(t, test.field, config.Field)
			require.ErrorContains(t, err, test.says)
			require.NotContains(t, err.Error(), "secret")
		})
	}
	_, err := model.New(model.Config{Model: "m", BaseURL: "ftp://user:password@host/v1"})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "password")
	_, err = model.New(model.Config{Model: "m", BaseURL: "http://host/v1", Retry: model.Retry{MinWait: time.Minute}})
	require.NoError(t, err, "MaxWait follows MinWait")
}

// The tail of a request has what was set and nothing else; an explicit zero is sent.
func TestRequestMembers(t *testing.T) {
	t.Parallel()
	tools, err := model.NewTools(model.ToolDef{Name: "bash", Description: "run <b> & more", Parameters: json.RawMessage(`{"type":"object"}`)})
	require.NoError(t, err)
	for name, test := range map[string]struct {
		req  model.Request
		want string
	}{
		"nothing": {model.Request{}, `{"model":"m"`},
		"zeros": {
			model.Request{Params: model.Params{
				Temperature: new(0.0), TopP: new(0.0), TopK: new(0), MinP: new(0.0), Seed: new(int64(0)), MaxTokens: new(0),
				PresencePenalty: new(0.0), FrequencyPenalty: new(0.0), RepetitionPenalty: new(0.0), Stop: []string{},
			}},
			`{"model":"m","temperature":0,"top_p":0,"min_p":0,"presence_penalty":0,"frequency_penalty":0,"repetition_penalty":0,"top_k":0,"seed":0,"max_tokens":0,"stop":[]`,
		},
		"values": {
			model.Request{Params: model.Params{Temperature: new(0.7), TopK: new(-1), Seed: new(int64(math.MaxInt64)), Stop: []string{"a\"", "<b>"}}},
			`{"model":"m","temperature":0.7,"top_k":-1,"seed":9223372036854775807,"stop":["a\"","<b>"]`,
		},
		"tools and extras": {
			model.Request{Tools: tools, Extra: map[string]json.RawMessage{"z": json.RawMessage(`1`), "chat_template_kwargs": json.RawMessage(`{"enable_thinking": false}`)}},
			`{"model":"m","tools":[{"type":"function","function":{"name":"bash","description":"run <b> & more","parameters":{"type":"object"}}}],"chat_template_kwargs":{"enable_thinking": false},"z":1`,
		},
	} {
		got, err := model.OpenAI{}.AppendTail([]byte(`{"model":"m"`), &test.req)
		require.NoError(t, err, name)
		require.Equal(t, test.want, string(got), name)
		require.True(t, json.Valid(append(got, '}')), name)
	}
}

func TestRequestRefused(t *testing.T) {
	t.Parallel()
	s, url := serve(t, answer(okAnswer))
	b, err := model.New(model.Config{BaseURL: url, Model: "m", Retry: quick})
	require.NoError(t, err)
	tools, err := model.ParseTools(json.RawMessage(`[{"type":"function","function":{"name":"f"}}]`))
	require.NoError(t, err)
	history := ask("x").Messages
	for name, test := range map[string]struct {
		req   *model.Request
		field string
	}{
		"nil":           {nil, "Request"},
		"no messages":   {&model.Request{}, "Messages"},
		"NaN":           {&model.Request{Messages: history, Params: model.Params{Temperature: new(math.NaN())}}, "Params.Temperature"},
		"infinite":      {&model.Request{Messages: history, Params: model.Params{TopP: new(math.Inf(1))}}, "Params.TopP"},
		"extra no JSON": {&model.Request{Messages: history, Extra: map[string]json.RawMessage{"a": json.RawMessage(`{`)}}, `Extra["a"]`},
		"extra nil":     {&model.Request{Messages: history, Extra: map[string]json.RawMessage{"a": nil}}, `Extra["a"]`},
		"messages":      {&model.Request{Messages: history, Extra: map[string]json.RawMessage{"messages": json.RawMessage(`[]`)}}, `Extra["messages"]`},
		"model":         {&model.Request{Messages: history, Extra: map[string]json.RawMessage{"model": json.RawMessage(`"n"`)}}, `Extra["model"]`},
		"stream":        {&model.Request{Messages: history, Extra: map[string]json.RawMessage{"stream": json.RawMessage(`true`)}}, `Extra["stream"]`},
		"tools twice":   {&model.Request{Messages: history, Tools: tools, Extra: map[string]json.RawMessage{"tools": json.RawMessage(`[]`)}}, `Extra["tools"]`},
		"twice":         {&model.Request{Messages: history, Params: model.Params{Seed: new(int64(1))}, Extra: map[string]json.RawMessage{"seed": json.RawMessage(`1`)}}, `Extra["seed"]`},
	} {
		_, err := b.Generate(routed(), test.req)
		var request *model.RequestError
		require.ErrorAs(t, err, &request, name)
		require.Equal(t, test.field, request.Field, name)
		_, err = b.Stream(routed(), test.req).Response()
		require.ErrorAs(t, err, &request, name)
	}
	require.Empty(t, s.requests())
}

func TestMessagesAndTools(t *testing.T) {
	t.Parallel()
	text := "<a> & \"b\" \\ \n\t\x01 é 漢\u2028"
	for want, m := range map[string]model.Message{"system": model.System(text), "user": model.User(text), "tool": model.ToolResult("id\"1", text)} {
		var got map[string]string
		require.NoError(t, json.Unmarshal(m.JSON(), &got))
		require.Equal(t, text, got["content"])
		require.Equal(t, want, got["role"])
		require.Equal(t, want, m.Role())
		require.Contains(t, string(m.JSON()), "<a> &", "nothing is escaped that need not be")
	}
	raw := ` {"z":1.00, "role" : "assistant" ,"content":null} `
	m, err := model.Raw(json.RawMessage(raw))
	require.NoError(t, err)
	require.Equal(t, strings.TrimSpace(raw), string(m.JSON()))
	for _, bad := range []string{"", "null", "[]", `"x"`, "{}", `{"role":1}`, `{"role":"user"`, `{"role":"user"} {}`} {
		_, err := model.Raw(json.RawMessage(bad))
		require.Error(t, err, bad)
	}
	require.Empty(t, model.Message{}.Role())

	call := model.Assistant("", model.ToolCall{ID: "1", Name: "f", Arguments: json.RawMessage(`{"a":"<b>"}`)})
	require.Equal(t, `{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\":\"<b>\"}"}}]}`, string(call.JSON()))

	for _, bad := range []string{"", "{}", `[1]`, `[{"function":{}}]`, `[{"function":{"name":"f","parameters":1}}]`, `[{"function":{"name":"f"}},{"function":{"name":"f"}}]`} {
		_, err := model.ParseTools(json.RawMessage(bad))
		require.Error(t, err, bad)
	}
	_, err = model.NewTools(model.ToolDef{Name: "f", Parameters: json.RawMessage(`{`)})
	require.Error(t, err)
	var none *model.Tools
	require.Zero(t, none.Len())
	require.Nil(t, none.JSON())
}
