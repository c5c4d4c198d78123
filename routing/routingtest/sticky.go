package routingtest

import (
	"container/list"
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
	p := &stickyTable{idle: c.Idle, limit: c.MaxSessions, entries: make(map[string]*list.Element)}
	or(&p.idle, 30*time.Minute)
	or(&p.limit, 65_536)
	if p.idle < 0 {
		return nil, &Error{"Sticky.Idle", p.idle.String() + " is negative", "leave it 0 for 30 minutes"}
	}
	if p.limit < 0 {
		return nil, &Error{"Sticky.MaxSessions", strconv.Itoa(p.limit) + " is negative", "leave it 0 for 65536"}
	}
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
	limit   int
	entries map[string]*list.Element
	recent  list.List // of *stickyEntry, the latest first
}

type stickyEntry struct {
	key    string
	target *target
	last   time.Time
}

func (p *stickyTable) pick(response http.Header, r *http.Request) (*target, error) {
	key := sessionKey(r, p.headers)
	if key == "" {
		return p.missing.pick(response, r)
	}
	now := time.Now()
	p.expire(now)
	if el, ok := p.entries[key]; ok {
		entry := el.Value.(*stickyEntry)
		if !entry.target.down {
			entry.last = now
			p.recent.MoveToFront(el)
			return entry.target, nil
		}
		p.drop(el)
	}
	t, err := p.place.pick(response, r)
	if err != nil {
		return nil, err
	}
	if p.recent.Len() >= p.limit {
		p.drop(p.recent.Back())
	}
	p.entries[key] = p.recent.PushFront(&stickyEntry{key, t, now})
	return t, nil
}

// expire drops what has been idle for too long; it is all at the back.
func (p *stickyTable) expire(now time.Time) {
	for el := p.recent.Back(); el != nil && now.Sub(el.Value.(*stickyEntry).last) >= p.idle; el = p.recent.Back() {
		p.drop(el)
	}
}

func (p *stickyTable) drop(el *list.Element) {
	delete(p.entries, p.recent.Remove(el).(*stickyEntry).key)
}
