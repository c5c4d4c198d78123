package qwen

// A jsonShape follows the brackets of a JSON object that comes in pieces.
type jsonShape struct {
	depth                    int
	inString, escaped, begun bool
	// whole tells that the object was closed.
	whole bool
}

// feed takes the next piece and returns the part of it that belongs to the object.
func (s *jsonShape) feed(text []byte) []byte {
	for i, c := range text {
		switch {
		case s.whole:
			return text[:i]
		case s.inString:
			switch {
			case s.escaped:
				s.escaped = false
			case c == '\\':
				s.escaped = true
			case c == '"':
				s.inString = false
			}
		case c == '"':
			s.inString = true
		case c == '{' || c == '[':
			s.begun = s.begun || c == '{'
			s.depth++
		case c == '}' || c == ']':
			if s.depth--; s.depth <= 0 && s.begun {
				s.whole = true
			}
		}
	}
	return text
}
