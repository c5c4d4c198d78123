package modeltest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/homing-go/homing/internal/rawjson"
)

// Reply answers with a text, as a stream if the request asks for one.
func Reply(text string) Step {
	return Step{"reply", func(x *exchange) { x.message(object("role", "assistant", "content", text), "stop") }}
}

// ToolCall answers with one call of a tool; args is the JSON text of its arguments.
// The call's ID is "call_" and the number of the request, from 1.
func ToolCall(name, args string) Step {
	return Step{"tool call " + name, func(x *exchange) {
		call := object("id", fmt.Sprintf("call_%d", x.number), "type", "function", "function", raw(object("name", name, "arguments", args)))
		x.message(object("role", "assistant", "content", nil, "tool_calls", raw("["+call+"]")), "tool_calls")
	}}
}

// Message answers with an assistant message, whose bytes are sent as they are; if the
// request asks for a stream, in pieces. What is no JSON object fails the test.
func Message(message json.RawMessage) Step {
	if err := rawjson.Valid(message); err != nil || rawjson.Kind(message) != '{' {
		return Step{name: "a message that is no JSON object"}
	}
	text := string(message)
	return Step{"message", func(x *exchange) {
		finish := "stop"
		if rawjson.Kind(member([]byte(text), "tool_calls")) == '[' {
			finish = "tool_calls"
		}
		x.message(text, finish)
	}}
}

const usage = `{"prompt_tokens":12,"completion_tokens":4,"total_tokens":16,"prompt_tokens_details":{"cached_tokens":0}}`

func (x *exchange) message(message, finish string) {
	if x.request.streamed() {
		x.events(slices.Concat(x.deltas(message), []string{x.envelope("chat.completion.chunk", "delta", "{}", finish), "[DONE]"})...)
		x.finish()
		return
	}
	x.whole(200, nil, x.envelope("chat.completion", "message", message, finish))
}

// envelope is a whole answer or a chunk of one. An empty finish reason is null.
func (x *exchange) envelope(kind, name, value, finish string) string {
	reason, tail := "null", "}"
	if finish != "" {
		reason, tail = quote(finish), `,"usage":`+usage+"}"
	}
	return fmt.Sprintf(`{"id":"chatcmpl-%d","object":"%s","created":1700000000,"model":"scripted","choices":[{"index":0,"%s":%s,"finish_reason":%s}]%s`,
		x.number, kind, name, value, reason, tail)
}

// deltas takes a message apart. Texts and arguments come in pieces of a few bytes.
func (x *exchange) deltas(message string) []string {
	var list []string
	role := true
	add := func(delta string) {
		if role {
			delta, role = `{"role":"assistant",`+delta[1:], false
		}
		list = append(list, x.envelope("chat.completion.chunk", "delta", delta, ""))
	}
	for o := rawjson.Members([]byte(message)); o.Next(); {
		name, v := string(o.Key), o.Value
		switch {
		case name == "role" || rawjson.Kind(v) == 'n':
		case name == "tool_calls" && v[0] == '[':
			calls := rawjson.Elements(v)
			for i := 0; calls.Next(); i++ {
				callDeltas(i, calls.Value, add)
			}
		case v[0] == '"':
			for _, piece := range pieces(rawjson.Text(v)) {
				add(object(name, piece))
			}
		default:
			add(object(name, raw(v)))
		}
	}
	if role {
		add(`{"content":""}`)
	}
	return list
}

func callDeltas(index int, call json.RawMessage, add func(string)) {
	function := member(call, "function")
	begin := object("index", index, "id", raw(orNull(member(call, "id"))), "type", "function",
		"function", raw(object("name", raw(orNull(member(function, "name"))), "arguments", "")))
	add(object("tool_calls", raw("["+begin+"]")))
	for _, piece := range pieces(rawjson.Text(member(function, "arguments"))) {
		more := object("index", index, "function", raw(object("arguments", piece)))
		add(object("tool_calls", raw("["+more+"]")))
	}
}

// pieces cuts a text behind its spaces.
func pieces(text string) []string {
	list := strings.SplitAfter(text, " ")
	if list[len(list)-1] == "" {
		list = list[:len(list)-1]
	}
	return list
}
