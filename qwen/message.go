package qwen

import (
	"github.com/homing-go/homing/internal/rawjson"
)

// An assistantMessage is an assistant turn in the form in which it is replayed: thinking
// under both names that servers read, calls structured, their arguments the text of one
// JSON object.
type assistantMessage struct {
	content, reasoning string
	calls              []judged
	// nullContent writes null instead of an empty content beside calls.
	nullContent bool
}

func (m *assistantMessage) encode() []byte {
	size := len(m.content) + 2*len(m.reasoning)
	for i := range m.calls {
		c := &m.calls[i]
		size += len(c.ID) + len(c.Name) + len(c.replay) + len(c.replay)/8 + 80
	}
	b := make([]byte, 0, size+size/16+96)
	b = append(b, `{"role":"assistant","content":`...)
	if m.content == "" && m.nullContent && len(m.calls) > 0 {
		b = append(b, "null"...)
	} else {
		b = rawjson.AppendQuoted(b, m.content)
	}
	b = m.appendReasoning(b)
	if len(m.calls) > 0 {
		b = append(b, `,"tool_calls":`...)
		b = appendCalls(b, m.calls)
	}
	return append(b, '}')
}

// appendReasoning writes the thinking under both names. Servers read the one or the other,
// and none adds them up.
func (m *assistantMessage) appendReasoning(b []byte) []byte {
	if m.reasoning == "" {
		return b
	}
	b = append(b, `,"reasoning_content":`...)
	start := len(b)
	b = rawjson.AppendQuoted(b, m.reasoning)
	end := len(b)
	b = append(b, `,"reasoning":`...)
	return append(b, b[start:end]...)
}

func appendCalls(b []byte, calls []judged) []byte {
	b = append(b, '[')
	for i := range calls {
		c := &calls[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"id":`...)
		b = rawjson.AppendQuoted(b, c.ID)
		b = append(b, `,"type":"function","function":{"name":`...)
		name := c.Name
		if name == "" {
			name = "unnamed" // servers refuse a history with an empty name
		}
		b = rawjson.AppendQuoted(b, name)
		b = append(b, `,"arguments":`...)
		b = rawjson.AppendQuoted(b, c.replay)
		b = append(b, "}}"...)
	}
	return append(b, ']')
}
