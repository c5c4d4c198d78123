package routing

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// An Attempt is one attempt at one request, as a [Carrier] sees it. It is used by
// one goroutine and is not kept after the call that it was passed to.
type Attempt struct {
	Session Session
	Turn    Turn
	// Origin is scheme, host and port of the target, such as "http://10.0.0.7:8000".
	Origin string

	ctx      context.Context //nolint:containedctx // an Attempt lives inside one call
	header   http.Header     // what will be sent; nil when nothing can be set any more
	names    uint64          // the nameBits of header
	callers  http.Header     // what the request came with; the value lists are shared
	base     http.RoundTripper
	next     func(*http.Request) (*http.Response, error) // in the place of base, if set
	conflict func(ctx context.Context, name string) error
	own      bool // the request came with a value of its own
	err      error
	value    [1]string // of the first header that was set
	cookies  []string  // the names of those that were set
}

// Context returns the context of the request.
func (a *Attempt) Context() context.Context {
	if a.ctx == nil {
		return context.Background()
	}
	return a.ctx
}

// SetHeader sets a header unless the request has one of that name in any spelling,
// and reports whether it did. The name is written as it is spelled here. An empty
// value sets nothing. A name or a value that HTTP cannot send fails the request with
// a *[CarrierError]. It works in [Carrier.Head] only.
func (a *Attempt) SetHeader(name, value string) bool {
	if a.header == nil || value == "" {
		return false
	}
	if err := checkHeader(name, value); err != nil {
		a.refuse(err)
		return false
	}
	return a.setHeader(name, value)
}

// setHeader is SetHeader for a name and a value that are known to be sound.
func (a *Attempt) setHeader(name, value string) bool {
	bit := nameBit(name)
	if a.names&bit != 0 && !a.makeRoom(name, value) {
		return false
	}
	a.names |= bit
	switch a.value[0] {
	case "":
		a.value[0] = value
		a.header[name] = a.value[:]
	case value: // the names of one carrier share the list
		a.header[name] = a.value[:]
	default:
		a.header[name] = []string{value}
	}
	return true
}

// makeRoom removes the header in all its spellings, or reports false if one stays.
func (a *Attempt) makeRoom(name, value string) bool {
	for present, values := range a.header {
		if len(present) != len(name) || !strings.EqualFold(present, name) {
			continue
		}
		if len(values) > 0 && !a.yields(present, values, value) {
			return false
		}
		delete(a.header, present)
	}
	return true
}

// yields reports whether the values that are there give way to value.
func (a *Attempt) yields(name string, there []string, value string) bool {
	if callers := a.callers[name]; len(callers) == 0 || &callers[0] != &there[0] {
		return false // another carrier was first
	}
	if len(there) == 1 && there[0] == value { // two layers that carry the same session
		return a.conflict != nil // for the spelling
	}
	return a.override(name)
}

// override asks whether a value of the request's own is to be replaced.
func (a *Attempt) override(name string) bool {
	a.own = true
	if a.conflict == nil {
		return false
	}
	if err := a.conflict(a.ctx, name); err != nil {
		a.refuse(err)
		return false
	}
	return true
}

// refuse lets the request fail when the carrier is through.
func (a *Attempt) refuse(err error) {
	if a.err == nil {
		a.err = err
	}
}

// nameBit is one bit for all spellings of a header name. SDKs send a dozen headers,
// and a walk over a map costs more than all else that is done for one.
func nameBit(name string) uint64 {
	if name == "" {
		return 1
	}
	return 1 << ((7*len(name) + int(name[0]|0x20) + int(name[len(name)-1]|0x20)) & 63)
}

// cloneHeader copies the map and collects its nameBits. The value lists are shared,
// cut so that an append copies them: transports replace lists and do not write into
// them.
func cloneHeader(h http.Header) (clone http.Header, names uint64) {
	clone = make(http.Header, len(h)+1)
	for name, values := range h {
		clone[name] = values[:len(values):len(values)]
		names |= nameBit(name)
	}
	return clone, names
}

// errForeignOrigin is the error of a carrier's own call to elsewhere.
var errForeignOrigin = errors.New("a carrier may only call the origin of its request")

// Do sends a call of the carrier's own, such as the one that closes a session, to
// the origin of the request and by the same base transport. It carries nothing by
// itself, follows no redirect, and is under no retry. In a [Middleware] it goes the
// way of the request instead, with what the client below does on it.
func (a *Attempt) Do(req *http.Request) (*http.Response, error) {
	if a.Origin == "" || originOf(req.URL) != a.Origin {
		closeBody(req)
		return nil, errForeignOrigin
	}
	return send(a.base, a.next, req)
}

// checkHeader refuses what net/http would refuse, trim or leave out: the first is
// tried again by retry layers, the others lose the session without a word.
func checkHeader(name, value string) error {
	switch {
	case !isTokenString(name):
		return fmt.Errorf("header name %q is not an RFC 9110 token", name[:min(len(name), maxHeaderName)])
	case isUnsent(name):
		return fmt.Errorf("net/http sends no header %s from the header map; choose another name", name)
	}
	if i := badByte(value); i >= 0 {
		return fmt.Errorf("byte %d of the value of header %s is 0x%02x, which HTTP cannot send there", i, name, value[i])
	}
	return nil
}

// badByte returns the index of the first byte that a header value cannot have, or
// -1: control characters, and space at either end.
func badByte(value string) int {
	for i := range len(value) {
		c := value[i]
		end := i == 0 || i == len(value)-1
		if c < ' ' && c != '\t' || c == 0x7f || end && (c == ' ' || c == '\t') {
			return i
		}
	}
	return -1
}

func isUnsent(name string) bool {
	switch strings.ToLower(name) {
	case "host", "content-length", "transfer-encoding", "trailer":
		return true
	}
	return false
}
