package routing

import (
	"net/http"
	"slices"
	"sync"
)

// An Audit counts which backends served each session, and what the prefix cache
// gave, so that affinity can be proved. Plug it into [Transport.Audit]. It reads
// response headers and never bodies; token numbers are told to it by [Audit.Tokens], and
// trailers by [Audit.Trailer].
// Each attempt counts as a request, retries and redirects too.
//
// The zero Audit is ready to use, by any number of goroutines; its fields must not be
// changed after the first request. A session costs at
// most 400 bytes besides its ID; above MaxSessions those that were first seen longest
// ago are forgotten, while the totals of the [Report] keep what they were.
//
// 4,096 backends are told apart. Requests that were served by others count as such
// and prove nothing: a header that differs on every request reveals no backend.
type Audit struct {
	// Reveal names the response headers that tell the backend, the first that is
	// present counts; nil means X-Served-By, and an empty list none.
	Reveal []string
	// MaxSessions bounds the sessions that are kept; 0 means 100,000.
	MaxSessions int

	mu       sync.Mutex
	sessions map[ID]*sessionRecord
	order    []ID // a ring, oldest at next once it is full
	next     int
	total    Report
	backends backends
}

const (
	defaultMaxSessions = 100_000
	// maxSessionBackends bounds the backends that are listed for one session.
	maxSessionBackends = 16
)

// sessionRecord is what is kept of a session.
type sessionRecord struct {
	requests, revealed, mismatches, own int
	last                                int16 // number of the last backend
	backends                            []int16

	turn, prompt  int // the last turn that was told
	hit, before   int // what that turn added to the two sums
	cached, prior int
}

// Tokens tells the audit the prompt tokens of a turn and how many of them came from
// the prefix cache. Turns are numbered from 1; 0 means the one after the last.
// A turn that is told again replaces itself and is not counted twice. A turn that is
// neither the last one nor the next counts as the first of a new row. A session that
// cannot travel is left out.
func (a *Audit) Tokens(s Session, turn, prompt, cached int) {
	if s.ID.fault() != "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.record(s.ID)
	if turn <= 0 {
		turn = r.turn + 1
	}
	switch {
	case turn == r.turn:
		a.count(r, -r.hit, -r.before)
	case r.turn > 0 && turn == r.turn+1:
		r.before = r.prompt
	default:
		r.before = 0
	}
	r.hit = max(0, min(cached, r.before))
	a.count(r, r.hit, r.before)
	r.turn, r.prompt = turn, max(0, prompt)
}

// count adds to the sums of a session and to those of all.
func (a *Audit) count(r *sessionRecord, cached, prior int) {
	r.cached += cached
	r.prior += prior
	a.total.CachedTokens += cached
	a.total.PriorTokens += prior
}

// Session returns what is known of one session.
func (a *Audit) Session(id ID) (SessionReport, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r, ok := a.sessions[id]
	if !ok {
		return SessionReport{ID: id}, false
	}
	return a.report(id, r), true
}

// Sessions returns what is known of each session that is kept, oldest first.
func (a *Audit) Sessions() []SessionReport {
	a.mu.Lock()
	defer a.mu.Unlock()
	reports := make([]SessionReport, 0, len(a.order))
	for i := range a.order {
		id := a.order[(a.next+i)%len(a.order)]
		reports = append(reports, a.report(id, a.sessions[id]))
	}
	return reports
}

// Report returns the totals.
func (a *Audit) Report() Report {
	a.mu.Lock()
	defer a.mu.Unlock()
	total := a.total
	total.Sessions = len(a.sessions)
	total.Backends = a.backends.served()
	for _, r := range a.sessions {
		switch verdict(r.revealed, r.mismatches) {
		case Stuck:
			total.Stuck++
		case Moved:
			total.Moved++
		default:
			total.Unknown++
		}
	}
	return total
}

// observe notes an attempt; own tells that it came with a value of its own.
func (a *Audit) observe(id ID, own bool, res *http.Response) {
	var name string
	if res != nil {
		name = a.revealed(res.Header)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.record(id)
	r.requests++
	a.total.Requests++
	if own {
		r.own++
		a.total.Own++
	}
	a.served(r, name)
}

// Trailer tells the audit what came behind the body of a response of the session, for
// routers that name the backend only there. A response whose header named it counts
// already. Whoever reads the bodies calls it, once for each response; the clients of
// package model do.
func (a *Audit) Trailer(s Session, header, trailer http.Header) {
	if s.ID.fault() != "" || a.revealed(header) != "" {
		return
	}
	name := a.revealed(trailer)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.served(a.record(s.ID), name)
}

// served notes which backend a request was served by; "" is unknown.
func (a *Audit) served(r *sessionRecord, name string) {
	if name == "" {
		return
	}
	n, known := a.backends.count(name)
	if !known {
		return
	}
	if r.revealed > 0 && r.last != n {
		r.mismatches++
		a.total.Mismatches++
	}
	r.revealed++
	a.total.Revealed++
	r.last = n
	if len(r.backends) < maxSessionBackends && !slices.Contains(r.backends, n) {
		r.backends = append(r.backends, n)
	}
}

func (a *Audit) revealed(header http.Header) string {
	if a.Reveal == nil {
		return headerValue(header, "X-Served-By")
	}
	for _, name := range a.Reveal {
		if v := headerValue(header, name); v != "" {
			return v
		}
	}
	return ""
}

// record returns the record of a session and makes room for a new one.
func (a *Audit) record(id ID) *sessionRecord {
	if r, ok := a.sessions[id]; ok {
		return r
	}
	if a.sessions == nil {
		a.sessions = make(map[ID]*sessionRecord)
	}
	limit := a.MaxSessions
	if limit <= 0 {
		limit = defaultMaxSessions
	}
	if len(a.order) < limit {
		a.order = append(a.order, id)
	} else {
		delete(a.sessions, a.order[a.next])
		a.total.Forgotten++
		a.order[a.next] = id
		a.next = (a.next + 1) % limit
	}
	r := new(sessionRecord)
	a.sessions[id] = r
	return r
}

func (a *Audit) report(id ID, r *sessionRecord) SessionReport {
	s := SessionReport{
		ID: id, Requests: r.requests, Revealed: r.revealed, Mismatches: r.mismatches, Own: r.own,
		CachedTokens: r.cached, PriorTokens: r.prior,
	}
	for _, n := range r.backends {
		s.Backends = append(s.Backends, a.backends.names[n])
	}
	return s
}
