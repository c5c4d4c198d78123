package qwen

import "strings"

// prose walks text and finds the tags of tool calls that are not in a Markdown fence,
// inline code or a closed <think> block: an example of a call is no call.
//
// With final unset the text may go on: the walk stops before anything whose meaning
// depends on what follows. It can be resumed with a longer text whose beginning was
// dropped up to pos.
type prose struct {
	text  string
	final bool
	pos   int  // how far the walk has come
	bol   bool // pos is at the beginning of a line
	fence fence

	spans *codeSpans
	// open tells that no </think> follows.
	open bool
}

// A fence is an open Markdown fence; its zero value is none.
type fence struct {
	char byte
	n    int
}

// next goes to the next tag and returns its kind. noTag means that there is none, and
// that everything before pos is certain to be text.
func (p *prose) next() tagKind {
	for p.pos < len(p.text) {
		if p.fence.n > 0 {
			if !p.passFence() {
				return noTag
			}
			continue
		}
		if p.bol {
			f, end, verdict := fenceOpener(p.text, p.pos, p.final)
			switch {
			case verdict == yes:
				p.fence, p.pos = f, end
				continue
			case verdict == unknown || !p.passThinking():
				return noTag
			}
			p.bol = false
			continue
		}
		at := strings.IndexAny(p.text[p.pos:], "`<\n")
		if at < 0 {
			p.pos = len(p.text)
			return noTag
		}
		p.pos += at
		switch p.text[p.pos] {
		case '\n':
			p.pos++
			p.bol = true
		case '`':
			if !p.passCode() {
				return noTag
			}
		case '<':
			kind, partial := tagAt(p.text[p.pos:])
			if kind != noTag || partial && !p.final {
				return kind
			}
			p.pos++
		}
	}
	return noTag
}

// jump goes on behind a tag or a call.
func (p *prose) jump(to int) {
	p.pos = to
	p.bol = to > 0 && p.text[to-1] == '\n'
}

type verdict uint8

const (
	no verdict = iota
	yes
	unknown
)

// fenceRun reads up to three blanks and a run of backticks or tildes.
func fenceRun(text string, at int) (f fence, end int) {
	i := at
	for i < len(text) && i-at < 3 && text[i] == ' ' {
		i++
	}
	if i == len(text) || text[i] != '`' && text[i] != '~' {
		return fence{}, i
	}
	f.char = text[i]
	for i < len(text) && text[i] == f.char {
		f.n++
		i++
	}
	return f, i
}

// fenceOpener reports whether the line at an offset opens a fence, and where the next
// line begins.
func fenceOpener(text string, at int, final bool) (f fence, end int, v verdict) {
	f, i := fenceRun(text, at)
	switch {
	case i == len(text) && !final:
		return f, i, unknown
	case f.n < 3:
		return f, i, no
	}
	info, line := text[i:], len(text)
	if n := strings.IndexByte(info, '\n'); n >= 0 {
		info, line = info[:n], i+n+1
	} else if !final {
		return f, i, unknown
	}
	if f.char == '`' && strings.IndexByte(info, '`') >= 0 {
		return f, i, no
	}
	return f, line, yes
}

// passFence goes over the lines of a fence. It returns false when the text ends first.
func (p *prose) passFence() bool {
	for p.pos < len(p.text) {
		if p.bol {
			closer, i := fenceRun(p.text, p.pos)
			mayClose := closer.n == 0 || closer.char == p.fence.char
			if i == len(p.text) && mayClose && !p.final {
				return false
			}
			if closer.char == p.fence.char && closer.n >= p.fence.n {
				for i < len(p.text) && (p.text[i] == ' ' || p.text[i] == '\t' || p.text[i] == '\r') {
					i++
				}
				switch {
				case i == len(p.text) && !p.final:
					return false
				case i == len(p.text) || p.text[i] == '\n':
					p.fence = fence{}
					p.pos = min(i+1, len(p.text))
					return true
				}
			}
			p.bol = false
		}
		n := strings.IndexByte(p.text[p.pos:], '\n')
		if n < 0 {
			p.pos = len(p.text)
			return false
		}
		p.pos += n + 1
		p.bol = true
	}
	return false
}

// passThinking goes over a closed block of thinking that begins a line. It returns false
// when that is not known yet.
func (p *prose) passThinking() bool {
	rest := p.text[p.pos:]
	if !strings.HasPrefix(rest, thinkOpen) {
		return p.final || len(rest) >= len(thinkOpen) || rest == "" || !strings.HasPrefix(thinkOpen, rest)
	}
	if p.open {
		return true
	}
	end := strings.Index(rest, thinkClose)
	if end < 0 {
		p.open = true
		return p.final
	}
	p.pos += end + len(thinkClose)
	return true
}

// passCode goes over inline code, or over backticks that open none. It returns false when
// that is not known yet.
func (p *prose) passCode() bool {
	if p.spans == nil {
		p.spans = findCodeSpans(p.text, p.pos, p.final)
	}
	end, v := p.spans.from(p.pos)
	if v == unknown {
		return false
	}
	p.pos = end
	return true
}
