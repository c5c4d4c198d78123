package qwen

import (
	"fmt"
	"strings"

	"github.com/homing-go/homing/internal/rawjson"
)

// A finder finds the calls that stand in a text, in either form.
type finder struct {
	text  string
	tools catalog
	xml   *xmlReader
	// calls are in the order of the text; gone are the parts that are no text: calls, and
	// tags that belong to none.
	calls []foundCall
	gone  []span
	stray []span
}

type span struct{ from, to int }

// findCalls walks the text once.
func findCalls(text string, tools catalog) *finder {
	f := &finder{text: text, tools: tools}
	if !strings.Contains(text, "<") {
		return f
	}
	f.xml = newXMLReader(text, tools)
	p := prose{text: text, final: true, bol: true}
	if to := f.unopened(); to > 0 {
		p.jump(to)
	}
	for {
		kind := p.next()
		at := p.pos
		to := 0
		switch kind {
		case noTag:
			return f
		case toolOpen:
			to = f.wrapper(at)
		case functionOpen:
			to = f.bare(at)
		}
		if len(f.calls) > maxCalls {
			f.calls = f.calls[:maxCalls]
			f.calls[maxCalls-1].refuse(KindTooLarge, fmt.Sprintf("more than %d calls in one response; make fewer", maxCalls))
			f.gone = append(f.gone, span{at, len(text)})
			return f
		}
		if to > 0 {
			f.gone = append(f.gone, span{at, to})
			p.jump(to)
			continue
		}
		end := at + len(tagTexts[kind])
		if f.isStray(kind, at, end) {
			f.stray = append(f.stray, span{at, end})
		}
		p.jump(end)
	}
}

// wrapper reads the calls in the wrapper at an offset and returns the offset behind it,
// or 0 when it is text.
func (f *finder) wrapper(at int) int {
	start := skipBlanks(f.text, at+len(toolOpenTag))
	if start == len(f.text) {
		return 0
	}
	if f.xml.tags.at(start) != functionOpen {
		calls, to, ok := f.jsonCalls(at, start)
		if !ok {
			return 0
		}
		f.calls = append(f.calls, calls...)
		return to
	}
	n := len(f.calls)
	pos, closed := start, false
	for {
		c, next, ok := f.xml.function(pos, true)
		if !ok {
			break
		}
		f.calls = append(f.calls, c)
		pos = next
		after := skipBlanks(f.text, next)
		if kind := f.xml.tags.at(after); kind == toolClose {
			pos, closed = after+len(toolCloseTag), true
			break
		} else if kind != functionOpen || c.kind != "" {
			break
		}
		pos = after
	}
	for i := n; i < len(f.calls); i++ {
		c := &f.calls[i]
		c.from, c.to = at, pos
		if !closed {
			c.whole = false
		}
	}
	if len(f.calls) == n {
		return 0
	}
	if last := &f.calls[len(f.calls)-1]; !closed && last.kind == "" {
		last.mend(RepairMissingCloseTag)
	}
	return pos
}

// unopened reads calls in the JSON form that begin the text and lack the opener alone, which
// servers swallow at times. It returns the offset behind the closer, or 0.
func (f *finder) unopened() int {
	at := skipBlanks(f.text, 0)
	if at == len(f.text) || f.text[at] != '{' && f.text[at] != '[' {
		return 0
	}
	s := scanJSON(f.text, at)
	if s.fault != nil || f.xml.tags.at(skipBlanks(f.text, s.end)) != toolClose {
		return 0
	}
	calls, ok := readCalls(s.mended([]byte(f.text[at:s.end]), at))
	to := skipBlanks(f.text, s.end) + len(toolCloseTag)
	for i := range calls {
		c := &calls[i]
		if !ok || !f.tools.known(c.name) || f.tools.open {
			return 0
		}
		c.from, c.to = at, to
		c.mend(RepairMissingOpener)
		s.note(c)
	}
	if len(calls) == 0 {
		return 0
	}
	f.calls, f.gone = calls, []span{{at, to}}
	return to
}

