package scorer

import (
	"fmt"
	"net/http"
	"strings"
)

// A SetupError tells why the service cannot be used, or why an answer of it cannot.
type SetupError struct {
	// Op is what was tried, such as "GET health".
	Op string
	// StatusCode is that of the answer; 0 if there was none, or if the answer was 2xx.
	StatusCode int
	Reason     string
	Err        error // below HTTP; may be nil

	retryAfter string
}

func (e *SetupError) Error() string {
	var b strings.Builder
	b.WriteString("scorer: ")
	if e.Op != "" {
		b.WriteString(e.Op + ": ")
	}
	if e.StatusCode != 0 {
		fmt.Fprintf(&b, "HTTP %d", e.StatusCode)
		if e.Reason != "" {
			b.WriteString(": ")
		}
	}
	b.WriteString(e.Reason)
	return b.String()
}

func (e *SetupError) Unwrap() error { return e.Err }

// transient reports whether the same request may be answered another time.
func (e *SetupError) transient() bool {
	switch e.StatusCode {
	case 0:
		return e.Err != nil
	case http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	}
	return e.StatusCode >= 500
}
