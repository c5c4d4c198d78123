package routingtest

import (
	"net/http"
	"strconv"
	"strings"
)

// Policy picks the target of each request: one of [RoundRobin], [LeastLoaded],
// [ConsistentHash], [Sticky], [IssuedToken] and [Refuse]. A Policy is a value
// that holds settings only, so several routers may use the same one. The zero
// value of each works.
type Policy interface {
	picker(targets []*target) (picker, error)
}

// A picker is a policy at work in one router, which calls it under its lock.
type picker interface {
	// pick returns a target that is up. It may set fields of the response's
	// header. An error is a requestError.
	pick(response http.Header, r *http.Request) (*target, error)
}

var errAllDown = &requestError{
	status:  http.StatusServiceUnavailable,
	message: "no backend is up",
}

// RoundRobin takes the targets in turn, so a session wanders.
type RoundRobin struct{}

func (RoundRobin) picker(targets []*target) (picker, error) {
	return &roundRobin{targets: targets}, nil
}

type roundRobin struct {
	targets []*target
	next    int
}

func (p *roundRobin) pick(http.Header, *http.Request) (*target, error) {
	for range p.targets {
		t := p.targets[p.next]
		p.next = (p.next + 1) % len(p.targets)
		if !t.down {
			return t, nil
		}
	}
	return nil, errAllDown
}

// LeastLoaded takes the target with the fewest requests under way, of equals the
// one that has had the fewest.
type LeastLoaded struct{}

func (LeastLoaded) picker(targets []*target) (picker, error) {
	return leastLoaded(targets), nil
}

type leastLoaded []*target

func (p leastLoaded) pick(http.Header, *http.Request) (*target, error) {
	var best *target
	for _, t := range p {
		switch {
		case t.down:
		case best == nil,
			t.inFlight < best.inFlight,
			t.inFlight == best.inFlight && t.requests < best.requests:
			best = t
		}
	}
	if best == nil {
		return nil, errAllDown
	}
	return best, nil
}

// Refuse answers 400. As the Missing of another policy it makes a request
// without a session an error, where a real router would route it cold.
type Refuse struct{}

func (Refuse) picker([]*target) (picker, error) { return Refuse{}, nil }

func (Refuse) pick(http.Header, *http.Request) (*target, error) {
	return nil, badRequest("", "the request carries none of the headers that this router routes by")
}

// sessionHeaders checks names, or gives the default for none.
func sessionHeaders(what string, names []string) ([]string, error) {
	if len(names) == 0 {
		return []string{"X-Session-ID"}, nil
	}
	canonical := make([]string, len(names))
	for i, name := range names {
		if !validHeader(name) {
			return nil, &Error{what, strconv.Quote(name) + " is not a header name", "use letters, digits and hyphens"}
		}
		canonical[i] = http.CanonicalHeaderKey(name)
	}
	return canonical, nil
}

// sessionKey returns the value of the first header that is there and not empty.
func sessionKey(r *http.Request, names []string) string {
	for _, name := range names {
		if v := r.Header.Get(name); v != "" {
			return v
		}
	}
	return ""
}

// validHeader reports whether name is a token of RFC 9110.
func validHeader(name string) bool {
	for _, c := range []byte(name) {
		if (c < '0' || '9' < c) && (c|0x20 < 'a' || 'z' < c|0x20) && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return name != ""
}

// picker builds p, or for a nil p the one of fallback.
func orPolicy(p, fallback Policy, targets []*target) (picker, error) {
	if p == nil {
		p = fallback
	}
	return p.picker(targets)
}
