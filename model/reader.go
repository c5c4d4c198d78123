package model

import (
	"encoding/json"
	"fmt"

	"github.com/homing-go/homing/internal/rawjson"
)

// reader is the plain dialect's Reader.
type reader struct {
	raw json.RawMessage // the message of a plain answer

	content, reasoning []byte
	reasoningField     string
	calls              callSet
}

func (r *reader) Message(raw json.RawMessage) error {
	r.raw = raw
	return r.read(raw, nil)
}

func (r *reader) Delta(raw json.RawMessage, emit func(Event) bool) error {
	return r.read(raw, emit)
}

// read takes the members of a message or of a delta; they have the same names.
func (r *reader) read(raw json.RawMessage, emit func(Event) bool) error {
	o := rawjson.Members(raw)
	for o.Next() {
		switch string(o.Key) {
		case "content":
			if rawjson.Kind(o.Value) == '[' {
				r.content = appendParts(r.content, o.Value)
			} else if !appendIncrement(&r.content, o.Value, EventText, emit) {
				return nil
			}
		case "reasoning_content", "reasoning":
			if r.reasoningField == "" && len(o.Value) > 2 && o.Value[0] == '"' {
				r.reasoningField = string(o.Key)
			}
			// Servers that send both members send the same text in them.
			if string(o.Key) == r.reasoningField && !appendIncrement(&r.reasoning, o.Value, EventReasoning, emit) {
				return nil
			}
		case "tool_calls":
			if rawjson.Kind(o.Value) == 'n' {
				continue
			}
			if more, err := r.calls.add(o.Value, emit); err != nil || !more {
				return err
			}
		}
	}
	return o.Err
}

// appendIncrement reports whether the reader should go on.
func appendIncrement(dst *[]byte, value []byte, kind EventKind, emit func(Event) bool) bool {
	if len(value) <= 2 || value[0] != '"' {
		return true
	}
	if emit == nil {
		*dst = rawjson.AppendText(*dst, value)
		return true
	}
	text := rawjson.Text(value)
	*dst = append(*dst, text...)
	return emit(Event{Kind: kind, Text: text})
}

// appendParts takes the text of an array of content parts.
func appendParts(dst, array []byte) []byte {
	parts := rawjson.Elements(array)
	for parts.Next() {
		if rawjson.Kind(parts.Value) == '{' {
			dst = append(dst, rawjson.Text(rawjson.Get(parts.Value, "text"))...)
		}
	}
	return dst
}

func (r *reader) Finish(reason string, _ bool) (*Response, error) {
	res := &Response{
		Text:      string(r.content),
		Reasoning: string(r.reasoning),
		Finish:    Finish(reason),
		ToolCalls: r.calls.finish(Finish(reason)),
	}
	if r.raw == nil {
		res.Message = assistant{
			content: res.Text, reasoning: res.Reasoning, reasoningField: r.reasoningField, calls: res.ToolCalls,
		}.message()
		return res, nil
	}
	var err error
	if res.Message, err = rawMessage(r.raw); err != nil {
		return nil, fmt.Errorf("assistant message of the answer: %w", err)
	}
	return res, nil
}
