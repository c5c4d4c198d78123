package modeltest

import (
	"fmt"
	"strconv"
)

// SSE answers with a stream of these chunks, each the data of one event, and the end
// mark [DONE]. Each is sent at once.
func SSE(chunks ...string) Step {
	return Step{fmt.Sprintf("stream of %d chunks", len(chunks)), func(x *exchange) {
		x.events(chunks...)
		x.chunk("data: [DONE]\n\n")
		x.finish()
	}}
}

// Truncate answers with a stream that ends after so many events, without a finish
// reason and without [DONE]. For HTTP the body is whole: only the protocol's own
// signal is missing. Each event holds a word of the answer.
func Truncate(after int) Step {
	return Step{fmt.Sprintf("stream cut after %d events", after), func(x *exchange) {
		x.events(x.words(after)...)
		x.finish()
	}}
}

// TruncateInside is Truncate with the first half of one more event.
func TruncateInside(after int) Step {
	return Step{fmt.Sprintf("stream cut inside of event %d", after+1), func(x *exchange) {
		list := x.words(after + 1)
		x.events(list[:after]...)
		x.chunk("data: " + list[after][:len(list[after])/2])
		x.finish()
	}}
}

// Break is Truncate with a connection that is closed before the end of the body.
func Break(after int) Step {
	return Step{fmt.Sprintf("connection closed after %d events", after), func(x *exchange) {
		x.events(x.words(after)...)
		x.drop()
	}}
}

// Stall answers with a stream that stays open after so many events, until the client
// closes the connection or the server ends.
func Stall(after int) Step {
	return Step{fmt.Sprintf("stream that stalls after %d events", after), func(x *exchange) {
		x.events(x.words(after)...)
		Hold(nil, Step{}).run(x)
	}}
}

// ShortBody answers with a text in a plain answer whose connection is closed half way
// through the length that its header tells.
func ShortBody(text string) Step {
	return Step{"body shorter than its length", func(x *exchange) {
		body := x.envelope("chat.completion", "message", object("role", "assistant", "content", text), "stop")
		x.head(200, map[string][]string{"Content-Type": {"application/json"}, "Content-Length": {strconv.Itoa(len(body))}})
		_, _ = x.w.WriteString(body[:len(body)/2])
		x.drop()
	}}
}

// words are the chunks of an answer that is never whole.
func (x *exchange) words(n int) []string {
	list := make([]string, n)
	for i := range list {
		delta := object("content", fmt.Sprintf("word%d ", i+1))
		if i == 0 {
			delta = `{"role":"assistant",` + delta[1:]
		}
		list[i] = x.envelope("chat.completion.chunk", "delta", delta, "")
	}
	return list
}
