package qwen

import (
	"strings"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/model"
)

// A cleanTurn is an assistant turn in the form of [Replay], with the IDs of its calls as
// they were.
type cleanTurn struct {
	calls    []judged
	received []string
}

func (c *cleanTurn) knows(id string) bool {
	for _, have := range c.received {
		if have == id {
			return true
		}
	}
	return false
}

// clean brings an assistant turn into the form. One that has it is returned as it is.
func (r *replayer) clean(t *turn) (*cleanTurn, model.Message, error) {
	raw := t.message.JSON()
	rd := reader{tools: r.tools}
	if err := rd.Message(raw); err != nil {
		return nil, t.message, &HistoryError{Index: t.index, Reason: err.Error()}
	}
	a := answer{
		content: rd.content.String(), reasoning: rd.thought(), structured: rd.calls.found(), turn: t.index,
		tools: catalog{tools: r.tools, open: r.tools.Len() == 0}, history: true,
	}
	a.parsed = !blank(a.reasoning)
	if len(a.structured) == 0 {
		a.structured = rd.legacy.found()
	}
	if r.options.PromptOpensThinking && strings.Contains(a.content, thinkClose) {
		a.mode = thinkingOpen
	}
	received := make([]string, 0, len(a.structured))
	for i := range a.structured {
		received = append(received, a.structured[i].id)
	}
	a.understand()
	out := &cleanTurn{calls: a.calls, received: received}
	for len(out.received) < len(a.calls) {
		out.received = append(out.received, "") // a call out of the text
	}
	if r.isClean(raw, &rd, &a) {
		return out, t.message, nil
	}
	m := assistantMessage{content: a.text, reasoning: a.thinking, calls: a.calls, nullContent: r.options.NullContent}
	message, err := model.Raw(m.encode())
	if err != nil {
		return nil, message, &HistoryError{Index: t.index, Reason: err.Error()}
	}
	return out, message, nil
}

// isClean reports whether a message says already what it should.
func (r *replayer) isClean(raw []byte, rd *reader, a *answer) bool {
	var content, calls []byte
	for o := rawjson.Members(raw); o.Next(); {
		switch string(o.Key) {
		case "content":
			content = o.Value
		case "tool_calls":
			calls = o.Value
		case "function_call":
			return false
		}
	}
	switch rawjson.Kind(content) {
	case '"':
		if r.options.NullContent && a.text == "" && len(a.calls) > 0 || rd.content.String() != a.text {
			return false
		}
	case 'n':
		if !r.options.NullContent || len(a.calls) == 0 || a.text != "" {
			return false
		}
	default:
		return false
	}
	if rd.reasoning[0].String() != a.thinking || rd.reasoning[1].String() != a.thinking {
		return false
	}
	if len(a.calls) == 0 {
		return calls == nil
	}
	n := 0
	for e := rawjson.Elements(calls); calls != nil && e.Next(); n++ {
		function := rawjson.Get(e.Value, "function")
		arguments := rawjson.Get(function, "arguments")
		if n == len(a.calls) || rawjson.Kind(arguments) != '"' {
			return false
		}
		c := &a.calls[n]
		if rawjson.Text(rawjson.Get(e.Value, "id")) != c.ID || rawjson.Text(rawjson.Get(function, "name")) != c.Name ||
			c.Name == "" || rawjson.Text(arguments) != string(c.replay) {
			return false
		}
	}
	return n == len(a.calls)
}
