package redact

import (
	"slices"
	"strings"

	"github.com/homing-go/homing/internal/rawjson"
)

// JSON returns the valid JSON value without secrets: those in its texts, and whatever
// stands under a name for which [SecretName] holds, even null. Names keep their text,
// save long secrets. The rest of the value keeps its bytes.
func (r *Redactor) JSON(value []byte) []byte { return r.appendJSON(nil, value) }

func (r *Redactor) appendJSON(dst, value []byte) []byte {
	done := 0
	switch rawjson.Kind(value) {
	case '{':
		for o := rawjson.Members(value); o.Next(); {
			key := string(o.Key)
			if name := r.Name(key); name != key {
				dst = rawjson.AppendQuoted(append(dst, value[done:o.From]...), name)
				done = o.From + memberName(value[o.From:o.To])
			}
			dst = append(dst, value[done:o.To-len(o.Value)]...)
			done = o.To
			switch {
			case SecretName(key):
				dst = rawjson.AppendQuoted(dst, r.orMark())
			case isCounter(key, o.Value):
				dst = append(dst, o.Value...)
			default:
				dst = r.appendJSON(dst, o.Value)
			}
		}
	case '[':
		for a := rawjson.Elements(value); a.Next(); {
			dst = append(dst, value[done:a.To-len(a.Value)]...)
			dst, done = r.appendJSON(dst, a.Value), a.To
		}
	case '"':
		text := rawjson.Text(value)
		if clean := r.Text(text); clean != text {
			return rawjson.AppendQuoted(dst, clean)
		}
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

// memberName is the length of the quoted name at the start of a member.
func memberName(member []byte) int {
	for i := 1; i < len(member); i++ {
		switch member[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(member)
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
