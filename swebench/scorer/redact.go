package scorer

import (
	"bytes"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/swebench/redact"
)

// A redactor takes secrets out of what a service sent, and what looks like a credential.
type redactor struct {
	known    *redact.Redactor
	literals []string
}

// newRedactor knows secrets, and how Python writes them in JSON and in URLs.
func newRedactor(secrets ...string) redactor {
	var r redactor
	for _, s := range secrets {
		if s == "" {
			continue
		}
		r.literals = append(r.literals, s)
		quoted := string(rawjson.AppendQuoted(nil, s))
		ascii := asciiJSON(s)
		again := string(rawjson.AppendQuoted(nil, ascii)) // JSON in a text of JSON
		percent := strings.NewReplacer("+", "%20", "%2F", "/").Replace(url.QueryEscape(s))
		for _, spelling := range []string{quoted[1 : len(quoted)-1], ascii, again[1 : len(again)-1], percent} {
			if !slices.Contains(r.literals, spelling) {
				r.literals = append(r.literals, spelling)
			}
		}
	}
	r.known = redact.New(r.literals...)
	return r
}

// asciiJSON is s in JSON as Python writes it, without the quotes.
func asciiJSON(s string) string {
	quoted := rawjson.AppendQuoted(nil, s)
	var b strings.Builder
	for _, c := range string(quoted[1 : len(quoted)-1]) {
		if c < 0x80 {
			b.WriteRune(c)
			continue
		}
		for _, unit := range utf16.Encode([]rune{c}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// secretsOfURL are the credentials in an endpoint's URL.
func secretsOfURL(s string) []string {
	u, err := url.Parse(s)
	if err != nil || u.User == nil {
		return nil
	}
	if password, ok := u.User.Password(); ok {
		return []string{password}
	}
	return []string{u.User.Username()}
}

// text is for people.
func (r redactor) text(s string) string { return r.known.Text(s) }

// json is for a JSON document, which must be sound. What it leaves keeps its bytes. Short
// secrets are left where they may be a piece of an ID.
func (r redactor) json(data []byte) []byte {
	var (
		out []byte
		key string
	)
	for {
		from := bytes.IndexByte(data, '"')
		if from < 0 {
			return append(out, data...)
		}
		to := from + 1
		for data[to] != '"' {
			if data[to] == '\\' {
				to++
			}
			to++
		}
		out = append(out, data[:from]...)
		quoted := data[from : to+1]
		data = data[to+1:]
		text := rawjson.Text(quoted)
		clean := r.known.Name(text)
		isKey := bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte(":"))
		if !isKey && (key == "error" || key == "message") {
			clean = r.text(text)
		}
		if clean != text {
			quoted = rawjson.AppendQuoted(nil, clean)
		}
		out, key = append(out, quoted...), ""
		if isKey {
			key = text
		}
	}
}

// cut is for a text whose end is missing: a secret may have been cut in two.
func (r redactor) cut(s string) string {
	const least = 4 // characters of a secret that tell something
	for _, secret := range r.literals {
		for n := min(len(s), len(secret)-1); n >= least; n-- {
			if strings.HasSuffix(s, secret[:n]) {
				return s[:len(s)-n] + r.known.Mark()
			}
		}
	}
	return s
}

// excerpt is text for an error or an entry: without secrets, on one line, and short.
func (r redactor) excerpt(s string) string {
	const limit = 2000
	if len(s) > maxDetail {
		s = r.cut(s[:maxDetail])
	}
	s = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) { // a terminal would obey it
			return ' '
		}
		return c
	}, r.text(strings.ToValidUTF8(s, "\ufffd")))
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "..."
	}
	return s
}
