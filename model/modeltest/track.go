package modeltest

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/homing-go/homing/routing"
)

// A track is what one session sent, in its order. In the one without an id are the
// requests without a session. In a recorder the session's names are its IDs, in a file
// what stands for them.
type track struct {
	id, parent, root string
	entries          []*entry
}

// An entry is one exchange.
type entry struct {
	method, target string
	header         []field
	body           string
	status         string // with its text; "" if no response came
	answer         []field
	text           string // the body of the response
	trailer        []field
	end            outcome
	line           int // in the file
}

type field struct{ name, value string }

// title names an entry in messages.
func (e *entry) title() string { return e.method + " " + e.target }

// trackOf returns an empty track for a session; without one its names are empty.
func trackOf(s routing.Session) *track {
	return &track{id: string(s.ID), parent: string(s.Parent), root: string(s.Root)}
}

// ids lists the names of the session without the empty ones.
func (t *track) ids() []string {
	var list []string
	for _, id := range [...]string{t.id, t.parent, t.root} {
		if id != "" {
			list = append(list, id)
		}
	}
	return list
}

// neutral gives the names of every session the same form, so that what two sessions
// sent can be compared.
func (t *track) neutral() names {
	return names{{t.id, "SELF"}, {t.parent, "PARENT"}, {t.root, "ROOT"}}
}

// renamed returns a copy of the request in which the names are replaced.
func (e *entry) renamed(n names) *entry {
	out := *e
	out.target, out.body, out.header = n.inTarget(e.target), n.inBody(e.body), n.inFields(e.header)
	return &out
}

// renamedAnswer is renamed for the other half.
func (e *entry) renamedAnswer(n names) *entry {
	out := *e
	out.answer, out.text, out.trailer = n.inFields(e.answer), n.inBody(e.text), n.inFields(e.trailer)
	return &out
}

// mapOf returns the fields as a header.
func mapOf(fields []field) http.Header {
	h := make(http.Header, len(fields))
	for _, f := range fields {
		h.Add(f.name, f.value)
	}
	return h
}

// key is the request in one text.
func (e *entry) key() string {
	return string(appendRequest(nil, e))
}

// nameSessions gives the tracks of a recorder their order and the names that the file
// knows them by, SESSION-1 first. The order must not depend on what differs from run
// to run: the IDs, and which of two sessions side by side was faster.
func nameSessions(list []*track) []*track {
	first := map[string]string{} // request of each session
	for _, t := range list {
		first[t.id] = t.entries[0].renamed(t.neutral()).key()
		if t.id == "" {
			slices.SortStableFunc(t.entries, func(a, b *entry) int { return cmp.Compare(a.key(), b.key()) })
		}
	}
	slices.SortStableFunc(list, func(a, b *track) int {
		switch {
		case a.id == "":
			return 1
		case b.id == "":
			return -1
		}
		return cmp.Or(cmp.Compare(first[a.id], first[b.id]), cmp.Compare(first[a.parent], first[b.parent]))
	})
	var n names
	known := map[string]string{"": ""}
	number := 0
	add := func(id string) {
		if _, ok := known[id]; ok {
			return
		}
		for known[id] == "" {
			number++
			// A name that is a text of the exchanges already would be taken for an ID.
			if name := placeholder + strconv.Itoa(number); !slices.ContainsFunc(list, func(t *track) bool { return t.contains(name) }) {
				known[id] = name
				n = append(n, pair{id, name})
			}
		}
	}
	for _, t := range list {
		add(t.id)
	}
	for _, t := range list {
		add(t.parent)
		add(t.root)
	}
	for _, t := range list {
		t.id, t.parent, t.root = known[t.id], known[t.parent], known[t.root]
		for i, e := range t.entries {
			t.entries[i] = e.renamed(n).renamedAnswer(n)
		}
	}
	return list
}

func (t *track) contains(text string) bool {
	in := func(f field) bool { return strings.Contains(f.value, text) }
	return slices.ContainsFunc(t.entries, func(e *entry) bool {
		return strings.Contains(e.target, text) || strings.Contains(e.body, text) || strings.Contains(e.text, text) ||
			slices.ContainsFunc(e.header, in) || slices.ContainsFunc(e.answer, in) || slices.ContainsFunc(e.trailer, in)
	})
}

// isEvents tells an event stream by its content type.
func (e *entry) isEvents() bool {
	for _, f := range e.answer {
		if strings.EqualFold(f.name, "Content-Type") {
			return strings.HasPrefix(f.value, "text/event-stream")
		}
	}
	return false
}
