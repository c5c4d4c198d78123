package rawjson

import (
	"errors"
	"fmt"
)

// maxDepth is the nesting limit of encoding/json.
const maxDepth = 10000

var errEnd = errors.New("unexpected end of JSON")

// A SyntaxError tells where a document stops being JSON.
type SyntaxError struct {
	Offset int
	Reason string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid JSON at byte %d: %s", e.Offset, e.Reason)
}

func syntax(offset int, reason string) error { return &SyntaxError{Offset: offset, Reason: reason} }

// Valid returns an error unless data is exactly one JSON value.
func Valid(data []byte) error {
	_, err := Only(data)
	return err
}

// Only returns the one value in data without the white space around it.
func Only(data []byte) ([]byte, error) {
	start := skipSpace(data, 0)
	end, err := skipValue(data, start, 0)
	if err != nil {
		return nil, err
	}
	if i := skipSpace(data, end); i != len(data) {
		return nil, syntax(i, "data after the value")
	}
	return data[start:end:end], nil
}

// IsEnd reports whether err means that the document stopped too early: it may
// be the beginning of a longer, valid one.
func IsEnd(err error) bool { return errors.Is(err, errEnd) }

func skipSpace(data []byte, i int) int {
	for i < len(data) {
		switch data[i] {
		case ' ', '\t', '\r', '\n':
			i++
		default:
			return i
		}
	}
	return i
}

// skipValue returns the offset behind the value that begins at i.
func skipValue(data []byte, i, depth int) (int, error) {
	if i >= len(data) {
		return i, errEnd
	}
	switch c := data[i]; c {
	case '"':
		return skipString(data, i)
	case '{':
		return skipObject(data, i, depth+1)
	case '[':
		return skipArray(data, i, depth+1)
	case 't':
		return skipLiteral(data, i, "true")
	case 'f':
		return skipLiteral(data, i, "false")
	case 'n':
		return skipLiteral(data, i, "null")
	default:
		if c == '-' || '0' <= c && c <= '9' {
			return skipNumber(data, i)
		}
		return i, syntax(i, "no value begins here")
	}
}

func skipObject(data []byte, i, depth int) (int, error) {
	if depth > maxDepth {
		return i, syntax(i, "nested too deeply")
	}
	i = skipSpace(data, i+1)
	if i < len(data) && data[i] == '}' {
		return i + 1, nil
	}
	for {
		_, next, err := skipKey(data, i)
		if err != nil {
			return next, err
		}
		if i, err = skipValue(data, next, depth); err != nil {
			return i, err
		}
		var more bool
		if i, more, err = skipComma(data, i, '}'); err != nil || !more {
			return i, err
		}
	}
}

func skipArray(data []byte, i, depth int) (int, error) {
	if depth > maxDepth {
		return i, syntax(i, "nested too deeply")
	}
	i = skipSpace(data, i+1)
	if i < len(data) && data[i] == ']' {
		return i + 1, nil
	}
	for {
		var err error
		if i, err = skipValue(data, i, depth); err != nil {
			return i, err
		}
		var more bool
		if i, more, err = skipComma(data, i, ']'); err != nil || !more {
			return i, err
		}
	}
}

// skipKey reads a member name and the colon; it returns the offset behind the
// name and the offset of the member's value.
func skipKey(data []byte, i int) (end, value int, err error) {
	if i >= len(data) {
		return i, i, errEnd
	}
	if data[i] != '"' {
		return i, i, syntax(i, "expected a member name")
	}
	if end, err = skipString(data, i); err != nil {
		return end, end, err
	}
	i = skipSpace(data, end)
	if i >= len(data) {
		return end, i, errEnd
	}
	if data[i] != ':' {
		return end, i, syntax(i, "expected a colon")
	}
	return end, skipSpace(data, i+1), nil
}

// skipComma reads what follows an element: a comma (more is true, and the
// offset is that of the next element) or the closing byte.
func skipComma(data []byte, i int, closing byte) (next int, more bool, err error) {
	i = skipSpace(data, i)
	if i >= len(data) {
		return i, false, errEnd
	}
	switch data[i] {
	case ',':
		return skipSpace(data, i+1), true, nil
	case closing:
		return i + 1, false, nil
	default:
		return i, false, syntax(i, "expected a comma or the closing bracket")
	}
}

func skipString(data []byte, i int) (int, error) {
	for i++; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			return i + 1, nil
		case c == '\\':
			i++
			if i >= len(data) {
				return i, errEnd
			}
			switch data[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				for range 4 {
					i++
					if i >= len(data) {
						return i, errEnd
					}
					if !isHex(data[i]) {
						return i, syntax(i, "bad \\u escape")
					}
				}
			default:
				return i, syntax(i, "unknown escape")
			}
		case c < 0x20:
			return i, syntax(i, "control character in a string")
		}
	}
	return i, errEnd
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func skipNumber(data []byte, i int) (int, error) {
	if data[i] == '-' {
		i++
	}
	if i >= len(data) {
		return i, errEnd
	}
	var err error
	if data[i] == '0' {
		i++
	} else if i, err = skipDigits(data, i); err != nil {
		return i, err
	}
	if i < len(data) && data[i] == '.' {
		if i, err = skipDigits(data, i+1); err != nil {
			return i, err
		}
	}
	if i < len(data) && (data[i] == 'e' || data[i] == 'E') {
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		return skipDigits(data, i)
	}
	return i, nil
}

func skipDigits(data []byte, i int) (int, error) {
	start := i
	for i < len(data) && '0' <= data[i] && data[i] <= '9' {
		i++
	}
	if i > start {
		return i, nil
	}
	if i >= len(data) {
		return i, errEnd
	}
	return i, syntax(i, "expected a digit")
}

func skipLiteral(data []byte, i int, word string) (int, error) {
	for k := range len(word) {
		if i+k >= len(data) {
			return i + k, errEnd
		}
		if data[i+k] != word[k] {
			return i + k, syntax(i+k, "unknown literal")
		}
	}
	return i + len(word), nil
}
