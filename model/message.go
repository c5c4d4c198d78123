package model

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/homing-go/homing/internal/rawjson"
)

// A Message is one message of a history, encoded once when it is made. It is
// immutable; the zero Message is no message.
type Message struct {
	json []byte
}

// System returns a system message.
func System(text string) Message { return plain("system", text) }

// User returns a user message.
func User(text string) Message { return plain("user", text) }

// ToolResult returns the answer to one tool call.
func ToolResult(callID, text string) Message {
	b := make([]byte, 0, rawjson.QuotedLen(callID)+rawjson.QuotedLen(text)+48)
	b = append(b, `{"role":"tool","tool_call_id":`...)
	b = rawjson.AppendQuoted(b, callID)
	b = append(b, `,"content":`...)
	b = rawjson.AppendQuoted(b, text)
	return Message{append(b, '}')}
}

// Assistant returns an assistant message with text and calls, for histories that
// did not come from a [Response].
func Assistant(text string, calls ...ToolCall) Message {
	return assistant{content: text, calls: calls}.message()
}

// Raw returns message as it is: no byte of it is changed. It must be one JSON
// object with a string member "role". The bytes are copied.
func Raw(message json.RawMessage) (Message, error) {
	text, err := rawjson.Only(message)
	if err != nil {
		return Message{}, &RequestError{Field: "message", Reason: err.Error()}
	}
	return rawMessage(bytes.Clone(text))
}

// rawMessage is Raw for bytes that are valid JSON and belong to the message.
func rawMessage(text []byte) (Message, error) {
	if rawjson.Kind(text) != '{' {
		return Message{}, &RequestError{Field: "message", Reason: fmt.Sprintf("want a JSON object, got %.20q", text)}
	}
	if rawjson.Kind(rawjson.Get(text, "role")) != '"' {
		return Message{}, &RequestError{Field: "message", Reason: `the member "role" is missing or no string`}
	}
	return Message{text}, nil
}

// JSON returns the encoded message. It must not be changed.
func (m Message) JSON() json.RawMessage { return m.json[:len(m.json):len(m.json)] }

// MarshalJSON returns the message, for encoding/json, which escapes <, > and & in it unless
// its encoder is told not to. Where bytes must stay as they are, use JSON and [Raw].
func (m Message) MarshalJSON() ([]byte, error) {
	if len(m.json) == 0 {
		return []byte("null"), nil
	}
	return m.json, nil
}

// UnmarshalJSON is [Raw].
func (m *Message) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*m = Message{}
		return nil
	}
	parsed, err := Raw(text)
	if err == nil {
		*m = parsed
	}
	return err
}

// ParseMessages takes a history that [Snapshot.JSON] wrote, byte for byte, for a trajectory
// that goes on after a break.
func ParseMessages(array json.RawMessage) ([]Message, error) {
	var messages []Message
	elements := rawjson.Elements(array)
	for elements.Next() {
		m, err := Raw(elements.Value)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", len(messages), err)
		}
		messages = append(messages, m)
	}
	if elements.Err != nil {
		return nil, &RequestError{Field: "messages", Reason: elements.Err.Error()}
	}
	return messages, nil
}

// Role returns the member "role"; "" for the zero Message.
func (m Message) Role() string {
	if len(m.json) == 0 {
		return ""
	}
	return rawjson.Text(rawjson.Get(m.json, "role"))
}

func plain(role, text string) Message {
	b := make([]byte, 0, len(role)+rawjson.QuotedLen(text)+24)
	b = append(b, `{"role":"`...)
	b = append(b, role...)
	b = append(b, `","content":`...)
	b = rawjson.AppendQuoted(b, text)
	return Message{append(b, '}')}
}

// assistant is an assistant message as it is assembled from a stream.
type assistant struct {
	content, reasoning string
	// reasoningField is the member in which the server sent the thinking.
	reasoningField string
	calls          []ToolCall
}

func (a assistant) message() Message {
	size := len(a.content) + len(a.reasoning)
	for _, c := range a.calls {
		size += len(c.ID) + len(c.Name) + len(c.Arguments) + 80
	}
	b := make([]byte, 0, size+size/16+96)
	b = append(b, `{"role":"assistant","content":`...)
	if a.content == "" && len(a.calls) > 0 {
		b = append(b, "null"...)
	} else {
		b = rawjson.AppendQuoted(b, a.content)
	}
	if a.reasoning != "" {
		b = append(b, ',')
		b = rawjson.AppendQuoted(b, a.reasoningField)
		b = append(b, ':')
		b = rawjson.AppendQuoted(b, a.reasoning)
	}
	if len(a.calls) > 0 {
		b = append(b, `,"tool_calls":[`...)
		for i, c := range a.calls {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, `{"id":`...)
			b = rawjson.AppendQuoted(b, c.ID)
			b = append(b, `,"type":"function","function":{"name":`...)
			b = rawjson.AppendQuoted(b, c.Name)
			b = append(b, `,"arguments":`...)
			b = rawjson.AppendQuoted(b, []byte(c.Arguments))
			b = append(b, `}}`...)
		}
		b = append(b, ']')
	}
	return Message{append(b, '}')}
}
