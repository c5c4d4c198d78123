package model

// EventKind tells what an [Event] carries.
type EventKind int

// The kinds of event. A text event holds text of the answer, a reasoning event
// text of its thinking, a tool-call event a part of one call.
const (
	EventText EventKind = iota + 1
	EventReasoning
	EventToolCall
	// EventRestart tells that the answer begins anew, see [Retry.Resend].
	EventRestart
)

// An Event is one increment of a streamed answer. Events are for showing
// progress: what counts is the [Response] at the end, where calls are checked.
type Event struct {
	Kind EventKind
	// Text is the increment: answer, thinking or arguments. It may be empty in the
	// first event of a call.
	Text string
	// Call numbers the call that a tool-call event belongs to, from 0, in the order
	// in which calls began.
	Call int
	// ID and Name are set in the first event of a call that knows them.
	ID, Name string
}
