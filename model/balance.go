package model

import "github.com/homing-go/homing/internal/rawjson"

// balance tells whether a text that grows is a whole JSON object, array or string by now.
// It looks at each byte once, however often it is asked.
type balance struct {
	seen, depth     int
	quoted, escaped bool
}

// whole reports whether all that was opened in text is closed again. text begins with what
// it was at the last call.
func (b *balance) whole(text string) bool {
	for ; b.seen < len(text); b.seen++ {
		c := text[b.seen]
		switch {
		case b.escaped:
			b.escaped = false
		case b.quoted:
			b.escaped, b.quoted = c == '\\', c != '"'
		case c == '"':
			b.quoted = true
		case c == '{' || c == '[':
			b.depth++
		case c == '}' || c == ']':
			b.depth--
		}
	}
	return b.depth <= 0 && !b.quoted
}

// whole reports whether the arguments are all there.
func (c *partialCall) whole() bool {
	text := c.arguments.String()
	switch rawjson.Kind([]byte(text[:min(len(text), 64)])) {
	case 0:
		return false
	case '{', '[', '"':
		return c.balance.whole(text)
	}
	return len(text) <= 64 && rawjson.Valid([]byte(text)) == nil
}
