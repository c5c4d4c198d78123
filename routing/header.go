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
// A name is an RFC 9110 token of at most 128 bytes and none of those that HTTP
// itself needs, such as Authorization or Host. Names with an underscore are refused
// because common proxies drop them without a word; see [HeaderConfig]. Of names that
// differ only in case the first counts; at most 16 may be left.
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
		if err := c.check(name); err != nil {
			return failing{err: err}, err
		}
		if !h.has(name) {
			h.names = append(h.names, name)
		}
	}
	if n := len(h.names); n > maxHeaderNames {
		err := &HeaderError{Reason: fmt.Sprintf("%d names, the limit is %d", n, maxHeaderNames)}
		return failing{err: err}, err
	}
	return h, nil
}

// A HeaderError tells why a header name cannot carry a session.
type HeaderError struct {
	// Name is the name that was refused, cut at 128 bytes; "" if there are too many.
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
		return &HeaderError{Reason: "a name is empty"}
	}
	if len(name) > maxHeaderName {
		return refuse("%d bytes, the limit is %d", len(name), maxHeaderName)
	}
	for i := range len(name) {
		if !isToken(name[i]) {
			return refuse("byte %d is %q, which RFC 9110 does not allow in a name", i, name[i])
		}
	}
	if strings.Contains(name, "_") && !c.Underscore {
		return refuse("common proxies drop names with an underscore; use %q, or set HeaderConfig.Underscore", strings.ReplaceAll(name, "_", "-"))
	}
	if isReserved(name) {
		return refuse("HTTP or its clients use this name themselves; choose another, such as %s", DefaultHeader)
	}
	return nil
}

func isToken(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

func isReserved(name string) bool {
	switch strings.ToLower(name) {
	case "authorization", "proxy-authorization", "cookie", "host", "content-length", "content-type", "content-encoding",
		"transfer-encoding", "connection", "upgrade", "te", "trailer", "accept":
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
	for _, name := range h.names {
		a.SetHeader(name, string(a.Session.ID))
	}
	return nil
}

// failing is the carrier of a configuration error.
type failing struct {
	None
	err error
}

func (f failing) Head(*Attempt) error { return f.err }
