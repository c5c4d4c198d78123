package routing

import (
	"net/http"
	"slices"
	"sync"
)

// An Audit counts which backends served each session, and what the prefix cache
// gave, so that affinity can be proved. Plug it into [Transport.Audit]. It reads
// response headers and never bodies; token numbers are told to it by [Audit.Tokens].
//
// The zero Audit is ready to use, by any number of goroutines. A session costs at
// most 400 bytes besides its ID; above MaxSessions the oldest are forgotten, while
// the totals of the [Report] keep what they were.
type Audit struct {
	// Reveal names the response headers that tell the backend, the first that is
	// present counts; nil means X-Served-By.
	Reveal []string
	// MaxSessions bounds the sessions that are kept; 0 means 100,000.
	MaxSessions int

	mu       sync.Mutex
	sessions map[ID]*sessionRecord
	order    []ID // a ring, oldest at next once it is full
	next     int
	total    Report
	names    []string // of the backends, each once
	served   []int    // requests by backend
	numbers  map[string]int
}

const (
	defaultReveal      = "X-Served-By"
	defaultMaxSessions = 100_000
	// maxSessionBackends bounds the backends that are listed for one session, and
	// maxBackends those that are told apart at all.
	maxSessionBackends = 16
	maxBackends        = 4096
	otherBackend       = "(others)"
)

// sessionRecord is what is kept of a session.
type sessionRecord struct {
	requests, revealed, mismatches, own int
	last                                int // number of the last backend
	backends                            []int16
	turn                                int
	prompt                              int
	cached, prior                       int
}

// Tokens tells the audit the prompt tokens of a turn and how many of them came from
// the prefix cache. Turns are numbered from 1; 0 means the one after the last.
// A turn that is told again replaces itself and is not counted twice.
func (a *Audit) Tokens(s Session, turn, prompt, cached int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.record(s.ID)
	if turn == 0 {
		turn = r.turn + 1
	}
	if r.turn > 0 && turn == r.turn+1 {
		hit := max(0, min(cached, r.prompt))
		r.cached += hit
		r.prior += r.prompt
		a.total.CachedTokens += hit
		a.total.PriorTokens += r.prompt
	}
	r.turn, r.prompt = turn, max(0, prompt)
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
	total.Backends = make(map[string]int, len(a.names))
	for i, name := range a.names {
		total.Backends[name] = a.served[i]
	}
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

func (a *Audit) observe(attempt *Attempt, res *http.Response) {
	backend := a.revealed(res)
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.record(attempt.Session.ID)
	r.requests++
	a.total.Requests++
	if attempt.own {
		r.own++
		a.total.Own++
	}
	if backend == "" {
		return
	}
	n := a.number(backend)
	a.served[n]++
	if r.revealed > 0 && r.last != n {
		r.mismatches++
		a.total.Mismatches++
	}
	r.revealed++
	a.total.Revealed++
	r.last = n
	if len(r.backends) < maxSessionBackends && !slices.Contains(r.backends, int16(n)) {
		r.backends = append(r.backends, int16(n)) //nolint:gosec // below maxBackends
	}
}

func (a *Audit) revealed(res *http.Response) string {
	if res == nil {
		return ""
	}
	if a.Reveal == nil {
		return res.Header.Get(defaultReveal)
	}
	for _, name := range a.Reveal {
		if v := res.Header.Get(name); v != "" {
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

// number interns the name of a backend.
func (a *Audit) number(name string) int {
	n, ok := a.numbers[name]
	if ok {
		return n
	}
	if len(a.names) >= maxBackends-1 {
		name = otherBackend
		if n, ok = a.numbers[name]; ok {
			return n
		}
	}
	if a.numbers == nil {
		a.numbers = make(map[string]int)
	}
	n = len(a.names)
	a.numbers[name] = n
	a.names = append(a.names, name)
	a.served = append(a.served, 0)
	return n
}

func (a *Audit) report(id ID, r *sessionRecord) SessionReport {
	s := SessionReport{
		ID: id, Requests: r.requests, Revealed: r.revealed, Mismatches: r.mismatches, Own: r.own,
		CachedTokens: r.cached, PriorTokens: r.prior,
	}
	for _, n := range r.backends {
		s.Backends = append(s.Backends, a.names[n])
	}
	return s
}
