package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/homing-go/homing/internal/rawjson"
)

// reader is the plain dialect's Reader.
type reader struct {
	raw json.RawMessage // the message of a plain answer

	content, reasoning growing
	reasoningField     string
	calls              callSet
	form               deltaForm
}

func (r *reader) Message(raw json.RawMessage) error {
	r.raw = raw
	return r.read(raw, nil)
}

func (r *reader) Delta(raw json.RawMessage, emit func(Event) bool) error {
	if r.form.take(raw, emit) {
		return nil
	}
	r.form.begin()
	if err := r.read(raw, emit); err != nil {
		return err
	}
	r.form.learn(raw)
	return nil
}

// again takes a delta that is an object like the one before it but for its text, and
// reports whether it did. Such a delta need not be checked before.
func (r *reader) again(raw []byte, emit func(Event) bool) bool {
	return r.form.take(raw, emit)
}

// read takes the members of a message or of a delta; they have the same names.
func (r *reader) read(raw json.RawMessage, emit func(Event) bool) error {
	o := rawjson.Members(raw)
	for o.Next() {
		switch string(o.Key) {
		case "content":
			if !r.takeContent(o.Value, emit) {
				return nil
			}
		case "reasoning_content", "reasoning":
			if r.reasoningField == "" && len(o.Value) > 2 && o.Value[0] == '"' {
				r.reasoningField = string(o.Key)
			}
			// Servers that send both members send the same text in them.
			if string(o.Key) == r.reasoningField && !r.take(o.Value, &r.reasoning, EventReasoning, emit) {
				return nil
			}
		case "tool_calls":
			if rawjson.Kind(o.Value) == 'n' {
				continue
			}
			if more, err := r.calls.add(o.Value, &r.form, emit); err != nil || !more {
				return err
			}
		}
	}
	return o.Err
}

// growing is a text that comes in increments. Each increment is a part of the one
// string that grows, so that handing it out costs nothing.
type growing struct {
	strings.Builder
	scratch []byte
}

// add appends the text of a JSON string and returns it.
func (g *growing) add(quoted []byte) string {
	from := g.Len()
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') >= 0 || !utf8.Valid(inner) {
		g.scratch = rawjson.AppendText(g.scratch[:0], quoted)
		inner = g.scratch
	}
	g.Write(inner)
	return g.String()[from:]
}

// take adds value if it is a string, and reports whether the reader should go on.
func (r *reader) take(value []byte, g *growing, kind EventKind, emit func(Event) bool) bool {
	if len(value) <= 2 || value[0] != '"' {
		return true
	}
	event := Event{Kind: kind}
	r.form.added(value, g, event)
	event.Text = g.add(value)
	return emit == nil || emit(event)
}

// takeContent takes a text, or an array of parts of which some are text.
func (r *reader) takeContent(value []byte, emit func(Event) bool) bool {
	if rawjson.Kind(value) != '[' {
		return r.take(value, &r.content, EventText, emit)
	}
	parts := rawjson.Elements(value)
	for parts.Next() {
		if rawjson.Kind(parts.Value) == '{' && !r.take(rawjson.Get(parts.Value, "text"), &r.content, EventText, emit) {
			return false
		}
	}
	return true
}

func (r *reader) Finish(reason string, done bool) (*Response, error) {
	if r.raw == nil && reason == "" && !done {
		return nil, ErrTruncated
	}
	res := &Response{
		Text:      r.content.String(),
		Reasoning: r.reasoning.String(),
		Finish:    Finish(reason),
		ToolCalls: r.calls.finish(Finish(reason)),
	}
	if r.raw == nil {
		res.Message = assistant{
			content: res.Text, reasoning: res.Reasoning, reasoningField: r.reasoningField, calls: res.ToolCalls,
		}.message()
		return res, nil
	}
	raw := []byte(r.raw)
	if !utf8.Valid(raw) { // no JSON for the server that would get it back
		raw = []byte(string([]rune(string(raw))))
	}
	var err error
	if res.Message, err = rawMessage(raw); err != nil {
		return nil, fmt.Errorf("assistant message of the answer: %w", err)
	}
	return res, nil
}
