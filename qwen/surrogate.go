package qwen

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/homing-go/homing/internal/rawjson"
)

// A JSON text may hold half of a surrogate pair, which no UTF-8 text can. Decoders turn
// it into U+FFFD without a word, and so into the model's file. Here it is kept as the
// three bytes that UTF-8 would give it, until it is joined with its other half from the
// next delta or reported.

// appendText is [rawjson.AppendText] that keeps halves of surrogate pairs.
func appendText(dst, quoted []byte) []byte {
	if len(quoted) < 2 || quoted[0] != '"' {
		return dst
	}
	if dst == nil {
		dst = make([]byte, 0, len(quoted)-2)
	}
	if !bytes.Contains(quoted, []byte(`\ud`)) && !bytes.Contains(quoted, []byte(`\uD`)) {
		return rawjson.AppendText(dst, quoted)
	}
	s := quoted[1 : len(quoted)-1]
	joint := max(len(dst)-3, 0)
	for len(s) > 0 {
		at := bytes.IndexByte(s, '\\')
		if at < 0 {
			at = len(s)
		}
		dst = appendValid(dst, s[:at])
		if s = s[at:]; len(s) == 0 {
			break
		}
		size := 2
		if s[1] == 'u' {
			size = 6
			if r := rawjson.Hex4(s[2:]); utf16.IsSurrogate(r) {
				dst = append(dst, 0xED, 0x80|byte(r>>6&0x3F), 0x80|byte(r&0x3F))
				s = s[size:]
				continue
			}
		}
		var escape [8]byte
		dst = rawjson.AppendText(dst, append(append(append(escape[:0], '"'), s[:size]...), '"'))
		s = s[size:]
	}
	return append(dst[:joint], joinSurrogates(dst[joint:])...)
}

func appendValid(dst, s []byte) []byte {
	if utf8.Valid(s) {
		return append(dst, s...)
	}
	return append(dst, bytes.ToValidUTF8(s, []byte("\ufffd"))...)
}

// surrogateAt returns the half of a surrogate pair that begins at i, or 0.
func surrogateAt[T string | []byte](b T, i int) rune {
	if i >= 0 && i+2 < len(b) && b[i] == 0xED && b[i+1] >= 0xA0 {
		return 0xD000 | rune(b[i+1]&0x3F)<<6 | rune(b[i+2]&0x3F)
	}
	return 0
}

// textOf is appendText as a string.
func textOf(value []byte) string {
	if bytes.Contains(value, []byte(`\ud`)) || bytes.Contains(value, []byte(`\uD`)) {
		return string(appendText(nil, value))
	}
	return rawjson.Text(value)
}

// joinSurrogates makes whole characters of halves that stand side by side, in place.
func joinSurrogates(b []byte) []byte {
	out := -1 // how far the result has come; the two run apart after the first join
	for i := 0; i < len(b); {
		next := bytes.IndexByte(b[i:], 0xED)
		if next < 0 {
			next = len(b) - i
		}
		if out >= 0 {
			out += copy(b[out:], b[i:i+next])
		}
		if i += next; i >= len(b) {
			break
		}
		if high := surrogateAt(b, i); high != 0 {
			if r := utf16.DecodeRune(high, surrogateAt(b, i+3)); r != utf8.RuneError {
				if out < 0 {
					out = i
				}
				out += utf8.EncodeRune(b[out:], r)
				i += 6
				continue
			}
		}
		if out >= 0 {
			b[out] = b[i]
			out++
		}
		i++
	}
	if out < 0 {
		return b
	}
	return b[:out]
}

// hasHalf reports whether text holds half of a surrogate pair; nothing else in it can be
// invalid.
func hasHalf(text string) bool { return !utf8.ValidString(text) }

// hasHalfEscaped reports whether a JSON value holds half of a surrogate pair, as bytes or
// as an escape.
func hasHalfEscaped(value []byte) bool {
	if !utf8.Valid(value) {
		return true
	}
	for i := 0; ; {
		next := bytes.IndexByte(value[i:], '\\')
		if next < 0 {
			return false
		}
		i += next
		if value[i+1] != 'u' {
			i += 2
			continue
		}
		r := rawjson.Hex4(value[i+2:])
		i += 6
		if !utf16.IsSurrogate(r) {
			continue
		}
		if i+6 > len(value) || value[i] != '\\' || value[i+1] != 'u' || utf16.DecodeRune(r, rawjson.Hex4(value[i+2:])) == utf8.RuneError {
			return true
		}
		i += 6
	}
}

// endsInHalf reports whether a text ends in the first half of a surrogate pair, whose other
// half may follow.
func endsInHalf(text []byte) bool {
	r := surrogateAt(text, len(text)-3)
	return r != 0 && r < 0xDC00
}

// validText is text without halves of surrogate pairs. Each becomes one U+FFFD, so that
// what is shown of a text bit by bit is the beginning of the whole.
func validText(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for from, i := 0, 0; ; i++ {
		half := i < len(text) && surrogateAt(text, i) != 0
		if !half && i < len(text) {
			continue
		}
		b.WriteString(strings.ToValidUTF8(text[from:i], "\ufffd"))
		if i >= len(text) {
			return b.String()
		}
		b.WriteString("\ufffd")
		from = i + 3
		i += 2
	}
}
