package qwen

import (
	"errors"
	"fmt"
	"strings"

	"github.com/homing-go/homing/model"
)

// A FormatError is an answer that cannot be carried out, whole: when one call is unsound
// none of its answer is run, since later calls assume earlier ones. The trajectory goes on
// with Messages.
//
//	var format *qwen.FormatError
//	if errors.As(err, &format) {
//		res, err = trajectory.Send(ctx, format.Messages...)
//	}
type FormatError struct {
	// Kind is that of the first unsound call, [KindNoToolCall], or [KindTruncated].
	Kind Kind
	// Calls are the unsound calls, by their index in the answer.
	Calls map[int]*CallError
	// Messages answer the turn: one tool message for each call, in the order of the
	// calls, so that the assistant turn stays in the history and the model sees what it
	// did. Without a call it is one user message.
	Messages []model.Message

	text string
}

// Error is what the model is told, on one line for each call.
func (e *FormatError) Error() string { return e.text }

// Is matches the error's [Kind].
func (e *FormatError) Is(target error) bool {
	kind, ok := target.(Kind)
	return ok && kind == e.Kind
}

// UserMessage is the error as one user message, for runs that, like the reference agent,
// leave the unsound assistant turn out of the history. A user message ends the part of
// the history whose thinking the chat templates print: the model forgets its plan.
func (e *FormatError) UserMessage() model.Message { return model.User(e.text) }

// Check returns a *[FormatError] when an answer has an unsound call or, although tools
// were offered, none; else nil.
func Check(res *model.Response, tools *model.Tools) error {
	unsound := map[int]*CallError{}
	for i := range res.ToolCalls {
		if err := res.ToolCalls[i].Err; err != nil {
			unsound[i] = asCallError(&res.ToolCalls[i])
		}
	}
	return newFormatError(res, tools, unsound)
}

func asCallError(c *model.ToolCall) *CallError {
	var e *CallError
	if errors.As(c.Err, &e) {
		return e
	}
	return &CallError{Kind: KindBadValue, Tool: c.Name, Reason: c.Err.Error()}
}

func newFormatError(res *model.Response, tools *model.Tools, unsound map[int]*CallError) error {
	if len(res.ToolCalls) == 0 {
		return noCall(res, tools)
	}
	if len(unsound) == 0 {
		return nil
	}
	e := &FormatError{Calls: unsound}
	var lines []string
	for i := range res.ToolCalls {
		c := &res.ToolCalls[i]
		fault := unsound[i]
		if fault == nil {
			e.Messages = append(e.Messages, model.ToolResult(c.ID, "not run: another call in this response was refused"))
			continue
		}
		if e.Kind == "" {
			e.Kind = fault.Kind
		}
		lines = append(lines, fault.Error())
		e.Messages = append(e.Messages, model.ToolResult(c.ID, "the call was refused, and nothing of this response was run. "+fault.Error()))
	}
	e.text = strings.Join(lines, "\n")
	return e
}

// noCall judges an answer without a call.
func noCall(res *model.Response, tools *model.Tools) error {
	e := &FormatError{Kind: KindNoToolCall}
	switch {
	case res.Finish == model.FinishLength:
		e.Kind = KindTruncated
		after := ""
		if n := res.Usage.CompletionTokens; n > 0 {
			after = fmt.Sprintf(" after %d tokens", n)
		}
		e.text = fmt.Sprintf("truncated: your response was cut off%s, before a tool call. Think less before you act and use smaller steps", after)
	case tools.Len() == 0:
		return nil
	default:
		e.text = "no_tool_call: your response has no tool call. Every response must call at least one of the tools: " +
			catalog{tools: tools}.names()
	}
	e.Messages = []model.Message{model.User(e.text)}
	return e
}
