package qwen

import (
	"strconv"
	"unicode/utf8"

	"github.com/homing-go/homing/internal/rawjson"
)

// pythonLiteral turns a list or a dict in Python's notation into JSON. That notation has
// one reading: texts in single or double quotes, True, False, None, numbers as in JSON.
func pythonLiteral(text []byte) ([]byte, bool) {
	p := pythonReader{text: text, out: make([]byte, 0, len(text)+len(text)/8)}
	if !p.value(0) {
		return nil, false
	}
	if skipBlanks(text, p.at) != len(text) {
		return nil, false
	}
	return p.out, true
}

type pythonReader struct {
	text, out []byte
	at        int
}

const maxPythonDepth = 200

// next returns the next byte that is no blank, or 0.
func (p *pythonReader) next() byte {
	if p.at = skipBlanks(p.text, p.at); p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *pythonReader) value(depth int) bool {
	if depth > maxPythonDepth {
		return false
	}
	switch c := p.next(); c {
	case '[':
		return p.list(depth)
	case '{':
		return p.dict(depth)
	case '\'', '"':
		return p.string()
	default:
		return p.word()
	}
}

func (p *pythonReader) list(depth int) bool {
	p.at++
	p.out = append(p.out, '[')
	for n := 0; ; n++ {
		if p.next() == ']' {
			break
		}
		if n > 0 {
			p.out = append(p.out, ',')
		}
		if !p.value(depth + 1) {
			return false
		}
		if !p.comma(']') {
			return false
		}
	}
	p.at++
	p.out = append(p.out, ']')
	return true
}

func (p *pythonReader) dict(depth int) bool {
	p.at++
	p.out = append(p.out, '{')
	for n := 0; ; n++ {
		c := p.next()
		if c == '}' {
			break
		}
		if n > 0 {
			p.out = append(p.out, ',')
		}
		if c != '\'' && c != '"' || !p.string() || p.next() != ':' {
			return false
		}
		p.at++
		p.out = append(p.out, ':')
		if !p.value(depth+1) || !p.comma('}') {
			return false
		}
	}
	p.at++
	p.out = append(p.out, '}')
	return true
}

// comma goes over a comma, which may be missing before the closing bracket.
func (p *pythonReader) comma(closing byte) bool {
	switch p.next() {
	case ',':
		p.at++
		return true
	case closing:
		return true
	}
	return false
}

func (p *pythonReader) word() bool {
	start := p.at
	for p.at < len(p.text) {
		if c := p.text[p.at]; isBlank(c) || c == ',' || c == ']' || c == '}' || c == ':' {
			break
		}
		p.at++
	}
	switch word := p.text[start:p.at]; string(word) {
	case "True":
		p.out = append(p.out, "true"...)
	case "False":
		p.out = append(p.out, "false"...)
	case "None":
		p.out = append(p.out, "null"...)
	default:
		if !isNumber(word) {
			return false
		}
		p.out = append(p.out, word...)
	}
	return true
}

// string reads one text; a backslash before any other character than those of an escape
// stands for itself, as in Python.
func (p *pythonReader) string() bool {
	quote := p.text[p.at]
	var value []byte
	for p.at++; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; c {
		case quote:
			p.at++
			p.out = rawjson.AppendQuoted(p.out, value)
			return true
		case '\n':
			return false
		case '\\':
			var ok bool
			if value, ok = p.escape(value); !ok {
				return false
			}
		default:
			value = append(value, c)
		}
	}
	return false
}

// escape reads the escape at p.at and leaves p.at on its last byte.
func (p *pythonReader) escape(value []byte) ([]byte, bool) {
	p.at++
	if p.at >= len(p.text) {
		return value, false
	}
	digits := 0
	switch c := p.text[p.at]; c {
	case '\\', '\'', '"':
		return append(value, c), true
	case 'n':
		return append(value, '\n'), true
	case 't':
		return append(value, '\t'), true
	case 'r':
		return append(value, '\r'), true
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	case 'a', 'b', 'f', 'v', 'N', '\n', '0', '1', '2', '3', '4', '5', '6', '7':
		return value, false // legal and rare; not worth a wrong guess
	default:
		return append(value, '\\', c), true
	}
	from, to := p.at+1, p.at+1+digits
	if to > len(p.text) {
		return value, false
	}
	code, err := strconv.ParseInt("0"+string(p.text[from:to]), 16, 32)
	if err != nil || !utf8.ValidRune(rune(code)) {
		return value, false
	}
	p.at = to - 1
	return utf8.AppendRune(value, rune(code)), true
}
