package qwen

import (
	"errors"
	"strings"

	"github.com/homing-go/homing/model"
)

// KindOf classes an error of this package or of a call; "" when it is of no kind named
// here, such as a wrong key.
func KindOf(err error) Kind {
	var format *FormatError
	if errors.As(err, &format) {
		return format.Kind
	}
	var call *CallError
	if errors.As(err, &call) {
		return call.Kind
	}
	var history *HistoryError
	if errors.As(err, &history) {
		return KindBadHistory
	}
	var failure *model.Error
	if errors.As(err, &failure) {
		return kindOfFailure(failure)
	}
	return ""
}

func kindOfFailure(e *model.Error) Kind {
	text := strings.ToLower(e.Message)
	switch e.Kind {
	case model.KindContextLength:
		return KindContextOverflow
	case model.KindOutput:
		return KindServerParseError
	case model.KindServer:
		switch {
		case containsAny(text, overflowSigns):
			return KindContextOverflow
		case containsAny(text, historySigns):
			return KindBadHistory
		case containsAny(text, callSigns):
			return KindServerParseError
		}
		return KindStreamError
	case model.KindTruncated, model.KindTransport, model.KindOverloaded, model.KindTimeout, model.KindRateLimited, model.KindResponse:
		return KindStreamError
	case model.KindBadRequest:
		switch {
		case containsAny(text, overflowSigns):
			return KindContextOverflow
		case containsAny(text, callSigns), containsAny(text, historySigns), containsAny(text, jsonSigns):
			return KindBadHistory
		}
	}
	return ""
}

// What servers say, in lower case. A server that could not parse the model's output
// answers with a status of its own fault; one that could not take the history, with one
// of the request's, or, when a chat template fails on it, also with its own. Template
// errors quote the line that failed, and so the names of calls.
var (
	overflowSigns = []string{
		"maximum context length", "context length", "context window", "context size", "exceeds the model", "prompt is too long",
		"input is too long", "range of input length",
	}
	callSigns = []string{
		"tool call", "tool_call", "toolcall", "function call", "xml syntax error", "failed to parse input at pos", "parse xml",
		"does not match the expected", "function.arguments",
	}
	historySigns = []string{
		"no user query", "system message must be", "chat template", "chat_template", "jinja", "unexpected message role",
		"roles must alternate", "can only get item pairs", "has no attribute", "dict object", "conversation roles",
		"undefinederror", "templateerror", "raise_exception", "{%",
	}
	jsonSigns = []string{
		"unterminated string", "expecting value", "expecting ',' delimiter", "expecting ':' delimiter", "expecting property name",
		"extra data", "invalid control character", "invalid \\escape", "invalid \\u", "jsondecodeerror", "unexpected end",
		"invalid json", "not valid json", "illegal trailing comma", "messages",
	}
)

func containsAny(text string, signs []string) bool {
	for _, sign := range signs {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}
