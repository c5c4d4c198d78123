package compat

import (
	"net/http"
	"strings"
)

// Answer is the text of every answer, which a client must bring back whole.
const Answer = "as you wish"

// A Wire is a protocol that a peer speaks: what the server answers, and how it fails.
type Wire struct{ plain, streamed, failure string }

func (w Wire) answer(r request) reply {
	if r.streams() {
		return reply{status: http.StatusOK, header: http.Header{"Content-Type": {"text/event-stream"}}, body: w.streamed}
	}
	return reply{status: http.StatusOK, header: http.Header{"Content-Type": {"application/json"}}, body: w.plain}
}

// fail is a failure that may be tried again at once, for clients that listen.
func (w Wire) fail() reply {
	header := http.Header{"Content-Type": {"application/json"}, "Retry-After-Ms": {"1"}}
	return reply{status: http.StatusInternalServerError, header: header, body: w.failure}
}

// events writes a stream: each text is the data of an event, and its type too, if
// that is a member of it.
func events(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		if _, after, typed := strings.Cut(d, `{"type":"`); typed {
			name, _, _ := strings.Cut(after, `"`)
			b.WriteString("event: " + name + "\n")
		}
		b.WriteString("data: " + d + "\n\n")
	}
	return b.String()
}

const openAIFailure = `{"error":{"message":"try again","type":"server_error","param":null,"code":null}}`

// Chat is OpenAI's chat completions.
var Chat = Wire{
	plain: `{"id":"c1","object":"chat.completion","created":1700000000,"model":"m",` +
		`"choices":[{"index":0,"message":{"role":"assistant","content":"` + Answer + `"},"finish_reason":"stop"}],"usage":` + chatUsage + `}`,
	streamed: events(
		chatChunk+`"choices":[{"index":0,"delta":{"role":"assistant","content":"as you "},"finish_reason":null}]}`,
		chatChunk+`"choices":[{"index":0,"delta":{"content":"wish"},"finish_reason":null}]}`,
		chatChunk+`"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":`+chatUsage+`}`,
		"[DONE]",
	),
	failure: openAIFailure,
}

const (
	chatChunk = `{"id":"c1","object":"chat.completion.chunk","created":1700000000,"model":"m",`
	chatUsage = `{"prompt_tokens":12,"completion_tokens":4,"total_tokens":16}`
)

// Responses is OpenAI's responses.
var Responses = Wire{
	plain: responseDone,
	streamed: events(
		`{"type":"response.created","sequence_number":0,"response":`+responseBegun+`}`,
		`{"type":"response.output_text.delta","sequence_number":1,"item_id":"m1","output_index":0,"content_index":0,"delta":"as you "}`,
		`{"type":"response.output_text.delta","sequence_number":2,"item_id":"m1","output_index":0,"content_index":0,"delta":"wish"}`,
		`{"type":"response.completed","sequence_number":3,"response":`+responseDone+`}`,
	),
	failure: openAIFailure,
}

const (
	responseBegun = `{"id":"r1","object":"response","created_at":1700000000,"status":"in_progress","model":"m","output":[],"parallel_tool_calls":true,"tool_choice":"auto","tools":[]}`
	responseDone  = `{"id":"r1","object":"response","created_at":1700000000,"status":"completed","model":"m",` +
		`"output":[{"type":"message","id":"m1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"` + Answer + `","annotations":[]}]}],` +
		`"parallel_tool_calls":true,"tool_choice":"auto","tools":[],` +
		`"usage":{"input_tokens":12,"input_tokens_details":{"cached_tokens":0},"output_tokens":4,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":16}}`
)

// Messages is Anthropic's messages.
var Messages = Wire{
	plain: `{"id":"m1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"` + Answer + `"}],` +
		`"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":12,"output_tokens":4}}`,
	streamed: events(
		`{"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":12,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"as you "}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"wish"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":4}}`,
		`{"type":"message_stop"}`,
	),
	failure: `{"type":"error","error":{"type":"api_error","message":"try again"}}`,
}
