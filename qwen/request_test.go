package qwen_test

import (
	"encoding/json"
	"testing"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/qwen"
	"github.com/stretchr/testify/require"
)

// tail returns the members that a dialect writes behind the messages.
func tail(t *testing.T, options qwen.Options, req *model.Request) string {
	t.Helper()
	out, err := qwen.NewDialect(options).AppendTail([]byte(`{"model":"m"`), req)
	require.NoError(t, err)
	again, err := qwen.NewDialect(options).AppendTail([]byte(`{"model":"m"`), req)
	require.NoError(t, err)
	require.Equal(t, string(out), string(again), "the bytes are the same on every attempt")
	out = append(out, '}')
	require.True(t, json.Valid(out), "%s", out)
	return string(out)
}

// Nothing is sent that was not asked for; switches go where the server reads them, and
// what the request sets itself wins.
func TestTail(t *testing.T) {
	t.Parallel()
	on, budget, cold := true, 512, 0.0
	thinking := qwen.Options{EnableThinking: &on, PreserveThinking: new(bool), ThinkingBudget: &budget}
	extra := func(members string) *model.Request {
		req := &model.Request{}
		require.NoError(t, json.Unmarshal([]byte(members), &req.Extra))
		return req
	}
	dashscope := thinking
	dashscope.Server = qwen.DashScope
	for name, test := range map[string]struct {
		options qwen.Options
		req     *model.Request
		want    string
	}{
		"nothing":  {qwen.Options{}, &model.Request{}, `{"model":"m"}`},
		"template": {thinking, &model.Request{}, `{"model":"m","chat_template_kwargs":{"enable_thinking":true,"preserve_thinking":false,"thinking_budget":512}}`},
		"template, with the request's": {
			qwen.Options{EnableThinking: &on, ReasoningEffort: "low"},
			extra(`{"chat_template_kwargs": {"enable_thinking": false, "a": 1.0} }`),
			`{"model":"m","chat_template_kwargs":{"enable_thinking": false, "a": 1.0,"reasoning_effort":"low"}}`,
		},
		"template, empty": {qwen.Options{EnableThinking: &on}, extra(`{"chat_template_kwargs": { }}`), `{"model":"m","chat_template_kwargs":{"enable_thinking":true}}`},
		"top level":       {dashscope, &model.Request{}, `{"model":"m","enable_thinking":true,"preserve_thinking":false,"thinking_budget":512}`},
		"top level, with the request's": {
			dashscope, extra(`{"enable_thinking": false, "a": 1}`), `{"model":"m","a":1,"enable_thinking":false,"preserve_thinking":false,"thinking_budget":512}`,
		},
		"defaults": {qwen.Options{Params: model.Params{TopK: &budget, Temperature: &cold, Stop: []string{"x"}}}, &model.Request{Params: model.Params{TopK: new(int)}}, `{"model":"m","temperature":0,"top_k":0,"stop":["x"]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.JSONEq(t, test.want, tail(t, test.options, test.req))
		})
	}
	for field, bad := range map[string]struct {
		options qwen.Options
		req     *model.Request
	}{
		"ThinkingBudget":                {qwen.Options{Server: qwen.DashScope, ThinkingBudget: &budget, ReasoningEffort: "low"}, &model.Request{}},
		"Server":                        {qwen.Options{Server: "x"}, &model.Request{}},
		`Extra["chat_template_kwargs"]`: {qwen.Options{EnableThinking: &on}, extra(`{"chat_template_kwargs": 3}`)},
	} {
		_, err := qwen.NewDialect(bad.options).AppendTail([]byte(`{"model":"m"`), bad.req)
		var e *model.RequestError
		require.ErrorAs(t, err, &e)
		require.Equal(t, field, e.Field)
	}
	req := extra(`{"chat_template_kwargs": {"a": 1}}`)
	tail(t, thinking, req)
	require.JSONEq(t, `{"a": 1}`, string(req.Extra["chat_template_kwargs"]), "the request is not changed")
}

// A tool without parameters is sent with an empty object schema; sound definitions keep
// their bytes.
func TestToolSchemas(t *testing.T) {
	t.Parallel()
	sent := func(tools string) string {
		out := tail(t, qwen.Options{}, &model.Request{Tools: must(model.ParseTools([]byte(tools)))})
		var body struct{ Tools json.RawMessage }
		require.NoError(t, json.Unmarshal([]byte(out), &body))
		return string(body.Tools)
	}
	sound := `[ {"type":"function", "function": {"name":"f","parameters":{"type":"object" ,"properties":{}},"strict":true}}]`
	require.Equal(t, sound, sent(sound))
	for in, want := range map[string]string{
		`[{"type":"function","function":{"name":"f"}}]`:                                              `[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}}]`,
		`[{"type":"function","function":{"name":"f","parameters":null,"strict":true}}]`:              `[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}},"strict":true}}]`,
		`[{"type":"function","function":{"name":"f","parameters":{ }}}]`:                             `[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}}]`,
		`[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]`:               `[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}}]`,
		`[{"type":"function","function":{"name":"f","parameters":{"additionalProperties":false}}}]`:  `[{"type":"function","function":{"name":"f","parameters":{"additionalProperties":false,"properties":{}}}}]`,
		`[{"type":"function","function":{"name":"f","parameters":{"$ref":"#/$defs/a","$defs":{}}}}]`: `[{"type":"function","function":{"name":"f","parameters":{"$ref":"#/$defs/a","$defs":{}}}}]`,
	} {
		require.Equal(t, want, sent(in))
	}
}

// The thinking switch of a request, wherever it stands, tells how its answer is read.
func TestSwitchDecidesReading(t *testing.T) {
	t.Parallel()
	read := func(options qwen.Options, extra string) *model.Response {
		req := &model.Request{}
		require.NoError(t, json.Unmarshal([]byte(extra), &req.Extra))
		reader := qwen.NewDialect(options).NewReader(req)
		require.NoError(t, reader.Message([]byte(`{"content":null,"reasoning":"The answer."}`)))
		res, err := reader.Finish("stop", true)
		require.NoError(t, err)
		return res
	}
	off := qwen.Options{EnableThinking: new(bool), PromptOpensThinking: true}
	for _, res := range []*model.Response{
		read(off, `{}`), read(qwen.Options{}, `{"enable_thinking": false}`), read(qwen.Options{}, `{"chat_template_kwargs": {"enable_thinking": false}}`),
	} {
		require.Equal(t, "The answer.", res.Text)
		require.Empty(t, res.Reasoning)
	}
	for _, res := range []*model.Response{read(off, `{"enable_thinking": true}`), read(qwen.Options{}, `{}`)} {
		require.Empty(t, res.Text)
		require.Equal(t, "The answer.", res.Reasoning)
	}
}

// Every profile has a temperature above zero, and the benchmark's is what its rules fix.
func TestProfiles(t *testing.T) {
	t.Parallel()
	require.NotEmpty(t, qwen.Profiles())
	for _, name := range qwen.Profiles() {
		options, err := qwen.Profile(name)
		require.NoError(t, err)
		require.Positive(t, *options.Params.Temperature, name)
		require.Positive(t, *options.Params.TopP, name)
		require.Positive(t, *options.Params.TopK, name)
	}
	options, err := qwen.Profile("mlperf-agentic")
	require.NoError(t, err)
	require.JSONEq(t, `{"model":"m","temperature":1,"top_p":0.95,"presence_penalty":1.5,"repetition_penalty":1,"top_k":20,"max_tokens":8192,"chat_template_kwargs":{"preserve_thinking":true}}`,
		tail(t, options, &model.Request{}))
	_, err = qwen.Profile("qwen9")
	require.ErrorContains(t, err, "qwen3.6-code")
}
