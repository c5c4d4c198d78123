package qwen

import (
	"encoding/json"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/model"
)

// A reader reads one answer. It collects what comes and judges it as a whole in Finish,
// so that a stream gives the same answer however it was split.
type reader struct {
	tools       *model.Tools
	mode        thinkingMode
	nullContent bool
	turn        int

	content    textBuffer
	reasoning  [2]textBuffer // by name: reasoning_content, reasoning
	calls      callSet
	legacy     callSet // of the member function_call
	streamed   bool
	showing    shower
	parsed     bool // thinking came apart before content did
	contentHas bool
}

var _ model.Reader = (*reader)(nil)

var reasoningNames = [2]string{"reasoning_content", "reasoning"}

// Message implements [model.Reader].
func (r *reader) Message(raw json.RawMessage) error { return r.read(raw, nil) }

// Delta implements [model.Reader]. Text is shown as soon as it is certain to be text;
// calls that stand in the text are never shown, they are in the answer.
func (r *reader) Delta(raw json.RawMessage, emit func(model.Event) bool) error {
	r.streamed, r.calls.delta, r.legacy.delta = true, true, true
	if rawjson.Kind(raw) != '{' {
		return nil
	}
	if emit == nil {
		emit = func(model.Event) bool { return true }
	}
	return r.read(raw, emit)
}

// read takes the members of a message or of a delta; they have the same names.
func (r *reader) read(raw []byte, emit func(model.Event) bool) error {
	more := true
	o := rawjson.Members(raw)
	for o.Next() {
		switch name := string(o.Key); name {
		case "content":
			if !r.streamed {
				r.content.whole = contentOf(o.Value)
				break
			}
			from := len(r.content.pieces)
			r.content.pieces = appendContent(r.content.pieces, o.Value)
			r.noteContent(from)
			more = r.showing.content(r, emit)
		case "reasoning_content", "reasoning":
			at := 0
			if name == reasoningNames[1] {
				at = 1
			}
			switch {
			case rawjson.Kind(o.Value) != '"':
			case !r.streamed:
				r.reasoning[at].whole = textOf(o.Value)
			default:
				r.reasoning[at].pieces = appendText(r.reasoning[at].pieces, o.Value)
				more = r.showing.reasoning(r, emit)
			}
		case "tool_calls":
			var each func(news) bool
			if emit != nil {
				each = func(n news) bool {
					more = emit(model.Event{
						Kind: model.EventToolCall, Call: n.call, ID: n.id, Name: validText(n.name), Text: n.text,
					})
					return more
				}
			}
			if err := r.calls.add(o.Value, each); err != nil {
				return err
			}
		case "function_call":
			if rawjson.Kind(o.Value) == '{' {
				if err := r.legacy.add(o.Value, nil); err != nil {
					return err
				}
			}
		}
		if !more {
			return nil
		}
	}
	return o.Err
}

// noteContent settles, at the first content of a stream, whether thinking comes apart.
// What is new of the content begins at from.
func (r *reader) noteContent(from int) {
	if !r.contentHas && !blank(r.content.pieces[min(from, len(r.content.pieces)):]) {
		r.contentHas = true
		r.parsed = !blank(r.thought())
	}
}

// thought is the thinking that came apart. Servers that send it under both names send it
// twice.
func (r *reader) thought() string {
	if text := r.reasoning[0].String(); text != "" {
		return text
	}
	return r.reasoning[1].String()
}

// A textBuffer is a text that came whole or in pieces.
type textBuffer struct {
	whole  string
	pieces []byte
}

func (b *textBuffer) String() string {
	if b.pieces != nil {
		return string(b.pieces)
	}
	return b.whole
}

// contentOf returns the text of content.
func contentOf(value []byte) string {
	if rawjson.Kind(value) == '"' {
		return textOf(value)
	}
	return string(appendContent(nil, value))
}

// appendContent takes the text of content: a text, or an array of parts.
func appendContent(dst, value []byte) []byte {
	switch rawjson.Kind(value) {
	case '"':
		return appendText(dst, value)
	case '[':
		for a := rawjson.Elements(value); a.Next(); {
			switch rawjson.Kind(a.Value) {
			case '"':
				dst = appendText(dst, a.Value)
			case '{':
				dst = appendText(dst, rawjson.Get(a.Value, "text"))
			}
		}
	}
	return dst
}

// Finish implements [model.Reader]. An answer that the server gave up on is an error that
// the client tries again; what was received so far is returned beside it.
func (r *reader) Finish(reason string, _ bool) (*model.Response, error) {
	a := answer{
		content: r.content.String(), reasoning: r.thought(), structured: r.calls.found(),
		mode: r.mode, parsed: r.parsed, tools: catalog{tools: r.tools}, turn: r.turn, cut: isCut(reason),
	}
	if !r.streamed || !r.contentHas {
		a.parsed = !blank(a.reasoning)
	}
	if len(a.structured) == 0 {
		if a.structured = r.legacy.found(); len(a.structured) > 0 {
			a.repairs.add(RepairFunctionCall, answerRepair)
		}
	}
	a.understand()
	message := assistantMessage{content: a.text, reasoning: a.thinking, calls: a.calls, nullContent: r.nullContent}
	encoded, err := model.Raw(message.encode())
	if err != nil {
		return nil, err
	}
	finish := a.finish(reason)
	res := &model.Response{Message: encoded, Text: a.text, Reasoning: a.thinking, Finish: finish, Repairs: a.repairs}
	if len(a.calls) > 0 {
		res.ToolCalls = make([]model.ToolCall, len(a.calls))
		for i := range a.calls {
			res.ToolCalls[i] = a.calls[i].ToolCall
		}
	}
	if gaveUp(reason) {
		return res, &model.Error{Kind: model.KindServer, Code: reason, Message: "the server gave up on the request"}
	}
	return res, nil
}
