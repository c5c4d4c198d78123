package model

import (
	"encoding/json"
)

// A Dialect adapts the chat-completions wire format to a model family. It
// transforms bytes and has no way to send any, so that no dialect can lose a
// session. Implementations are safe for concurrent use. [OpenAI] is the plain
// one; embed it and replace what differs.
type Dialect interface {
	// AppendTail appends the members of the request object that follow the
	// messages: tools, sampling, extras. dst is an object that is not closed yet
	// and already holds model and stream; each member is preceded by a comma
	// ([AppendMember] writes it).
	AppendTail(dst []byte, req *Request) ([]byte, error)
	// NewReader returns a reader for one attempt at req.
	NewReader(req *Request) Reader
}

// A Reader reads one answer: either Message once, for a plain answer, or Delta
// for each chunk of a stream; then Finish once. It is used by one goroutine.
type Reader interface {
	// Message reads the assistant message of a plain answer. raw stays valid and
	// must not be changed.
	Message(raw json.RawMessage) error
	// Delta reads the delta of one chunk and emits what it holds; when emit
	// returns false the reader stops and returns nil, so the caller has to remember
	// what emit said. raw is valid during the call only.
	Delta(raw json.RawMessage, emit func(Event) bool) error
	// Finish returns the answer. reason is the finish reason as received; done
	// tells that the stream's end mark was seen. At least one of them was there,
	// else the answer is truncated and Finish is not called. Message, Text,
	// Reasoning, ToolCalls, Repairs and Finish are filled here, Message in the form
	// in which it is replayed; usage, timing, header and Raw by the caller.
	Finish(reason string, done bool) (*Response, error)
}
