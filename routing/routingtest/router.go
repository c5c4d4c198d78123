package routingtest

import (
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync"
)

// Target is what a router can send requests to.
type Target struct {
	Name    string // unique in its router
	Handler http.Handler
}

// RouterConfig configures a [Router].
type RouterConfig struct {
	// Policy picks the target of a request; nil means ConsistentHash{}.
	Policy Policy
	// Targets are at least one, in the order in which round robin takes them.
	Targets []Target
}

// Router is an http.Handler that passes each request to one of its targets, in
// process and unchanged, and adds nothing to the response but what its policy
// needs. It never tries again. All targets are up at first.
//
// It is safe for concurrent use and owns no goroutine. Make one with [NewRouter].
type Router struct {
	mu      sync.Mutex // guards the picker and the fields of the targets
	picker  picker
	targets []*target
}

// target is a Target and what a router knows of it.
type target struct {
	Target

	down     bool
	inFlight int
	requests int
}

// NewRouter returns a router, or an *[Error] for a configuration that cannot work.
func NewRouter(cfg RouterConfig) (*Router, error) {
	if len(cfg.Targets) == 0 {
		return nil, &Error{"RouterConfig.Targets", "there is none", "give at least one"}
	}
	r := &Router{}
	seen := make(map[string]bool, len(cfg.Targets))
	for _, t := range cfg.Targets {
		switch {
		case t.Name == "" || seen[t.Name]:
			return nil, &Error{"RouterConfig.Targets", "name " + strconv.Quote(t.Name) + " is empty or not the only one", "give each target a name of its own"}
		case t.Handler == nil:
			return nil, &Error{"RouterConfig.Targets", "target " + strconv.Quote(t.Name) + " has no handler", "set Handler, for a URL to Proxy(url, nil)"}
		}
		seen[t.Name] = true
		r.targets = append(r.targets, &target{Target: t})
	}
	policy := cfg.Policy
	if policy == nil {
		policy = ConsistentHash{}
	}
	var err error
	r.picker, err = policy.picker(r.targets)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// ServeHTTP implements http.Handler. It answers 503 when all targets are down.
func (r *Router) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	t, err := r.pick(w.Header(), req)
	if err != nil {
		e, ok := errors.AsType[*requestError](err)
		if !ok {
			e = &requestError{status: http.StatusInternalServerError, message: err.Error()}
		}
		refuse(w, e)
		return
	}
	defer r.release(t)
	t.Handler.ServeHTTP(w, req)
}

func (r *Router) pick(response http.Header, req *http.Request) (*target, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t, err := r.picker.pick(response, req)
	if err == nil {
		t.inFlight++
		t.requests++
	}
	return t, err
}

func (r *Router) release(t *target) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t.inFlight--
}

// Down takes a target out: no request that comes later goes there, those under
// way go on. The error is an *[Error] if there is no such target.
func (r *Router) Down(name string) error { return r.set(name, true) }

// Up puts a target back.
func (r *Router) Up(name string) error { return r.set(name, false) }

func (r *Router) set(name string, down bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.targets {
		if t.Name == name {
			t.down = down
			return nil
		}
	}
	return &Error{"Router", "no target is named " + strconv.Quote(name), "use a name from RouterConfig.Targets"}
}

// Requests returns how many requests each target has been sent, those under way
// included.
func (r *Router) Requests() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := make(map[string]int, len(r.targets))
	for _, t := range r.targets {
		m[t.Name] = t.requests
	}
	return m
}

// Proxy returns a handler for a [Target] that runs elsewhere: requests go to the
// scheme and host of u, below its path. Event streams are passed on at once; an
// upstream that cannot be reached is a 502.
//
// The connections are those of rt and stay open as long as rt keeps them; nil
// means http.DefaultTransport.
func Proxy(u *url.URL, rt http.RoundTripper) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite:   func(p *httputil.ProxyRequest) { p.SetURL(u) },
		Transport: rt,
		ErrorLog:  log.New(io.Discard, "", 0), // a cut body is seen by the client already
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			refuse(w, &requestError{status: http.StatusBadGateway, message: "the upstream did not answer: " + err.Error()})
		},
	}
}
