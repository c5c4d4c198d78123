package routingtest

import (
	"bytes"
	"encoding/json"

	"github.com/homing-go/homing/internal/rawjson"
)

// A wireMessage is an answer in the form from which both kinds of response are
// written.
type wireMessage struct {
	plain          json.RawMessage // a message that is JSON already
	reasoningField string
	reasoning      wireValue
	content        wireValue
	calls          []wireCall
	finish         string
}

type wireCall struct {
	id, name  string
	arguments wireValue
}

// A wireValue is a string, sent in pieces, or another JSON value, sent at once.
type wireValue struct {
	text  string
	other json.RawMessage
}

func (v *wireValue) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		return json.Unmarshal(b, &v.text)
	}
	var line bytes.Buffer // an event is one line
	err := json.Compact(&line, b)
	v.other = line.Bytes()
	return err
}

func (v wireValue) bytes() int { return len(v.text) + len(v.other) }

// newWireMessage fails if a.Message cannot be read, which a plain response need
// not care about.
func newWireMessage(a Answer, reasoningField string) (wireMessage, error) {
	m := wireMessage{reasoningField: reasoningField}
	var err error
	if a.Message != nil {
		err = m.read(a.Message)
	} else {
		m.content.text = a.Text
		m.reasoning.text = a.Reasoning
		for _, c := range a.ToolCalls {
			m.calls = append(m.calls, wireCall{c.ID, c.Name, wireValue{text: c.Arguments}})
		}
	}
	switch {
	case a.Finish != "":
		m.finish = a.Finish
	case len(m.calls) > 0:
		m.finish = "tool_calls"
	default:
		m.finish = "stop"
	}
	return m, err
}

// read takes a message that is JSON already.
func (m *wireMessage) read(raw json.RawMessage) error {
	m.plain = raw
	var in struct {
		Content          *wireValue `json:"content"`
		Reasoning        *wireValue `json:"reasoning"`
		ReasoningContent *wireValue `json:"reasoning_content"`
		ToolCalls        []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string     `json:"name"`
				Arguments *wireValue `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return err
	}
	if in.Content != nil {
		m.content = *in.Content
	}
	switch {
	case in.ReasoningContent != nil:
		m.reasoning, m.reasoningField = *in.ReasoningContent, "reasoning_content"
	case in.Reasoning != nil:
		m.reasoning, m.reasoningField = *in.Reasoning, "reasoning"
	}
	for _, c := range in.ToolCalls {
		call := wireCall{id: c.ID, name: c.Function.Name}
		if c.Function.Arguments != nil {
			call.arguments = *c.Function.Arguments
		}
		m.calls = append(m.calls, call)
	}
	return nil
}

// tokens is the completion in tokens.
func (m *wireMessage) tokens() int {
	n := m.content.bytes() + m.reasoning.bytes()
	for _, c := range m.calls {
		n += len(c.name) + c.arguments.bytes()
	}
	return tokens(n)
}

// appendPlain writes the message of a plain response.
func (m *wireMessage) appendPlain(b []byte) []byte {
	if m.plain != nil {
		return append(b, m.plain...)
	}
	b = append(b, `{"role":"assistant","content":`...)
	if m.content.text == "" && len(m.calls) > 0 {
		b = append(b, "null"...)
	} else {
		b = rawjson.AppendQuoted(b, m.content.text)
	}
	if m.reasoning.text != "" {
		b = append(b, ',')
		b = rawjson.AppendQuoted(b, m.reasoningField)
		b = append(b, ':')
		b = rawjson.AppendQuoted(b, m.reasoning.text)
	}
	for i, c := range m.calls {
		if i == 0 {
			b = append(b, `,"tool_calls":[`...)
		} else {
			b = append(b, ',')
		}
		b = append(b, `{"id":`...)
		b = rawjson.AppendQuoted(b, c.id)
		b = append(b, `,"type":"function","function":{"name":`...)
		b = rawjson.AppendQuoted(b, c.name)
		b = append(b, `,"arguments":`...)
		b = rawjson.AppendQuoted(b, c.arguments.text)
		b = append(b, "}}"...)
	}
	if len(m.calls) > 0 {
		b = append(b, ']')
	}
	return append(b, '}')
}
