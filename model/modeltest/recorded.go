package modeltest

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Recorded is a request as it came over the wire, whole. Its fields are shared by
// all who ask for it and must not be changed.
type Recorded struct {
	Method, Target, Proto string
	// Lines are the header lines in their order and spelling, without line ends.
	Lines []string
	// Header holds the same under canonical names.
	Header http.Header
	// Body is what is left when a transfer coding is taken off.
	Body []byte
	// Conn numbers the server's connections from 1.
	Conn int
	// Time is when the request was there to its last byte.
	Time time.Time
}

// Named returns the header lines whose name is name in any spelling.
func (r Recorded) Named(name string) []string {
	var lines []string
	for _, line := range r.Lines {
		if got, _, _ := strings.Cut(line, ":"); strings.EqualFold(got, name) {
			lines = append(lines, line)
		}
	}
	return lines
}

// Contains reports whether text is anywhere in the request: target, header, body.
func (r Recorded) Contains(text string) bool {
	in := func(line string) bool { return strings.Contains(line, text) }
	return in(r.Target) || slices.ContainsFunc(r.Lines, in) || bytes.Contains(r.Body, []byte(text))
}

// String shows the first line, for messages; header and body may hold secrets.
func (r Recorded) String() string { return r.Method + " " + r.Target }

// value is what follows the name in a header line.
func value(line string) string {
	_, v, _ := strings.Cut(line, ":")
	return strings.TrimSpace(v)
}

// streamed reports whether the client asks for a stream.
func (r Recorded) streamed() bool {
	return string(member(r.Body, "stream")) == "true"
}
