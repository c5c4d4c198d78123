package qwen

// A Kind classes what can be wrong with an answer or with a request. It is an error
// itself, so that errors.Is(err, qwen.KindMissingParam) asks for it.
//
//nolint:errname // a kind is an error too, and is named as a kind
type Kind string

// The kinds of fault. Those up to KindTooLarge are the model's: they go back to it,
// see [FormatError]. The others are the server's or the request's and the model never
// sees them.
//
//nolint:errname // a kind is an error too, and is named as a kind
const (
	// KindNoToolCall: tools were offered, and the answer has no call.
	KindNoToolCall Kind = "no_tool_call"
	// KindBadJSON: the arguments are no JSON and have more than one reading.
	KindBadJSON Kind = "bad_json"
	// KindArgsNotObject: the arguments are JSON, but no object.
	KindArgsNotObject Kind = "args_not_object"
	// KindIncompleteArgs: the call stops early although the server reports no cut.
	KindIncompleteArgs Kind = "incomplete_args"
	// KindTruncated: the answer, and in it the last call, was cut at the token limit.
	KindTruncated Kind = "truncated"
	// KindUnknownTool: no tool of that name was offered.
	KindUnknownTool Kind = "unknown_tool"
	// KindMissingName: the call names no tool.
	KindMissingName Kind = "missing_name"
	// KindMissingParam: a required parameter is absent.
	KindMissingParam Kind = "missing_param"
	// KindBadType: a value does not fit the type in the schema.
	KindBadType Kind = "bad_type"
	// KindBadValue: the type is right and the value cannot be used.
	KindBadValue Kind = "bad_value"
	// KindTooLarge: a payload is over the caller's limit.
	KindTooLarge Kind = "too_large"

	// KindStreamError: the attempt failed on the way or in the server.
	KindStreamError Kind = "stream_error"
	// KindServerParseError: the server could not parse what the model wrote. Sampling
	// again may help, and the backend is not at fault.
	KindServerParseError Kind = "server_parse_error"
	// KindBadHistory: the messages are not acceptable. See [Replay].
	KindBadHistory Kind = "bad_history"
	// KindContextOverflow: prompt and answer do not fit the context.
	KindContextOverflow Kind = "context_overflow"
)

// Error returns the name of the kind.
func (k Kind) Error() string { return string(k) }

// Retryable reports whether the same request may be sent again unchanged.
func (k Kind) Retryable() bool { return k == KindStreamError || k == KindServerParseError }