// bare reads a function without a wrapper.
func (f *finder) bare(at int) int {
	c, next, ok := f.xml.function(at, false)
	if !ok {
		return 0
	}
	if after := skipBlanks(f.text, next); c.kind == "" && f.xml.tags.at(after) == toolClose {
		next = after + len(toolCloseTag)
	}
	c.mend(RepairMissingOpener)
	c.from, c.to = at, next
	f.calls = append(f.calls, c)
	return next
}

// isStray tells a remainder of a call from a word: a remainder ends a line, and shares it
// with other tags at most. A </tool_call> is one anywhere.
func (f *finder) isStray(kind tagKind, at, end int) bool {
	before := strings.TrimRight(f.text[:at], " \t")
	behind := strings.TrimLeft(f.text[end:], " \t\r")
	ends := behind == "" || behind[0] == '\n'
	switch kind {
	case toolClose:
		return true
	case toolOpen:
		return ends
	}
	begins := before == "" || before[len(before)-1] == '\n' || before[len(before)-1] == '>'
	return begins && (ends || behind[0] == '<')
}

// without returns the text without the parts that are gone. A part takes the white space
// around it along; what is left stands on lines of its own.
func without(text string, gone []span) string {
	if len(gone) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for i := 0; i <= len(gone); i++ {
		piece := text[at:]
		if i < len(gone) {
			piece = strings.TrimRight(text[at:gone[i].from], blanks)
			at = gone[i].to
		}
		if i > 0 {
			piece = strings.TrimLeft(piece, blanks)
		}
		if piece == "" || strings.Trim(piece, blanks) == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(piece)
	}
	return b.String()
}

// rest is the text without calls, and without the tags that belong to none when there
// are calls at all.
func (f *finder) rest(withTags bool) string {
	gone := f.gone
	if withTags {
		gone = mergeSpans(gone, f.stray)
	}
	return without(f.text, gone)
}

// mergeSpans joins two lists that are in order.
func mergeSpans(a, b []span) []span {
	out := make([]span, 0, len(a)+len(b))
	for len(a) > 0 || len(b) > 0 {
		if len(b) == 0 || len(a) > 0 && a[0].from < b[0].from {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return out
}

// trailing returns the calls that end the text, and the text before them. They must be
// whole and of known tools: in thinking, anything else is a draft.
func (f *finder) trailing() (calls []foundCall, before string) {
	end := len(strings.TrimRight(f.text, blanks))
	first := len(f.calls)
	for first > 0 {
		to := f.calls[first-1].to
		if strings.Trim(f.text[min(to, end):end], blanks) != "" {
			break
		}
		first--
		c := &f.calls[first]
		if !c.whole || c.kind != "" || !f.tools.known(c.name) {
			return nil, f.text
		}
		if first == 0 || f.calls[first-1].from != c.from {
			end = c.from
		}
	}
	if first == len(f.calls) {
		return nil, f.text
	}
	return f.calls[first:], strings.TrimRight(f.text[:end], blanks)
}

// wholeJSON reads a text that is nothing but calls of known tools in the JSON form,
// without their tags.
func wholeJSON(text string, tools catalog) []foundCall {
	body := strings.Trim(text, blanks)
	if body == "" || body[0] != '{' && body[0] != '[' {
		return nil
	}
	s := scanJSON(body, 0)
	if s.fault != nil || s.end != len(body) || body[0] == '[' && !strings.Contains(body, "{") {
		return nil
	}
	value := s.mended([]byte(body), 0)
	calls, ok := readCalls(value)
	if !ok || len(calls) == 0 {
		return nil
	}
	for i := range calls {
		c := &calls[i]
		if !tools.known(c.name) || tools.open || rawjson.Kind(c.arguments) != '{' && rawjson.Kind(c.arguments) != '"' {
			return nil
		}
		c.mend(RepairBareJSON)
		s.note(c)
	}
	return calls
}
