package routing

import (
	"fmt"
	"strings"
)

// DefaultHeader is the header of the generic preset and of a nil carrier.
const DefaultHeader = "X-Session-ID"

const (
	maxHeaderName  = 128
	maxHeaderNames = 16
)

// Header returns a carrier that sends the session's ID under each of names; with no
// names it sends nothing. The names keep their spelling on the wire (HTTP/2 writes
// lower case). On error the carrier is not nil: it fails every request with that
// error, so that it cannot be overlooked.
//
// A name is an RFC 9110 token of at most 128 bytes and none of those that HTTP and
// its clients use themselves, such as Authorization, Host or User-Agent. Names with an
// underscore are refused because common proxies drop them without a word; see
// [HeaderConfig]. Of names that differ only in case the first counts; at most 16 may
// be left. The error is a *[HeaderError].
func Header(names ...string) (Carrier, error) {
	return HeaderConfig{Names: names}.Carrier()
}

// HeaderConfig is [Header] with its settings.
type HeaderConfig struct {
	Names []string
	// Underscore allows names with an underscore. nginx drops such headers unless it
	// is configured with underscores_in_headers.
	Underscore bool
}

// Carrier returns the carrier, as [Header] does.
func (c HeaderConfig) Carrier() (Carrier, error) {
	h := new(headers)
	for _, name := range c.Names {
		err := c.check(name)
		switch {
		case err == nil && h.has(name):
			continue
		case err == nil && len(h.names) == maxHeaderNames:
			err = &HeaderError{Reason: fmt.Sprintf("%d names, the limit is %d different ones; leave some out", len(c.Names), maxHeaderNames)}
		}
		if err != nil {
			return failing{err: err}, err
		}
		h.names = append(h.names, name)
	}
	return h, nil
}

// A HeaderError tells why a header name cannot carry a session.
type HeaderError struct {
	// Name is the name that was refused, cut at 128 bytes; "" if it was empty and if
	// there are too many.
	Name   string
	Reason string
}

func (e *HeaderError) Error() string {
	if e.Name == "" {
		return "routing: session headers: " + e.Reason
	}
	return fmt.Sprintf("routing: session header %q: %s", e.Name, e.Reason)
}

func (c HeaderConfig) check(name string) error {
	refuse := func(format string, args ...any) error {
		return &HeaderError{Name: name[:min(len(name), maxHeaderName)], Reason: fmt.Sprintf(format, args...)}
	}
	if name == "" {
		return &HeaderError{Reason: "a name is empty; leave it out, or use " + DefaultHeader}
	}
	if len(name) > maxHeaderName {
		return refuse("it has %d bytes, the limit is %d; choose a shorter one, such as %s", len(name), maxHeaderName, DefaultHeader)
	}
	for i, r := range name {
		if !isToken(r) {
			return refuse("it has %+q at byte %d, which RFC 9110 does not allow; use letters, digits and \"-\"", r, i)
		}
	}
	dashed := strings.ReplaceAll(name, "_", "-")
	if isReserved(dashed) { // with "_" too: CGI and its heirs take the two for one
		return refuse("HTTP or its clients use this name themselves; choose another, such as %s", DefaultHeader)
	}
	if dashed != name && !c.Underscore {
		return refuse("common proxies drop names with an underscore; use %q, or set HeaderConfig.Underscore", dashed)
	}
	return nil
}

func isToken(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

// isTokenString reports whether s is one RFC 9110 token.
func isTokenString(s string) bool {
	for _, r := range s {
		if !isToken(r) {
			return false
		}
	}
	return s != ""
}

// isReserved tells the names that would break the request or never carry a session:
// those of credentials, that net/http writes or acts on itself, that end at the next
// hop, that SDKs always set (set if absent would send nothing), and those under which a
// server gives the answer to turn 1 again on turn 2.
func isReserved(name string) bool {
	switch strings.ToLower(name) {
	case "authorization", "proxy-authorization", "cookie", "host", "content-length", "content-type", "content-encoding",
		"transfer-encoding", "connection", "upgrade", "te", "trailer", "accept",
		"api-key", "x-api-key", "keep-alive", "proxy-connection", "expect", "accept-encoding", "user-agent", "referer",
		"idempotency-key", "x-idempotency-key":
		return true
	}
	return false
}

// headers sends one value under each name.
type headers struct {
	None
	names []string
}

func (h *headers) has(name string) bool {
	for _, n := range h.names {
		if strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}

func (h *headers) Head(a *Attempt) error {
	if err := a.Session.ID.check(); err != nil { // a carrier before this one can write into a.Session
		return err
	}
	for _, name := range h.names {
		a.setHeader(name, string(a.Session.ID))
	}
	return nil
}

// failing is the carrier of a configuration error.
type failing struct {
	None
	err error
}

func (f failing) Head(*Attempt) error { return f.err }
