package routing

import (
	"context"
	"errors"
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
	header   http.Header
	base     http.RoundTripper
	next     func(*http.Request) (*http.Response, error) // in the place of base, if set
	conflict func(ctx context.Context, name string) error
	own      bool  // the request came with a value of its own
	err      error // what conflict returned
	value    [1]string
}

// Context returns the context of the request.
func (a *Attempt) Context() context.Context { return a.ctx }

// SetHeader sets a header unless the request has one of that name in any spelling,
// and reports whether it did. The name is written as it is spelled here.
func (a *Attempt) SetHeader(name, value string) bool {
	if a.header == nil {
		return false
	}
	same := false
	for present := range a.header {
		if len(present) != len(name) || !strings.EqualFold(present, name) {
			continue
		}
		a.own = true
		if a.conflict == nil {
			return false
		}
		if err := a.conflict(a.ctx, present); err != nil {
			a.err = errors.Join(a.err, err)
			return false
		}
		if same = present == name; !same {
			delete(a.header, present)
		}
	}
	if a.value[0] == "" {
		a.value[0] = value
	}
	if a.value[0] == value { // the names of one carrier share the value's slice
		a.header[name] = a.value[:]
	} else {
		a.header[name] = []string{value}
	}
	return true
}

// SetCookie adds a cookie unless the request has one of that name, and reports
// whether it did.
func (a *Attempt) SetCookie(name, value string) bool {
	if a.header == nil {
		return false
	}
	r := http.Request{Header: a.header}
	if _, err := r.Cookie(name); err == nil {
		a.own = true
		return false
	}
	r.AddCookie(&http.Cookie{Name: name, Value: value})
	return true
}

// errForeignOrigin is the error of a carrier's own call to elsewhere.
var errForeignOrigin = errors.New("a carrier may only call the origin of its request")

// Do sends a call of the carrier's own, such as the one that closes a session, to
// the origin of the request and by the same base transport. It carries nothing by
// itself, follows no redirect, and is under no retry.
func (a *Attempt) Do(req *http.Request) (*http.Response, error) {
	if originOf(req.URL) != a.Origin {
		closeBody(req)
		return nil, errForeignOrigin
	}
	return send(a.base, a.next, req)
}
