package redact

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Mark stands where a secret was.
const Mark = "<redacted>"

// Lengths of secrets, in characters: below minFree a text is not searched for them, below
// minName names and IDs are not.
const (
	minFree = 2
	minName = 8
)

// A Redactor takes secrets out. It does not change and is safe for concurrent use; nil
// knows no secrets, only what credentials look like.
type Redactor struct {
	literals []string // as they are written, longest first
	free     *strings.Replacer
	name     *strings.Replacer
	short    *regexp.Regexp // nil: none
	mark     string
}

// New returns a redactor that knows secrets; empty ones do not count.
func New(secrets ...string) *Redactor {
	r := &Redactor{mark: markWithout(secrets)}
	var names, shorts []string
	for _, s := range secrets {
		switch n := utf8.RuneCountInString(s); {
		case n == 0:
		case n < minFree:
			shorts = append(shorts, regexp.QuoteMeta(strings.ToValidUTF8(s, "\ufffd"))) // as regexp reads such bytes
		default:
			r.literals = append(r.literals, spellings(s)...)
			if n >= minName {
				names = append(names, spellings(s)...)
			}
		}
	}
	byLength := func(a, b string) int { return len(b) - len(a) }
	slices.SortFunc(r.literals, byLength)
	slices.SortFunc(names, byLength)
	r.free, r.name = replacer(r.literals, r.mark), replacer(names, r.mark)
	if len(shorts) > 0 {
		r.short = regexp.MustCompile(`(?i)((?:key|token|secret|password|passwd)\\?["']?\s*[:=]\s*\\?["']?|(?:bearer|basic)\s+)(?:` + strings.Join(shorts, "|") + `)`)
	}
	return r
}

// markWithout is a mark that has none of the secrets in it.
func markWithout(secrets []string) string {
	for _, mark := range []string{Mark, "***", "[hidden]"} {
		if !slices.ContainsFunc(secrets, func(s string) bool { return s != "" && strings.Contains(mark, s) }) {
			return mark
		}
	}
	return ""
}

// spellings are the ways in which a secret is written: plain, in JSON, in a URL.
func spellings(s string) []string {
	all := []string{s, url.QueryEscape(s), url.PathEscape(s)}
	if quoted, err := json.Marshal(s); err == nil {
		all = append(all, string(quoted[1:len(quoted)-1]))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func replacer(secrets []string, mark string) *strings.Replacer {
	pairs := make([]string, 0, 2*len(secrets))
	for _, s := range secrets {
		pairs = append(pairs, s, mark)
	}
	return strings.NewReplacer(pairs...)
}

// What credentials look like. The value is the second group.
var (
	authorization = regexp.MustCompile(`(?i)(\bauthorization\\?["']?[ \t]*[:=][ \t]*\\?["']?(?:bearer|basic)[ \t]+)([^\s"'\\,;<]+)`)
	assignment    = regexp.MustCompile(`(?i)((?:api[_-]?key|access[_-]?token|token|password)=)([^\s&"'\\<>,;)\]}]+)`)
	userinfo      = regexp.MustCompile(`(?i)(\b[a-z][a-z0-9+.-]*://[^\s/:@"'<>]*:)([^\s/@"'<>]+)(@)`)
)

// Text returns s without secrets.
func (r *Redactor) Text(s string) string {
	mark := r.orMark()
	if r != nil {
		s = r.free.Replace(s)
		if r.short != nil {
			s = r.short.ReplaceAllString(s, "${1}"+mark)
		}
	}
	if strings.ContainsAny(s, ":=") { // each of the patterns needs one
		s = authorization.ReplaceAllString(s, "${1}"+mark)
		s = assignment.ReplaceAllString(s, "${1}"+mark)
		s = userinfo.ReplaceAllString(s, "${1}"+mark+"${3}")
	}
	return s
}

// Name returns the name or ID s without secrets. Those of fewer than eight characters
// are left: that a name has them in it says nothing, and without them it names nothing.
func (r *Redactor) Name(s string) string {
	if r == nil {
		return s
	}
	return r.name.Replace(s)
}

// URL returns the URL s without the credentials in it.
func (r *Redactor) URL(s string) string {
	mark := r.orMark()
	s = assignment.ReplaceAllString(r.Name(s), "${1}"+mark)
	return userinfo.ReplaceAllString(s, "${1}"+mark+"${3}")
}

// Mark is what stands where a secret was: the constant of that name, unless one of the
// secrets is a part of it.
func (r *Redactor) Mark() string { return r.orMark() }

func (r *Redactor) orMark() string {
	if r == nil {
		return Mark
	}
	return r.mark
}

// Weak reports whether one of the secrets is so short that free text cannot be
// protected.
func (r *Redactor) Weak() bool { return r != nil && r.short != nil }
