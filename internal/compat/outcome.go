package compat

import (
	"errors"
	"fmt"

	"github.com/homing-go/homing/routing"
)

// header is what the generic carrier sends.
const header = "X-Session-ID"

// An Outcome is what became of the session on its way, as the table shows it.
type Outcome string

const (
	// Yes means on each request, once, as the carrier spells it.
	Yes Outcome = "yes"
	// ContextLost means on none, because the client does not hand the caller's context to
	// net/http. Nothing that reads the session there can work.
	ContextLost Outcome = "context lost"
	// NoRetries means that the client sends a failed request once and reports the failure.
	NoRetries Outcome = "no retries of its own"
)

// judge tells what became of a session in all of the requests. What is neither there
// nor lost is an error.
func judge(requests []request, id routing.ID) (Outcome, error) {
	if len(requests) == 0 {
		return "", errors.New("no request came")
	}
	want := fmt.Sprintf("%s: %s", header, id)
	carried, bare := 0, 0
	for i, r := range requests {
		switch lines := r.named(header); {
		case len(lines) == 0:
			bare++
		case len(lines) > 1:
			return "", fmt.Errorf("request %d has the header %d times: %q", i+1, len(lines), lines)
		case lines[0] != want:
			return "", fmt.Errorf("request %d has %q in the place of %q", i+1, lines[0], want)
		default:
			carried++
		}
	}
	switch {
	case bare == 0:
		return Yes, nil
	case carried == 0:
		return ContextLost, nil
	}
	return "", fmt.Errorf("%d requests of %d have no header", bare, len(requests))
}
