package model

import (
	"encoding/json"
	"fmt"
)

// A Request is one turn. It is not changed by the client and may be used again.
type Request struct {
	Messages Snapshot
	// Tools may be nil.
	Tools  *Tools
	Params Params
	// Extra holds any other top-level member of the request, such as
	// chat_template_kwargs or tool_choice, each value a JSON text.
	Extra map[string]json.RawMessage
}

// A RequestError tells what is wrong with a [Request] before anything was sent.
type RequestError struct {
	// Field is the part that is wrong, such as "Params.Temperature".
	Field string
	// Reason says what is wrong and what to do.
	Reason string
}

func (e *RequestError) Error() string {
	return fmt.Sprintf("model: request: %s: %s", e.Field, e.Reason)
}

// Params are sampling parameters. What is nil is not sent; an explicit zero is.
type Params struct {
	Temperature       *float64
	TopP              *float64
	TopK              *int
	MinP              *float64
	Seed              *int64
	MaxTokens         *int
	PresencePenalty   *float64
	FrequencyPenalty  *float64
	RepetitionPenalty *float64
	Stop              []string
}
