package modeltest

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
)

// names tells what to write in the place of session IDs, or of what stands for them.
// Of two pairs with the same from the first counts; one without a from is left out.
type names []pair

type pair struct{ from, to string }

// commonWord is the length below which an ID may be any word of a text: it is replaced
// only where it is a whole value.
const commonWord = 16

// inBody replaces in a body. IDs may have bytes that JSON escapes.
func (n names) inBody(text string) string {
	return n.replace(text, `"\`, func(id string) string {
		quoted := quote(id)
		return quoted[1 : len(quoted)-1]
	})
}

func (n names) inTarget(text string) string { return n.replace(text, "/?=&", url.QueryEscape) }

func (n names) inHeader(value string) string {
	return n.replace(value, "=;, ", func(id string) string { return id })
}

func (n names) inFields(fields []field) []field {
	out := slices.Clone(fields)
	for i := range out {
		out[i].value = n.inHeader(out[i].value)
	}
	return out
}

// replace does all pairs in one pass, so that what was put in is not taken for an ID.
// edges are the bytes around a whole value, besides the ends of the text.
func (n names) replace(text, edges string, form func(string) string) string {
	var begins [256]names
	for _, p := range n {
		if p.from == "" {
			continue
		}
		escaped := form(p.from)
		begins[escaped[0]] = append(begins[escaped[0]], pair{escaped, form(p.to)})
		if escaped != p.from {
			begins[p.from[0]] = append(begins[p.from[0]], p)
		}
	}
	for _, list := range begins { // the longest first: one ID may begin with another
		slices.SortStableFunc(list, func(a, b pair) int { return cmp.Compare(len(b.from), len(a.from)) })
	}
	var b strings.Builder
	start := 0
	for i := 0; i < len(text); i++ {
		for _, p := range begins[text[i]] {
			if strings.HasPrefix(text[i:], p.from) && standsAlone(text, i, i+len(p.from), edges) {
				b.WriteString(text[start:i])
				b.WriteString(p.to)
				start = i + len(p.from)
				i = start - 1
				break
			}
		}
	}
	if start == 0 {
		return text
	}
	b.WriteString(text[start:])
	return b.String()
}

// standsAlone reports whether text[from:to] is a word of its own, and a whole value if
// it is short.
func standsAlone(text string, from, to int, edges string) bool {
	isEdge := func(c byte) bool { return !isAlphanumeric(c) }
	if to-from < commonWord && !strings.HasPrefix(text[from:], placeholder) {
		isEdge = func(c byte) bool { return strings.IndexByte(edges, c) >= 0 }
	}
	return (from == 0 || isEdge(text[from-1])) && (to == len(text) || isEdge(text[to]))
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
