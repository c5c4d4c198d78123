package model

import (
	"encoding/json"
	"net/http"
	"time"
)

// Finish is why the model stopped: one of the constants, or what the server said
// when it is none of them.
type Finish string

// The finish reasons of the chat-completions protocol.
const (
	FinishStop          Finish = "stop"
	FinishLength        Finish = "length"
	FinishToolCalls     Finish = "tool_calls"
	FinishContentFilter Finish = "content_filter"
)

// A Response is one whole answer. It belongs to the caller.
type Response struct {
	// Message goes into the history: the bytes as received where the dialect
	// replays them so, else their cleaned form.
	Message   Message
	Text      string
	Reasoning string
	ToolCalls []ToolCall
	// Repairs are the faults of the answer that the dialect mended without loss.
	Repairs []Repair
	Finish  Finish
	Usage   Usage
	Timing  Timing
	// Raw is the assistant message as received; for a stream, as assembled. It may share
	// its bytes with Message and must not be changed.
	Raw json.RawMessage
	// Header is that of the HTTP response which brought the answer, and Trailer what came
	// behind the body: some routers tell only there which backend it was.
	Header, Trailer http.Header
}

// A ToolCall is one call of a tool that the model asks for. A call with Err is
// unsound and must not be carried out: Err says what to tell the model.
type ToolCall struct {
	ID, Name string
	// Arguments is the JSON text of the arguments as the model wrote it; empty if it wrote
	// none, which means no arguments.
	Arguments json.RawMessage
	Err       error
}

// A Repair is a fault that was mended without loss. Kind is a short constant name
// of the dialect; Call is the index in ToolCalls, or -1.
type Repair struct {
	Kind string
	Call int
}

// Usage counts tokens as the server reported them.
type Usage struct {
	PromptTokens     int
	CompletionTokens int
	// CachedTokens of the prompt came from the server's prefix cache. HasCached
	// tells whether the server reported the number at all.
	CachedTokens int
	HasCached    bool
	// ReasoningTokens are those of CompletionTokens spent on thinking.
	ReasoningTokens int
}

// Timing tells how long an answer took from the call on. FirstByte is the time to
// the first byte of the response header of the attempt that succeeded; Total
// includes all attempts and waits.
type Timing struct {
	FirstByte time.Duration
	Total     time.Duration
	Attempts  int
}
