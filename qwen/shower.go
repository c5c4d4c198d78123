package qwen

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/homing-go/homing/model"
)

// A shower hands out the text of a stream as soon as it is certain to be text: what it
// shows is always the beginning of the answer's text, or of its thinking. It holds back
// white space that a call would take along, whatever may be the head of a tag, a content
// that may be nothing but a call in JSON, and everything behind a tag outside of code. It
// goes over the text once; what is held back it looks at again only when it has doubled.
type shower struct {
	text  channel // of content
	stage showStage
	// found tells that the content began with thinking; fresh that a block of it has just
	// begun; thinking that some of it was shown; hold where in it a call begins.
	found, fresh, thinking bool
	hold                   int
	// bol and fence are where the walk over the text is.
	bol   bool
	fence fence
	held  int // how much was held back when it was last looked at

	thought      channel // of thinking that comes apart
	thoughtStage showStage
	opened       bool // it began with <think>
}

type showStage uint8

const (
	showLead  showStage = iota // before thinking and text
	showThink                  // inside of thinking
	showBody                   // in the text
	showNone                   // nothing more is certain
)

// A channel is a text that is shown bit by bit.
type channel struct {
	at    int // what is before it is certain
	solid int // the end of the last character before at that is no white space
	shown int // what is before it was shown
	out   growing
}

// advance makes the text up to an offset certain.
func (c *channel) advance(text []byte, to int) {
	for i := to; i > c.at; i-- {
		if !isBlank(text[i-1]) {
			c.solid = i
			break
		}
	}
	c.at = to
}

// skip passes text that is not shown.
func (c *channel) skip(to int) { c.at, c.solid, c.shown = to, to, to }

// show emits what is certain up to an offset, without white space at its end.
func (c *channel) show(text []byte, kind model.EventKind, prefix string, emit func(model.Event) bool) bool {
	end := c.solid
	if end == len(text) && endsInHalf(text) {
		end -= 3
	}
	if end <= c.shown {
		return true
	}
	part := c.out.add(prefix, text[c.shown:end])
	c.shown = end
	return emit(model.Event{Kind: kind, Text: part})
}

// growing is a text that is handed out bit by bit. Each bit is a part of the one string that
// grows, so that handing it out costs nothing.
type growing struct{ strings.Builder }

// add appends a bit and returns it, without halves of surrogate pairs.
func (g *growing) add(prefix string, text []byte) string {
	from := g.Len()
	g.WriteString(prefix)
	if utf8.Valid(text) {
		g.Write(text)
	} else {
		g.WriteString(validText(string(text)))
	}
	return g.String()[from:]
}

// content shows what is new of the content.
func (s *shower) content(r *reader, emit func(model.Event) bool) bool {
	for {
		before := s.stage
		more := true
		switch s.stage {
		case showLead:
			s.lead(r)
		case showThink:
			more = s.think(r, emit)
		case showBody:
			more = s.body(r, emit)
		}
		if !more || s.stage == before {
			return more
		}
	}
}

// lead decides what comes first: thinking or text. It mirrors splitThinking.
func (s *shower) lead(r *reader) {
	for {
		at := s.text.at
		for at < len(r.content.pieces) && isBlank(r.content.pieces[at]) {
			at++
		}
		if s.text.at = at; at == len(r.content.pieces) {
			return
		}
		rest := r.content.pieces[at:]
		inside := r.mode == thinkingOpen && !r.parsed && !s.found
		skips := inside || r.parsed || s.found || r.mode == thinkingOff
		opens, mayOpen := begins(rest, thinkOpen)
		closes, mayClose := begins(rest, thinkClose)
		switch {
		case opens:
			at += len(thinkOpen)
			fallthrough
		case inside && !mayOpen:
			s.text.skip(at)
			s.stage, s.found, s.fresh, s.hold = showThink, true, true, -1
			return
		case mayOpen || skips && mayClose:
			return
		case skips && closes:
			s.text.skip(at + len(thinkClose))
			s.found = true
		default:
			s.stage, s.bol = showBody, true
			if s.text.skip(0); s.found {
				s.text.skip(at)
			}
			if r.tools.Len() > 0 && (rest[0] == '{' || rest[0] == '[') {
				s.stage = showNone
			}
			return
		}
	}
}

// begins reports whether text begins with a tag, or may do so when it goes on.
func begins(text []byte, tag string) (begins, may bool) {
	if len(text) >= len(tag) {
		return string(text[:len(tag)]) == tag, false
	}
	return false, strings.HasPrefix(tag, string(text))
}

