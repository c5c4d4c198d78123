package qwen

import "strings"

// valueEnd finds the end of the value that begins at an offset. stop is the offset behind
// the value, next the offset at which reading goes on, closed whether a </parameter> was
// there.
//
// Values hold tags as text, so a closer ends a value only where the syntax goes on behind
// it: </parameter> before <parameter=, </function>, the wrapper's </tool_call> or the end
// of the text; </function> before </tool_call>, an opener or the end; a <parameter=KEY>
// at the start of a line when the tool has that parameter and it was not given yet. As
// long as a <tool_call> in the value is not closed, nothing ends it.
//
// When that leads nowhere, an opener that no call follows counts as a word: a value may
// name the tag without using it. Last, a </tool_call> alone closes all.
func (x *xmlReader) valueEnd(at int, wrapped bool, known *properties) (stop, next int, closed, ok bool) {
	for _, words := range [...]bool{false, true} {
		if stop, next, closed, ok = x.scanValue(at, wrapped, words, known); ok {
			return stop, next, closed, true
		}
	}
	if !wrapped {
		return 0, 0, false, false
	}
	for i := x.tags.from(at); i < len(x.tags); i++ {
		t := x.tags[i]
		if t.kind == toolClose && x.closesAll(t.to()) {
			return t.at, t.at, false, true
		}
		if t.kind == toolOpen && x.opensCall(t) {
			break
		}
	}
	return 0, 0, false, false
}

// closesAll reports whether nothing or an opener follows.
func (x *xmlReader) closesAll(at int) bool {
	at = skipBlanks(x.text, at)
	kind := x.tags.at(at)
	return at == len(x.text) || kind == toolOpen || kind == functionOpen
}

// opensCall reports whether a <tool_call> has a call behind it.
func (x *xmlReader) opensCall(t tag) bool {
	at := skipBlanks(x.text, t.to())
	return at < len(x.text) && (x.text[at] == '{' || x.tags.at(at) == functionOpen)
}

// scanValue goes over the tags from an offset on. words tells that an opener without a
// call behind it is a word.
func (x *xmlReader) scanValue(at int, wrapped, words bool, known *properties) (stop, next int, closed, ok bool) {
	depth := 0
	for i := x.tags.from(at); i < len(x.tags); i++ {
		if x.visits--; x.visits < 0 {
			return 0, 0, false, false
		}
		t := x.tags[i]
		switch t.kind {
		case toolOpen:
			if !words || x.opensCall(t) {
				depth++
			}
			continue
		case toolClose:
			depth = max(depth-1, 0)
			continue
		}
		if depth > 0 {
			continue
		}
		behind := skipBlanks(x.text, t.to())
		follows := noTag
		if i+1 < len(x.tags) && x.tags[i+1].at == behind {
			follows = x.tags[i+1].kind
		}
		last := behind == len(x.text)
		switch t.kind {
		case paramClose:
			if last || follows == paramOpen || follows == functionClose || follows == toolClose && wrapped {
				return t.at, t.to(), true, true
			}
		case functionClose:
			if last || follows == toolClose || follows == toolOpen || follows == functionOpen {
				return t.at, t.at, false, true
			}
		case paramOpen:
			if t.at > at && x.text[t.at-1] != '\n' {
				continue
			}
			end := strings.IndexAny(x.text[t.to():], ">\n<")
			if end < 0 || x.text[t.to()+end] != '>' {
				continue
			}
			if key, _ := cleanName(x.text[t.to() : t.to()+end]); known.unseen(key) {
				return t.at, t.at, false, true
			}
		}
	}
	return 0, 0, false, false
}
