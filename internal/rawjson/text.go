package rawjson

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendText appends the text of a JSON string, quotes excluded and escapes
// resolved. What is not UTF-8 and half of a surrogate pair become U+FFFD, as in
// encoding/json. The string must be valid JSON.
func AppendText(dst, quoted []byte) []byte {
	s := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(s, '\\') < 0 && utf8.Valid(s) {
		return append(dst, s...)
	}
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '\\':
			i++
			if s[i] != 'u' {
				dst = append(dst, unescaped(s[i]))
				i++
				continue
			}
			r := Hex4(s[i+1:])
			i += 5
			if utf16.IsSurrogate(r) {
				low := rune(-1)
				if i+6 <= len(s) && s[i] == '\\' && s[i+1] == 'u' {
					low = Hex4(s[i+2:])
				}
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					i += 6
				}
			}
			dst = utf8.AppendRune(dst, r)
		case c < utf8.RuneSelf:
			dst = append(dst, c)
			i++
		default:
			r, size := utf8.DecodeRune(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += size
		}
	}
	return dst
}

// Text is [AppendText] as a string; "" when the value is not a string.
func Text(value []byte) string {
	if len(value) < 2 || value[0] != '"' {
		return ""
	}
	s := value[1 : len(value)-1]
	if bytes.IndexByte(s, '\\') < 0 && utf8.Valid(s) {
		return string(s)
	}
	return string(AppendText(make([]byte, 0, len(s)), value))
}

func unescaped(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	default:
		return c
	}
}

// Hex4 is the code unit that the first four bytes, hexadecimal digits, stand for.
func Hex4(s []byte) rune {
	var r rune
	for _, c := range s[:4] {
		switch {
		case c <= '9':
			c -= '0'
		case c <= 'F':
			c -= 'A' - 10
		default:
			c -= 'a' - 10
		}
		r = r<<4 | rune(c)
	}
	return r
}

const hexDigits = "0123456789abcdef"

// escaped is what stands for a byte in a JSON string, "" for itself. <, > and & stay as
// they are: escaping them would change the bytes that a prefix cache compares.
var escaped = func() (table [256]string) {
	for c := range 0x20 {
		table[c] = `\u00` + string(hexDigits[c>>4]) + string(hexDigits[c&15])
	}
	table['\n'], table['\r'], table['\t'] = `\n`, `\r`, `\t`
	table['"'], table['\\'] = `\"`, `\\`
	return table
}()

// AppendQuoted appends s as a JSON string. What is not UTF-8 becomes U+FFFD.
func AppendQuoted[S string | []byte](dst []byte, s S) []byte {
	dst = append(dst, '"')
	if !valid(s) {
		for _, r := range string(s) { // an invalid byte is read as U+FFFD
			if r < utf8.RuneSelf && escaped[r] != "" {
				dst = append(dst, escaped[r]...)
			} else {
				dst = utf8.AppendRune(dst, r)
			}
		}
		return append(dst, '"')
	}
	start := 0
	for i := range len(s) {
		if e := escaped[s[i]]; e != "" {
			dst = append(append(dst, s[start:i]...), e...)
			start = i + 1
		}
	}
	return append(append(dst, s[start:]...), '"')
}

// QuotedLen is how many bytes [AppendQuoted] appends, or more if s is not UTF-8.
func QuotedLen[S string | []byte](s S) int {
	if !valid(s) {
		return len(`\u0000`)*len(s) + 2
	}
	n := len(s) + 2
	for i := range len(s) {
		if e := escaped[s[i]]; e != "" {
			n += len(e) - 1
		}
	}
	return n
}

func valid[S string | []byte](s S) bool {
	switch v := any(s).(type) {
	case string:
		return utf8.ValidString(v)
	case []byte:
		return utf8.Valid(v)
	}
	return false
}
