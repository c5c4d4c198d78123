package routingtest

import (
	"net/http"
	"strconv"
	"time"
)

// Sticky remembers where each value of a header went and sends it there again. A
// value whose target is down gets another one for good. A value that is forgotten
// is placed as a new one.
type Sticky struct {
	// Headers are the names to look at; the first with a value counts. None
	// means X-Session-ID.
	Headers []string
	// New places values without a target; nil means LeastLoaded.
	New Policy
	// Missing picks for requests without a value; nil means RoundRobin.
	Missing Policy
	// Idle is how long a value is remembered after its last request came; 0
	// means 30 minutes.
	Idle time.Duration
	// MaxSessions limits the table, the value idle longest goes first; 0 means
	// 65,536.
	MaxSessions int
}

func (c Sticky) picker(targets []*target) (picker, error) {
	or(&c.Idle, 30*time.Minute)
	or(&c.MaxSessions, 65_536)
	if c.Idle < 0 {
		return nil, &Error{"Sticky.Idle", c.Idle.String() + " is negative", "leave it 0 for 30 minutes"}
	}
	if c.MaxSessions < 0 {
		return nil, &Error{"Sticky.MaxSessions", strconv.Itoa(c.MaxSessions) + " is negative", "leave it 0 for 65536"}
	}
	p := &stickyTable{idle: c.Idle, table: newLRU[string, stickyEntry](c.MaxSessions)}
	var err error
	if p.headers, err = sessionHeaders("Sticky.Headers", c.Headers); err != nil {
		return nil, err
	}
	if p.place, err = orPolicy(c.New, LeastLoaded{}, targets); err != nil {
		return nil, err
	}
	if p.missing, err = orPolicy(c.Missing, RoundRobin{}, targets); err != nil {
		return nil, err
	}
	return p, nil
}

type stickyTable struct {
	headers []string
	place   picker
	missing picker
	idle    time.Duration
	table   *lru[string, stickyEntry] // every use of an entry is a put, so the oldest is idle longest
}

type stickyEntry struct {
	target *target
	last   time.Time
}

func (p *stickyTable) pick(response http.Header, r *http.Request) (*target, error) {
	key := sessionKey(r, p.headers)
	if key == "" {
		return p.missing.pick(response, r)
	}
	now := time.Now()
	for e, ok := p.table.oldest(); ok && now.Sub(e.last) >= p.idle; e, ok = p.table.oldest() {
		p.table.removeOldest()
	}
	home, ok := p.table.get(key)
	if !ok || home.target.down {
		var err error
		if home.target, err = p.place.pick(response, r); err != nil {
			return nil, err
		}
	}
	p.table.put(key, stickyEntry{home.target, now})
	return home.target, nil
}
