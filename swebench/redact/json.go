package redact

import (
	"slices"
	"strings"

	"github.com/homing-go/homing/internal/rawjson"
)

// JSON returns the valid JSON value without secrets: those in its texts, and whatever
// stands under a name for which [SecretName] holds, even null. Names keep their text,
// save long secrets. The rest of the value keeps its bytes. It is read once, however deep
// it is nested.
func (r *Redactor) JSON(value []byte) []byte {
	var (
		dst  []byte
		open []byte // the brackets around the place
		done int    // what is in dst already
		name bool   // a member's name is next
	)
	replace := func(from, to int, text string) {
		dst = rawjson.AppendQuoted(append(dst, value[done:from]...), text)
		done = to
	}
	for i := 0; i < len(value); {
		switch c := value[i]; c {
		case '{', '[':
			open, name = append(open, c), c == '{'
		case '}', ']':
			open = open[:max(0, len(open)-1)]
		case ',':
			name = len(open) > 0 && open[len(open)-1] == '{'
		case '"':
			end := i + textLen(value[i:])
			text := rawjson.Text(value[i:end])
			if !name {
				if clean := r.Text(text); clean != text {
					replace(i, end, clean)
				}
				i = end
				continue
			}
			if clean := r.Name(text); clean != text {
				replace(i, end, clean)
			}
			i, name = valueStart(value, end), false
			switch {
			case SecretName(text):
				to := valueEnd(value, i)
				replace(i, to, r.orMark())
				i = to
			case i < len(value) && value[i] == '"' && isCounter(text, value[i:i+textLen(value[i:])]):
				i += textLen(value[i:])
			}
			continue
		}
		i++
	}
	return append(dst, value[done:]...)
}

// isCounter reports whether a member is a number that is written as a string, as results
// have them: a short key in it says nothing, and without it there is no score.
func isCounter(key string, value []byte) bool {
	const digits = 8
	text := rawjson.Text(value)
	return strings.HasSuffix(key, "_instances") && len(text) <= digits && strings.Trim(text, "0123456789") == "" && text != ""
}

// textLen is the length of the quoted text at the start of s.
func textLen(s []byte) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

// valueStart finds the value of the member whose name ends at i.
func valueStart(s []byte, i int) int {
	for i < len(s) && strings.IndexByte(" \t\r\n:", s[i]) >= 0 {
		i++
	}
	return i
}

// valueEnd finds the end of the value that starts at i.
func valueEnd(s []byte, i int) int {
	for depth := 0; i < len(s); {
		switch s[i] {
		case '"':
			if i += textLen(s[i:]); depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return i // of a number in the last member
			} else if depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return i
}

// SecretName reports whether what stands under this name is a secret: token, password,
// api_key and so on, in any case, with "-" for "_".
func SecretName(name string) bool {
	name = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "-", "_")
	switch name {
	case "token", "password", "passwd", "secret", "authorization", "proxy_authorization", "apikey":
		return true
	}
	return strings.HasSuffix(name, "_key") || strings.HasSuffix(name, "_token") ||
		slices.ContainsFunc([]string{"api_key", "access_token", "secret", "password"}, func(part string) bool { return strings.Contains(name, part) })
}
