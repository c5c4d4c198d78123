package qwen

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/homing-go/homing/internal/rawjson"
)

// jsonCalls reads what is in a wrapper in the JSON form: one object, or several, or a
// list of them. from is the offset of the wrapper, at that of its content. ok is false
// when it is no call but text.
func (f *finder) jsonCalls(from, at int) (calls []foundCall, to int, ok bool) {
	fenced := strings.HasPrefix(f.text[at:], backtickFence)
	if fenced {
		at = skipBlanks(f.text, skipLanguage(f.text, at+len(backtickFence)))
	}
	var last string
	for at < len(f.text) && (f.text[at] == '{' || f.text[at] == '[') {
		if strings.HasPrefix(f.text[at:], "{{") {
			break
		}
		s := scanJSON(f.text, at)
		if s.fault != nil {
			c, end, isCall := f.brokenCall(&s, at)
			if !isCall {
				break
			}
			calls = append(calls, c)
			return f.wrapped(calls, from, end, fenced), end, true
		}
		text := f.text[at:s.end]
		got, isCall := readCalls(s.mended([]byte(text), at))
		if !isCall {
			break
		}
		if text == last {
			// Decoding that speculates writes a call twice at times.
			calls[len(calls)-1].mend(RepairArgsRepeated)
		} else {
			for i := range got {
				s.note(&got[i])
			}
			calls = append(calls, got...)
		}
		if len(calls) == 0 {
			break
		}
		last = text
		at = f.behind(&calls[len(calls)-1], s.end, fenced)
	}
	if len(calls) == 0 {
		return nil, 0, false
	}
	to = f.closeWrapper(calls, at)
	return f.wrapped(calls, from, to, fenced), to, true
}

// wrapped sets what the calls of one wrapper have in common.
func (f *finder) wrapped(calls []foundCall, from, to int, fenced bool) []foundCall {
	for i := range calls {
		calls[i].from, calls[i].to = from, to
		if fenced {
			calls[i].mend(RepairFence)
		}
	}
	return calls
}

// behind goes over closing brackets too many and over the end of a fence.
func (f *finder) behind(c *foundCall, at int, fenced bool) int {
	at = skipBlanks(f.text, at)
	end := at
	for end < len(f.text) && (f.text[end] == '}' || f.text[end] == ']') {
		end = skipBlanks(f.text, end+1)
	}
	if end > at {
		c.mend(RepairExtraClose)
		at = end
	}
	if fenced && strings.HasPrefix(f.text[at:], backtickFence) {
		at = skipBlanks(f.text, at+len(backtickFence))
	}
	return at
}

// closeWrapper judges what stands behind the last object of a wrapper and returns the
// offset behind the wrapper.
func (f *finder) closeWrapper(calls []foundCall, at int) int {
	last := &calls[len(calls)-1]
	if f.xml.tags.at(at) == toolClose {
		for i := range calls {
			calls[i].whole = calls[i].kind == ""
		}
		return at + len(toolCloseTag)
	}
	t, ok := f.xml.tags.nextOf(at, toolClose, toolOpen, functionOpen)
	if ok && t.kind == toolClose && at < t.at {
		last.refuse(KindBadJSON, badJSON("text after the end of the call", []byte(f.text[last.from:t.at]), at-last.from))
		return t.to()
	}
	last.mend(RepairMissingCloseTag)
	return at
}

// brokenCall judges an object that is no JSON.
func (f *finder) brokenCall(s *lenientScan, at int) (c foundCall, to int, ok bool) {
	cut := s.fault.at
	object := s.mended([]byte(f.text[at:cut]), at)
	var arguments bool
	for o := rawjson.Members(object); o.Next(); {
		switch string(o.Key) {
		case "name":
			c.name = rawjson.Text(o.Value)
		case "arguments", "parameters":
			arguments = true
		}
	}
	if namePlaceholder(object) && cut < len(f.text) && f.text[cut] == '<' {
		return c, 0, false
	}
	closed := strings.HasPrefix(f.text[cut:], toolCloseTag)
	if s.fault.closable && s.fault.depth == 1 && arguments && object[0] == '{' && (s.fault.early || closed) {
		// Only the outer brace is missing: the arguments are whole.
		got, isCall := readCalls(append(object, '}'))
		if isCall && len(got) == 1 {
			got[0].mend(RepairMissingCloseBrace)
			s.note(&got[0])
			if !closed {
				got[0].mend(RepairMissingCloseTag)
				return got[0], len(f.text), true
			}
			return got[0], cut + len(toolCloseTag), true
		}
	}
	if s.fault.early {
		c.refuse(KindIncompleteArgs, fmt.Sprintf("the call stops early, near %s; send the whole call again", excerpt(object, len(object))))
		return c, len(f.text), true
	}
	to = len(f.text)
	if t, found := f.xml.tags.nextOf(cut, toolClose, toolOpen); found {
		if to = t.at; t.kind == toolClose {
			to = t.to()
		}
	}
	c.refuse(KindBadJSON, badJSON(s.fault.reason, []byte(f.text[at:to]), cut-at))
	return c, to, true
}

// namePlaceholder reports whether an object stops where the value of its first member,
// the name, should begin: what follows then is a placeholder and no text.
func namePlaceholder(object []byte) bool {
	rest := bytes.TrimLeft(object, "{ \t\r\n")
	rest, ok := bytes.CutPrefix(rest, []byte(`"name"`))
	return ok && len(bytes.Trim(rest, ": \t\r\n")) == 0
}

// readCalls reads a call object, or a list of them. ok is false when a value is no call
// but, by its placeholders, an example of one.
func readCalls(value []byte) (calls []foundCall, ok bool) {
	if value[0] == '[' {
		for a := rawjson.Elements(value); a.Next(); {
			if a.Value[0] != '{' {
				return nil, false
			}
			c, isCall := readCall(a.Value)
			if !isCall {
				return nil, false
			}
			calls = append(calls, c)
		}
		return calls, true
	}
	c, ok := readCall(value)
	return []foundCall{c}, ok
}

// readCall reads {"name": ..., "arguments": {...}}, also with "parameters", and with both
// in "function".
func readCall(object []byte) (c foundCall, ok bool) {
	var name, alias, function []byte
	for o := rawjson.Members(object); o.Next(); {
		switch string(o.Key) {
		case "name":
			name = o.Value
		case "arguments":
			c.arguments = o.Value
		case "parameters":
			alias = o.Value
		case "function":
			function = o.Value
		}
	}
	if name == nil && c.arguments == nil && rawjson.Kind(function) == '{' {
		return readCall(function)
	}
	if c.arguments == nil && alias != nil {
		c.arguments = alias
		c.mend(RepairParamsAlias)
	}
	c.name = rawjson.Text(name)
	return c, !strings.ContainsAny(c.name, "{}<>")
}
