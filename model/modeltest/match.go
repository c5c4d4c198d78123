package modeltest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/homing-go/homing/routing"
)

// others tells what the file calls the sessions of this run besides s and its
// relatives, which depend on the place that s takes.
func (p *player) others(s routing.Session) names {
	var n names
	for id, t := range p.live {
		if id != s.ID && id != s.Parent && id != s.Root {
			n = append(n, pair{string(id), t.id})
		}
	}
	return n
}

// names tells what the file calls s and its relatives if s is in the place of t.
func (t *played) names(s routing.Session) names {
	n := names{{string(s.ID), t.id}, {string(s.Parent), t.parent}, {string(s.Root), t.root}}
	return slices.DeleteFunc(n, func(p pair) bool { return p.to == "" })
}

// find returns the next entry of the session, or why there is none.
func (p *player) find(s routing.Session, got *entry) (*played, *entry, string) {
	title := got.renamed(trackOf(s).neutral()).title()
	if s.ID == "" {
		return p.findLoose(got)
	}
	t := p.live[s.ID]
	if t == nil {
		t = p.free(s, got)
	} else if t.next >= len(t.entries) || differs(s, t, got) != "" {
		t = p.trade(s, t, got)
	}
	switch {
	case t == nil:
		return nil, nil, fmt.Sprintf("%s is the first request of a session, and each of the sessions in the file, %d, is taken by another one", title, p.sessions())
	case t.next >= len(t.entries):
		return nil, nil, fmt.Sprintf("%s is request %d of %s, which has %d in the file", title, t.next+1, t.id, len(t.entries))
	}
	e := t.entries[t.next]
	if why := differs(s, t, got); why != "" {
		return nil, nil, fmt.Sprintf("request %d of %s is not that of line %d: %s", t.next+1, t.id, e.line, why)
	}
	t.taken, p.live[s.ID] = s.ID, t
	t.next++
	return t, e, ""
}

// free returns the track for a new session: the first that begins with the same
// request, else that which comes nearest to it, for the message.
func (p *player) free(s routing.Session, got *entry) *played {
	first := got.renamed(trackOf(s).neutral()).key()
	var nearest *played
	most := -1
	for _, t := range p.tracks {
		if t.id == "" || t.taken != "" {
			continue
		}
		at, same := firstDifference([]byte(t.first), []byte(first))
		if same {
			return t
		}
		if at > most {
			nearest, most = t, at
		}
	}
	return nearest
}

// trade is for sessions that began alike: which is which shows only later. It gives
// the session the track that goes on with this request, if the tracks are the same up
// to here, and another session on that track this one. Else the track stays.
func (p *player) trade(s routing.Session, t *played, got *entry) *played {
	for _, other := range p.tracks {
		if other == t || other.id == "" || other.next > t.next || len(other.entries) <= t.next || !sameStart(t.track, other.track, t.next) {
			continue
		}
		was := other.next
		other.next = t.next
		if differs(s, other, got) != "" {
			other.next = was
			continue
		}
		t.next, t.taken = was, other.taken
		if t.taken != "" {
			p.live[t.taken] = t
		}
		return other
	}
	return t
}

// sameStart reports whether the first n entries of two tracks are the same.
func sameStart(a, b *track, n int) bool {
	for i := range n {
		one := a.entries[i].renamed(a.neutral()).renamedAnswer(a.neutral())
		two := b.entries[i].renamed(b.neutral()).renamedAnswer(b.neutral())
		if string(appendAnswer(appendRequest(nil, one), one)) != string(appendAnswer(appendRequest(nil, two), two)) {
			return false
		}
	}
	return true
}

// findLoose is find for a request without a session.
func (p *player) findLoose(got *entry) (*played, *entry, string) {
	why := "the file has no request without a session"
	most := -1
	for _, t := range p.tracks {
		if t.id != "" {
			continue
		}
		if most < 0 {
			why = "the file has no request without a session left"
		}
		for i, e := range t.entries {
			if t.used[i] {
				continue
			}
			differs := difference(e, got)
			if differs == "" {
				t.used[i] = true
				return t, e, ""
			}
			if at, _ := firstDifference([]byte(e.key()), []byte(got.key())); at > most {
				most, why = at, fmt.Sprintf("it is not that of line %d: %s", e.line, differs)
			}
		}
	}
	return nil, nil, fmt.Sprintf("%s has no session in its context, and %s", got.title(), why)
}

func (p *player) sessions() int {
	n := 0
	for _, t := range p.tracks {
		if t.id != "" {
			n++
		}
	}
	return n
}

// differs tells how a request differs from the next one of a track.
func differs(s routing.Session, t *played, got *entry) string {
	return difference(t.entries[t.next], got.renamed(t.names(s)))
}

// difference tells where a request differs from the recorded one; "" if it does not.
func difference(want, got *entry) string {
	if want.title() != got.title() {
		return fmt.Sprintf("it is %s and was %s", got.title(), want.title())
	}
	wanted, have := mapOf(want.header), mapOf(got.header)
	for _, f := range append(want.header[:len(want.header):len(want.header)], got.header...) {
		was, is := strings.Join(wanted.Values(f.name), " | "), strings.Join(have.Values(f.name), " | ")
		switch {
		case was == is:
		case was == "":
			return fmt.Sprintf("the header %s: %q is new", f.name, is)
		case is == "":
			return fmt.Sprintf("the header %s: %q is gone", f.name, was)
		default:
			return fmt.Sprintf("the header %s is %q and was %q", f.name, is, was)
		}
	}
	at, same := firstDifference([]byte(want.body), []byte(got.body))
	if same {
		return ""
	}
	return fmt.Sprintf("its body of %d bytes, which was %d, differs from byte %d, in line %d: it is %q there and was %q",
		len(got.body), len(want.body), at, 1+strings.Count(want.body[:at], "\n"), excerpt([]byte(got.body), at), excerpt([]byte(want.body), at))
}
