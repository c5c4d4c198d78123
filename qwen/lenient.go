package qwen

import "strings"

// A lenientScan reads one JSON value and notes the faults that have one reading: raw
// control characters in strings and commas before a closing bracket. Anything else is a
// fault that ends the scan. It goes over the text once.
type lenientScan struct {
	end int // offset behind the value
	// edits are the offsets of commas to drop and of control characters to escape; ctrl
	// and comma tell which of them there are.
	edits       []int
	ctrl, comma bool
	fault       *jsonFault
}

// A jsonFault is where a text stops being JSON.
type jsonFault struct {
	at     int
	early  bool // the text ends there: it may be the beginning of a longer one
	reason string
	// depth is the number of open brackets; closable tells that all that is missing
	// there are the closing ones.
	depth    int
	closable bool
}

const maxDepth = 10000 // the limit of encoding/json

type scanState uint8

const (
	wantValue scanState = iota
	wantElement
	wantFirstKey
	wantKey
	wantColon
	wantNext
)

// scanJSON reads the value that begins at offset at or after blanks there.
func scanJSON[T string | []byte](src T, at int) lenientScan {
	var s lenientScan
	var open [64]byte
	stack := open[:0]
	state, comma, i := wantValue, -1, at
	stop := func(reason string) lenientScan {
		s.fault = &jsonFault{at: i, early: i >= len(src), reason: reason, depth: len(stack), closable: state == wantNext}
		return s
	}
	for {
		if i = skipBlanks(src, i); i >= len(src) {
			return stop("the JSON stops early")
		}
		c := src[i]
		if (c == '}' || c == ']') && len(stack) > 0 && (state == wantElement || state == wantFirstKey || state == wantNext || comma >= 0) {
			if (stack[len(stack)-1] == '{') != (c == '}') {
				return stop("the brackets do not match")
			}
			if comma >= 0 {
				s.edits, s.comma = append(s.edits, comma), true
			}
			stack, i, comma, state = stack[:len(stack)-1], i+1, -1, wantNext
			if len(stack) == 0 {
				s.end = i
				return s
			}
			continue
		}
		switch state {
		case wantFirstKey, wantKey:
			if c != '"' {
				return stop("expected a name in double quotes")
			}
			var ok bool
			if i, ok = scanString(&s, src, i); !ok {
				return stop(stringFault(src, i))
			}
			state, comma = wantColon, -1
		case wantColon:
			if c != ':' {
				return stop("expected a colon")
			}
			state, i = wantValue, i+1
		case wantNext:
			if c != ',' {
				return stop("expected a comma or the closing bracket")
			}
			comma, i = i, i+1
			if state = wantKey; stack[len(stack)-1] == '[' {
				state = wantValue
			}
		default:
			if c == '{' || c == '[' {
				if len(stack) >= maxDepth {
					return stop("nested too deeply")
				}
				stack, i, comma = append(stack, c), i+1, -1
				if state = wantFirstKey; c == '[' {
					state = wantElement
				}
				continue
			}
			var ok bool
			if c == '"' {
				if i, ok = scanString(&s, src, i); !ok {
					return stop(stringFault(src, i))
				}
			} else if i, ok = scalarEnd(src, i); !ok {
				return stop("no JSON value")
			}
			if state, comma = wantNext, -1; len(stack) == 0 {
				s.end = i
				return s
			}
		}
	}
}

// scanString goes to the end of a string and notes control characters in it.
func scanString[T string | []byte](s *lenientScan, src T, i int) (int, bool) {
	for i++; i < len(src); i++ {
		switch c := src[i]; {
		case c == '"':
			return i + 1, true
		case c == '\\':
			if i++; i >= len(src) {
				return i, false
			}
			switch src[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				for range 4 {
					if i++; i >= len(src) || !isHex(src[i]) {
						return i, false
					}
				}
			default:
				return i, false
			}
		case c < 0x20:
			s.edits, s.ctrl = append(s.edits, i), true
		}
	}
	return i, false
}

func stringFault[T string | []byte](src T, at int) string {
	if at >= len(src) {
		return "the JSON stops early"
	}
	return "unknown escape in a string"
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func escaped(c byte) string {
	switch c {
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	const digits = "0123456789abcdef"
	return `\u00` + string([]byte{digits[c>>4], digits[c&15]})
}

// scalarEnd goes over a number or a literal; ok is false when it is neither. A literal or
// a number that the text cuts ends at its length, with ok false.
func scalarEnd[T string | []byte](src T, i int) (end int, ok bool) {
	start := i
	for i < len(src) && !isBlank(src[i]) && src[i] != ',' && src[i] != ']' && src[i] != '}' {
		if i++; i-start > 1<<10 && !isNumberByte(src[i-1]) {
			return start, false
		}
	}
	word := src[start:i]
	switch string(word) {
	case "true", "false", "null":
		return i, true
	}
	if isNumber([]byte(word)) {
		return i, true
	}
	if i >= len(src) {
		for _, literal := range [...]string{"true", "false", "null"} {
			if strings.HasPrefix(literal, string(word)) {
				return i, false
			}
		}
		if isNumber([]byte(string(word) + "0")) {
			return i, false
		}
	}
	return start, false
}

func isNumberByte(c byte) bool {
	return '0' <= c && c <= '9' || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E'
}

// isNumber reports whether word is a JSON number.
func isNumber(word []byte) bool {
	i := 0
	digits := func() bool {
		start := i
		for i < len(word) && '0' <= word[i] && word[i] <= '9' {
			i++
		}
		return i > start
	}
	if i < len(word) && word[i] == '-' {
		i++
	}
	if i < len(word) && word[i] == '0' {
		i++
	} else if !digits() {
		return false
	}
	if i < len(word) && word[i] == '.' {
		if i++; !digits() {
			return false
		}
	}
	if i < len(word) && (word[i] == 'e' || word[i] == 'E') {
		if i++; i < len(word) && (word[i] == '+' || word[i] == '-') {
			i++
		}
		if !digits() {
			return false
		}
	}
	return i == len(word)
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

func skipBlanks[T string | []byte](text T, i int) int {
	for i < len(text) && isBlank(text[i]) {
		i++
	}
	return i
}

// note records with a call what the edits mend.
func (s *lenientScan) note(c *foundCall) {
	if s.ctrl {
		c.mend(RepairControlChars)
	}
	if s.comma {
		c.mend(RepairTrailingComma)
	}
}

// mended returns the value with the edits done. value is its text, which begins at offset
// from of what was scanned.
func (s *lenientScan) mended(value []byte, from int) []byte {
	if len(s.edits) == 0 {
		return value
	}
	out := make([]byte, 0, len(value)+5*len(s.edits))
	at := 0
	for _, e := range s.edits {
		e -= from
		out = append(out, value[at:e]...)
		if c := value[e]; c != ',' {
			out = append(out, escaped(c)...)
		}
		at = e + 1
	}
	return append(out, value[at:]...)
}
