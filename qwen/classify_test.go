package qwen_test

import (
	"testing"
	"time"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/model/modeltest"
	"github.com/homing-go/homing/qwen"
	"github.com/homing-go/homing/routing"
	"github.com/stretchr/testify/require"
)

// What servers answer to a request that fails is classed by whose fault it is, and the same
// request goes out again only where that may help.
func TestFailuresAreClassed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status int
		body   string
		want   qwen.Kind
		again  bool
	}{
		"llama.cpp cannot parse the output": {500, `{"error":{"code":500,"type":"server_error","message":"Failed to parse input at pos 12: <tool_call>\n<function=bash> from jinja2 import Template {% if %}"}}`, qwen.KindServerParseError, true},
		"llama.cpp, arguments":              {500, `{"error":{"code":500,"message":"Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] unexpected end of input"}}`, qwen.KindServerParseError, true},
		"Ollama, XML":                       {500, `{"error":{"message":"XML syntax error on line 5: element <function> closed by </parameter>","type":"api_error"}}`, qwen.KindServerParseError, true},
		"Ollama, JSON":                      {500, `{"error":"error parsing tool call: raw='{\"command\": ls', err=invalid character 'l'"}`, qwen.KindServerParseError, true},
		"another server":                    {500, `{"error":{"message":"could not decode the model's function call"}}`, qwen.KindServerParseError, true},
		"template, on a text":               {500, `{"error":{"message":"Expected iterable or object type in for loop: got String at row 28, column 45: {%- for name, value in tool_call.arguments|items %}"}}`, qwen.KindBadHistory, true},
		"template, 400":                     {400, `{"error":{"message":"Can only get item pairs from a mapping. None","type":"BadRequestError"}}`, qwen.KindBadHistory, false},
		"broken arguments":                  {400, `{"error":{"message":"Unterminated string starting at: line 1 column 13 (char 12)"}}`, qwen.KindBadHistory, false},
		"broken arguments, in other words":  {400, `{"object":"error","message":"Expecting value: line 1 column 1 (char 0)","type":"BadRequestError","code":400}`, qwen.KindBadHistory, false},
		"DashScope, arguments":              {400, `{"error":{"code":"invalid_parameter_error","message":"<400> InternalError.Algo.InvalidParameter: The \"function.arguments\" parameter of the code model must be in JSON format."}}`, qwen.KindBadHistory, false},
		"no user message":                   {400, `{"error":{"message":"No user query found in messages."}}`, qwen.KindBadHistory, false},
		"system message in the middle":      {400, `{"error":{"message":"System message must be at the beginning."}}`, qwen.KindBadHistory, false},
		"an answer without its call":        {400, `{"error":{"message":"messages with role 'tool' must follow a message with 'tool_calls'"}}`, qwen.KindBadHistory, false},
		"DashScope, length":                 {400, `{"error":{"message":"Range of input length should be [1, 129024]"}}`, qwen.KindContextOverflow, false},
		"vLLM, length":                      {400, `{"error":{"message":"This model's maximum context length is 32768 tokens. However, you requested 41000 tokens in the messages"}}`, qwen.KindContextOverflow, false},
		"llama.cpp, length":                 {400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error"}}`, qwen.KindContextOverflow, false},
		"a wrong parameter":                 {400, `{"error":{"message":"temperature must be non-negative, got -1.0."}}`, "", false},
		"no parser":                         {400, `{"error":{"message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"}}`, "", false},
		"thinking and not streamed":         {400, `{"error":{"message":"parameter.enable_thinking must be set to false for non-streaming calls"}}`, "", false},
		"no key":                            {401, `{"error":{"message":"invalid key"}}`, "", false},
		"no model":                          {404, `{"error":{"message":"The model does not exist."}}`, "", false},
		"the engine died":                   {500, `{"error":{"message":"EngineCore encountered an issue."}}`, qwen.KindStreamError, true},
		"no words":                          {502, `<html>bad gateway</html>`, qwen.KindStreamError, true},
		"too many":                          {429, `{"error":{"message":"slow down"}}`, qwen.KindStreamError, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requests := 1
			if test.again {
				requests = 2
			}
			steps := make([]modeltest.Step, requests)
			for i := range steps {
				steps[i] = modeltest.Status(test.status, nil, test.body)
			}
			server := modeltest.NewServer(t, steps...)
			client, err := qwen.New(qwen.Config{Config: model.Config{BaseURL: server.URL(), Model: "qwen", Retry: model.Retry{Max: 1, MinWait: time.Millisecond, MaxWait: time.Millisecond}}})
			require.NoError(t, err)
			t.Cleanup(client.CloseIdleConnections)
			ctx := routing.NewContext(t.Context(), routing.NewSession(routing.NewID()))
			_, err = client.Generate(ctx, &model.Request{Messages: model.NewTranscript(model.User("x")).Snapshot(), Tools: fuzzTools})
			require.Error(t, err)
			require.Equal(t, test.want, qwen.KindOf(err), "%v", err)
			if test.again {
				sent := server.Requests()
				require.Equal(t, rawjson.Get(sent[0].Body, "messages"), rawjson.Get(sent[1].Body, "messages"))
			}
		})
	}
	require.Equal(t, qwen.KindServerParseError, qwen.KindOf(&model.Error{Kind: model.KindOutput}), "whatever its words are")
	require.Equal(t, qwen.KindStreamError, qwen.KindOf(&model.Error{Kind: model.KindResponse}), "a chunk that is no JSON")
}
