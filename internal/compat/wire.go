package compat

import (
	"encoding/json"
	"net/http"

	"github.com/homing-go/homing/model/modeltest"
)

// Answer is the text of every answer, which a client must bring back whole.
const Answer = "as you wish"

// A Wire is a protocol that a peer speaks: what the server answers, and how it fails.
type Wire struct {
	plain, streamed modeltest.Step
	failure         modeltest.Step
}

func (w Wire) answer(r modeltest.Recorded) modeltest.Step {
	if streams(r) {
		return w.streamed
	}
	return w.plain
}

// streams reports whether a request asks for a stream. The three protocols say so in
// the same way.
func streams(r modeltest.Recorded) bool {
	var body struct{ Stream bool }
	return json.Unmarshal(r.Body, &body) == nil && body.Stream
}

// fail is a status 500 that may be tried again at once, for clients that listen.
func fail(body string) modeltest.Step {
	return modeltest.Status(500, http.Header{"Retry-After-Ms": {"1"}}, body)
}

func sse(events string) modeltest.Step {
	return modeltest.Status(200, http.Header{"Content-Type": {"text/event-stream"}}, events)
}

const openAIFailure = `{"error":{"message":"try again","type":"server_error","param":null,"code":null}}`

// Chat is OpenAI's chat completions.
var Chat = Wire{plain: modeltest.Reply(Answer), streamed: modeltest.Reply(Answer), failure: fail(openAIFailure)}

// Responses is OpenAI's responses.
var Responses = Wire{
	plain: modeltest.Status(200, nil, responseDone),
	streamed: sse("event: response.created\n" + `data: {"type":"response.created","sequence_number":0,"response":` + responseBegun + "}\n\n" +
		"event: response.output_text.delta\n" + `data: {"type":"response.output_text.delta","sequence_number":1,"item_id":"m1","output_index":0,"content_index":0,"delta":"as you "}` + "\n\n" +
		"event: response.output_text.delta\n" + `data: {"type":"response.output_text.delta","sequence_number":2,"item_id":"m1","output_index":0,"content_index":0,"delta":"wish"}` + "\n\n" +
		"event: response.completed\n" + `data: {"type":"response.completed","sequence_number":3,"response":` + responseDone + "}\n\n"),
	failure: fail(openAIFailure),
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
	plain: modeltest.Status(200, nil, `{"id":"m1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"`+Answer+`"}],`+
		`"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":12,"output_tokens":4}}`),
	streamed: sse("event: message_start\n" + `data: {"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":12,"output_tokens":1}}}` + "\n\n" +
		"event: content_block_start\n" + `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n" +
		"event: content_block_delta\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"as you "}}` + "\n\n" +
		"event: content_block_delta\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"wish"}}` + "\n\n" +
		"event: content_block_stop\n" + `data: {"type":"content_block_stop","index":0}` + "\n\n" +
		"event: message_delta\n" + `data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":4}}` + "\n\n" +
		"event: message_stop\n" + `data: {"type":"message_stop"}` + "\n\n"),
	failure: fail(`{"type":"error","error":{"type":"api_error","message":"try again"}}`),
}
