package runner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/homing-go/homing/routing"
	"github.com/homing-go/homing/swebench/agent"
)

// A routed is what is known of the way of one attempt's requests, over all processes that were
// at work on it.
type routed struct {
	Requests int `json:"requests"`
	// Revealed of them told their backend, and Mismatches another one than the one before.
	Revealed   int `json:"revealed"`
	Mismatches int `json:"mismatches"`
	// Backends are those that served the attempt, by first use.
	Backends []string `json:"backends,omitempty"`
	// Cached of the Prior prompt tokens were cached, as in [routing.SessionReport].
	Cached int `json:"cached_tokens"`
	Prior  int `json:"prior_tokens"`
}

// plus adds what an audit has seen since it had seen before, which is zero in a new process.
func (r routed) plus(before, s routing.SessionReport) routed {
	if before.Requests == 0 && len(r.Backends) > 0 && len(s.Backends) > 0 && r.Backends[len(r.Backends)-1] != s.Backends[0] {
		r.Mismatches++ // between two processes
	}
	r.Requests += s.Requests - before.Requests
	r.Revealed += s.Revealed - before.Revealed
	r.Mismatches += s.Mismatches - before.Mismatches
	r.Cached += s.CachedTokens - before.CachedTokens
	r.Prior += s.PriorTokens - before.PriorTokens
	r.Backends = slices.Clone(r.Backends)
	for _, name := range s.Backends {
		if !slices.Contains(r.Backends, name) {
			r.Backends = append(r.Backends, name)
		}
	}
	return r
}

// atLeast counts the requests that a process has made and not counted, since it was killed.
func (r routed) atLeast(past []agent.Step) routed {
	requests := 0
	for _, step := range past {
		if step.Answer != nil {
			requests += max(step.Answer.Attempts, 1)
		}
	}
	r.Requests = max(r.Requests, requests)
	return r
}

// routing sums up what the attempts of all instances tell.
func (r *run) routing() *Routing {
	sum := &Routing{Backends: map[string]int{}}
	cached, prior := 0, 0
	for _, j := range r.jobs {
		for _, attempt := range append(slices.Clone(j.Earlier), j.state) {
			way := attempt.Routed
			if way.Requests == 0 {
				continue
			}
			sum.Sessions++
			sum.Requests += way.Requests
			sum.Unknown += way.Requests - way.Revealed
			sum.Mismatches += way.Mismatches
			switch {
			case way.Mismatches > 0:
				sum.Moved++
			case way.Revealed > 1:
				sum.Stayed++
			}
			for _, name := range way.Backends {
				sum.Backends[name]++
			}
			cached, prior = cached+way.Cached, prior+way.Prior
		}
	}
	if prior > 0 {
		sum.Cached = float64(cached) / float64(prior)
	}
	return sum
}

// notes say what a reader of the numbers could miss.
func (r *Routing) notes(headers []string) []Reason {
	if len(headers) == 0 {
		return nil
	}
	names := strings.Join(headers, ", ")
	switch {
	case r.Mismatches > 0:
		return []Reason{{Code: SessionsMoved, Text: fmt.Sprintf("%d of %d sessions left their backend: does the router go by %s?", r.Moved, r.Sessions, names)}}
	case r.Sessions > 1 && len(r.Backends) == 1:
		return []Reason{{Code: OneBackend, Text: fmt.Sprintf("all %d sessions were served by one backend, so that nothing is known of the router", r.Sessions)}}
	}
	return nil
}

// String is a line for people.
func (r *Routing) String() string {
	switch {
	case r.Requests == 0:
		return "no requests"
	case r.Unknown == r.Requests:
		return fmt.Sprintf("%d requests of %d sessions; nothing in the answers tells the backend", r.Requests, r.Sessions)
	}
	var each []string
	for _, name := range slices.Sorted(maps.Keys(r.Backends)) {
		each = append(each, fmt.Sprintf("%s: %d", name, r.Backends[name]))
		if len(each) == 8 && len(r.Backends) > 9 {
			each = append(each, fmt.Sprintf("and %d more", len(r.Backends)-8))
			break
		}
	}
	return fmt.Sprintf("%d requests of %d sessions on %d backends (sessions by backend: %s): %d stayed, %d moved; %d mismatches, %d requests of unknown backends",
		r.Requests, r.Sessions, len(r.Backends), strings.Join(each, ", "), r.Stayed, r.Moved, r.Mismatches, r.Unknown)
}
