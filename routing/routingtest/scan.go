package routingtest

import "encoding/json"

// maxDepth is the nesting that encoding/json allows too.
const maxDepth = 10_000

// A scanner walks JSON text once and decodes nothing: histories of 100 KB and
// more arrive with every request, and the cache needs the bytes of each message
// as they are. It accepts exactly what encoding/json accepts.
type scanner struct {
	buf   []byte
	pos   int
	depth int
}

func (s *scanner) fail(what string) *requestError {
	if s.pos >= len(s.buf) {
		return badRequest("", "the body is not valid JSON: it ends after %d bytes inside a value", len(s.buf))
	}
	return badRequest("", "the body is not valid JSON: %s at offset %d", what, s.pos)
}

// next skips white space and returns the byte that follows, 0 at the end.
func (s *scanner) next() byte {
	for ; s.pos < len(s.buf); s.pos++ {
		switch c := s.buf[s.pos]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// end requires that nothing follows.
func (s *scanner) end() error {
	if s.next(); s.pos < len(s.buf) {
		return s.fail("unexpected text after the value")
	}
	return nil
}

// value returns the bytes of the next value, without the space around it.
func (s *scanner) value() ([]byte, error) {
	c := s.next()
	start := s.pos
	var err error
	switch {
	case c == '{':
		err = s.object(nil)
	case c == '[':
		err = s.array(nil)
	case c == '"':
		err = s.str()
	case c == '-' || digit(c):
		err = s.number()
	case c == 't':
		err = s.literal("true")
	case c == 'f':
		err = s.literal("false")
	case c == 'n':
		err = s.literal("null")
	default:
		err = s.fail("no value")
	}
	return s.buf[start:s.pos], err
}

func (s *scanner) skip() error {
	_, err := s.value()
	return err
}

// object reads an object. member is called with each name when its value is
// next and has to read that value; a nil member skips all values.
func (s *scanner) object(member func(name string) error) error {
	return s.container('}', func() error {
		if s.next() != '"' {
			return s.fail("no member name")
		}
		start := s.pos
		if err := s.str(); err != nil {
			return err
		}
		name := s.buf[start:s.pos]
		if s.next() != ':' {
			return s.fail("no colon after a member name")
		}
		s.pos++
		if member == nil {
			return s.skip()
		}
		return member(unquote(name))
	})
}

// array reads an array. element is called when an element is next and has to
// read it; a nil element skips all.
func (s *scanner) array(element func() error) error {
	if element == nil {
		element = s.skip
	}
	return s.container(']', element)
}

// container reads from the opening bracket to the closing one.
func (s *scanner) container(closing byte, item func() error) error {
	if s.depth++; s.depth > maxDepth {
		return s.fail("nesting deeper than 10000 levels")
	}
	s.pos++
	if s.next() == closing {
		s.pos++
		s.depth--
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		switch s.next() {
		case ',':
			s.pos++
		case closing:
			s.pos++
			s.depth--
			return nil
		default:
			return s.fail("neither a comma nor a closing bracket")
		}
	}
}

func (s *scanner) str() error {
	for s.pos++; s.pos < len(s.buf); s.pos++ {
		switch c := s.buf[s.pos]; {
		case c == '"':
			s.pos++
			return nil
		case c < ' ':
			return s.fail("control character in a string")
		case c == '\\':
			s.pos++
			if err := s.escape(); err != nil {
				return err
			}
		}
	}
	return s.fail("")
}

// escape checks what follows a backslash and stops at its last byte.
func (s *scanner) escape() error {
	if s.pos >= len(s.buf) {
		return s.fail("")
	}
	switch s.buf[s.pos] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return nil
	case 'u':
		for range 4 {
			if s.pos++; s.pos >= len(s.buf) || !hexDigit(s.buf[s.pos]) {
				return s.fail("bad \\u escape")
			}
		}
		return nil
	}
	return s.fail("unknown escape")
}

func (s *scanner) number() error {
	if s.buf[s.pos] == '-' {
		s.pos++
	}
	if s.pos < len(s.buf) && s.buf[s.pos] == '0' {
		s.pos++
	} else if !s.digits() {
		return s.fail("no digit in a number")
	}
	if s.pos < len(s.buf) && s.buf[s.pos] == '.' {
		s.pos++
		if !s.digits() {
			return s.fail("no digit after a decimal point")
		}
	}
	if s.pos < len(s.buf) && s.buf[s.pos]|0x20 == 'e' {
		s.pos++
		if s.pos < len(s.buf) && (s.buf[s.pos] == '+' || s.buf[s.pos] == '-') {
			s.pos++
		}
		if !s.digits() {
			return s.fail("no digit in an exponent")
		}
	}
	return nil
}

func (s *scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.buf) && digit(s.buf[s.pos]) {
		s.pos++
	}
	return s.pos > start
}

func (s *scanner) literal(word string) error {
	for i := range len(word) {
		if s.pos >= len(s.buf) || s.buf[s.pos] != word[i] {
			return s.fail("unknown literal")
		}
		s.pos++
	}
	return nil
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

func hexDigit(c byte) bool {
	return digit(c) || 'a' <= c|0x20 && c|0x20 <= 'f'
}

// unquote decodes a scanned string literal.
func unquote(literal []byte) string {
	for _, c := range literal {
		if c == '\\' || c >= 0x80 {
			var s string
			_ = json.Unmarshal(literal, &s) // scanned, so it is a string
			return s
		}
	}
	return string(literal[1 : len(literal)-1])
}