// think shows thinking up to its end. A call in it may be taken out at the end of the
// answer, so it waits for the closer.
func (s *shower) think(r *reader, emit func(model.Event) bool) bool {
	at, kind := s.thinkTag(r.content.pieces, s.text.at)
	for kind == toolOpen || kind == functionOpen {
		if s.hold < 0 {
			s.text.advance(r.content.pieces, at)
			s.hold = s.text.solid
		}
		at, kind = s.thinkTag(r.content.pieces, at+1)
	}
	s.text.advance(r.content.pieces, at)
	limit := s.hold
	if kind == thinkingEnd {
		limit = -1
	}
	more := s.showThinking(r, limit, emit)
	if kind == thinkingEnd {
		s.text.skip(at + len(thinkClose))
		s.stage = showLead
	}
	return more
}

// thinkingEnd is the kind of a </think>.
const thinkingEnd tagKind = 1 << 7

// thinkTag returns the next tag that matters in thinking, or noTag and how far the text is
// certain to hold none.
func (s *shower) thinkTag(text []byte, at int) (int, tagKind) {
	for ; ; at++ {
		next := bytes.IndexByte(text[at:], '<')
		if next < 0 {
			return len(text), noTag
		}
		at += next
		rest := text[at:min(len(text), at+len(toolCloseTag))]
		ends, mayEnd := begins(rest, thinkClose)
		kind, partial := tagAt(string(rest))
		switch {
		case ends:
			return at, thinkingEnd
		case kind == toolOpen || kind == functionOpen:
			return at, kind
		case mayEnd || kind == noTag && partial:
			return at, noTag
		}
	}
}

// showThinking shows thinking in the content up to an offset; a negative one means all
// that is certain. Blocks stand on lines of their own.
func (s *shower) showThinking(r *reader, limit int, emit func(model.Event) bool) bool {
	if r.parsed {
		return true // it follows thinking that came apart and whose end is not certain
	}
	c := &s.text
	solid := c.solid
	if limit >= 0 {
		c.solid = min(solid, limit)
	}
	prefix := ""
	if s.fresh {
		for c.shown < c.solid && isBlank(r.content.pieces[c.shown]) {
			c.shown++
		}
		if s.thinking {
			prefix = "\n"
		}
	}
	before := c.shown
	more := c.show(r.content.pieces, model.EventReasoning, prefix, emit)
	if c.shown > before {
		s.fresh, s.thinking = false, true
	}
	c.solid = max(solid, c.shown)
	return more
}

// body shows text up to the first tag that is not in code.
func (s *shower) body(r *reader, emit func(model.Event) bool) bool {
	held := len(r.content.pieces) - s.text.at
	switch {
	case r.tools.Len() == 0:
		s.text.advance(r.content.pieces, len(r.content.pieces))
	case held > 4<<10 && held < 2*s.held:
		return true
	default:
		p := prose{text: string(r.content.pieces[s.text.at:]), bol: s.bol, fence: s.fence}
		if p.next() != noTag {
			s.stage = showNone
		}
		s.text.advance(r.content.pieces, s.text.at+p.pos)
		s.bol, s.fence = p.bol, p.fence
		s.held = len(r.content.pieces) - s.text.at
	}
	return s.text.show(r.content.pieces, model.EventText, "", emit)
}

// reasoning shows what is new of thinking that comes apart: all up to the first tag that
// matters. When thinking is off it may become the content, so nothing is certain.
func (s *shower) reasoning(r *reader, emit func(model.Event) bool) bool {
	text := r.reasoning[0].pieces
	if len(text) == 0 {
		text = r.reasoning[1].pieces
	}
	c := &s.thought
	if r.mode == thinkingOff || s.thoughtStage == showNone || len(text) < c.at {
		return true
	}
	if s.thoughtStage == showLead {
		at := c.at
		for at < len(text) && isBlank(text[at]) {
			at++
		}
		c.at = at
		opens, mayOpen := begins(text[at:], thinkOpen)
		switch {
		case mayOpen || at == len(text):
			return true
		case opens && !s.opened:
			c.skip(at + len(thinkOpen))
			s.opened = true
			return s.reasoning(r, emit)
		case s.opened:
			c.skip(at)
		default:
			c.skip(0)
		}
		s.thoughtStage = showBody
	}
	at, kind := s.thinkTag(text, c.at)
	if kind != noTag {
		s.thoughtStage = showNone
	}
	c.advance(text, at)
	return c.show(text, model.EventReasoning, "", emit)
}
