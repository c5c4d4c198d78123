package qwen

import (
	"fmt"
	"strings"
)

// An xmlReader reads calls of the form
//
//	<function=NAME>
//	<parameter=KEY>
//	VALUE
//	</parameter>
//	</function>
//
// Values are literal text: nothing in them is escaped, and they may hold any tag. See
// valueEnd for how a value's end is told from a tag in it.
type xmlReader struct {
	text  string
	tags  tagList
	tools catalog
	// visits bounds how often tags are looked at. Answers of models use a few for each tag;
	// without a bound, one with thousands of calls that never close would cost the square.
	visits int
}

func newXMLReader(text string, tools catalog) *xmlReader {
	tags := findTags(text)
	return &xmlReader{text: text, tags: tags, tools: tools, visits: 64 * (len(tags) + 16)}
}

// function reads the function whose opener is at an offset. next is the offset behind
// it. ok is false when it is no call but text.
func (x *xmlReader) function(at int, wrapped bool) (c foundCall, next int, ok bool) {
	c = foundCall{isXML: true, from: at, whole: true}
	start := at + len(tagTexts[functionOpen])
	end := start + strings.IndexAny(x.text[start:], ">\n<")
	if end < start || x.text[end] != '>' {
		return c, 0, false
	}
	var repair string
	if c.name, repair = cleanName(x.text[start:end]); repair != "" {
		c.mend(repair)
	}
	pos := end + 1
	if known := x.tools.known(c.name); !wrapped {
		// Without a wrapper, a known name and the shape of a call are all the evidence.
		kind := x.tags.at(skipBlanks(x.text, pos))
		if !known || kind != paramOpen && kind != functionClose {
			return c, 0, false
		}
	} else if !known && c.name != "" && !plausibleName(c.name) {
		return c, 0, false
	}
	properties := x.tools.properties(c.name)
	for {
		pos = skipBlanks(x.text, pos)
		if pos >= len(x.text) {
			x.incomplete(&c, pos)
			return c, pos, true
		}
		switch kind := x.tags.at(pos); {
		case kind == paramOpen:
			if pos = x.parameter(&c, pos, wrapped, properties); c.kind != "" {
				return c, pos, true
			}
		case kind == functionClose:
			return c, pos + len(tagTexts[functionClose]), true
		case kind == toolClose && wrapped:
			c.mend(RepairMissingCloseTag)
			c.whole = false
			return c, pos, true
		case kind == toolOpen || kind == functionOpen || kind == toolClose:
			x.incomplete(&c, pos)
			return c, pos, true
		case kind == paramClose:
			pos += len(tagTexts[paramClose])
		default:
			pos = x.stray(&c, pos, wrapped)
		}
	}
}

func (x *xmlReader) incomplete(c *foundCall, at int) {
	c.whole = false
	c.refuse(KindIncompleteArgs, fmt.Sprintf(
		"the call stops early, near %s; send the whole call again with all closing tags", excerpt(x.text[c.from:at], at-c.from)))
}

// stray reads what is no parameter: the arguments as one JSON object, or text that does
// not belong there.
func (x *xmlReader) stray(c *foundCall, pos int, wrapped bool) int {
	if x.text[pos] == '{' && len(c.params) == 0 && c.arguments == nil {
		if s := scanJSON(x.text, pos); s.fault == nil {
			kind := x.tags.at(skipBlanks(x.text, s.end))
			if kind == functionClose || kind == toolClose && wrapped {
				c.isXML, c.arguments = false, s.mended([]byte(x.text[pos:s.end]), pos)
				return s.end
			}
		}
	}
	end := len(x.text)
	if t, ok := x.tags.nextOf(pos, paramOpen, functionClose, toolClose, toolOpen, functionOpen); ok {
		end = t.at
	}
	if c.junk == "" {
		c.junk = x.text[pos:end]
	}
	c.whole = false
	return end
}

// parameter reads the parameter at an offset and returns the offset behind it.
func (x *xmlReader) parameter(c *foundCall, at int, wrapped bool, known *properties) int {
	start := at + len(tagTexts[paramOpen])
	end := start + strings.IndexAny(x.text[start:], ">=\n<")
	if end < start {
		x.incomplete(c, len(x.text))
		return len(x.text)
	}
	name, repair := cleanName(x.text[start:end])
	value := end + 1
	if stop := x.text[end]; stop != '>' {
		switch {
		case stop != '<' && known.named(name):
			// <parameter=KEY=VALUE, or the bracket after KEY is missing.
			repair = RepairParamDrift
			if stop == '\n' {
				value = end
			}
		case stop == '=':
			// A name that holds the sign.
			bracket := strings.IndexAny(x.text[end:], ">\n<")
			if bracket >= 0 && x.text[end+bracket] == '>' {
				name, repair = cleanName(x.text[start : end+bracket])
				value = end + bracket + 1
				break
			}
			fallthrough
		default:
			c.whole = false
			if c.junk == "" {
				c.junk = x.text[at:end]
			}
			return end
		}
	}
	if repair != "" {
		c.mend(repair)
	}
	known.see([]byte(name))
	stop, next, closed, ok := x.valueEnd(value, wrapped, known)
	if !ok {
		x.incomplete(c, len(x.text))
		return len(x.text)
	}
	if !closed {
		c.mend(RepairMissingCloseTag)
		c.whole = false
	}
	c.params = append(c.params, xmlParam{name: name, value: trimValue(x.text[value:stop])})
	return next
}

// trimValue takes off the line break behind the opener and the one before the closer.
// They belong to the syntax; any other belongs to the value.
func trimValue(value string) string {
	if rest, ok := strings.CutPrefix(value, "\r\n"); ok {
		if cut, ok := strings.CutSuffix(rest, "\r\n"); ok {
			return cut
		}
		return strings.TrimSuffix(rest, "\n")
	}
	return strings.TrimSuffix(strings.TrimPrefix(value, "\n"), "\n")
}
