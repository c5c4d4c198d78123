package routing

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Missing is what a [Transport] does with a request whose context has no session
// and is not under [Without].
type Missing int

const (
	// MissingPass sends the request unchanged.
	MissingPass Missing = iota
	// MissingRefuse fails it with [ErrNoSession].
	MissingRefuse
)

// A Transport is an [http.RoundTripper] that sends the session of each request's
// context. It is the lowest layer of a client, so nothing above it can lose the
// session: not a retry, not a redirect, not a stream. The zero Transport sends
// X-Session-ID by the default transport.
//
// The caller's request is cloned, never changed, and its body is closed even when it
// is not sent. A header that the request has already is left as it is. A redirect to
// another origin than that of its first request carries nothing. A session that
// cannot travel, and a carrier that fails, end the request before it is sent.
//
// The fields must not be changed after the first request. A Transport may be used by
// any number of goroutines.
type Transport struct {
	// Base sends the requests; nil means [http.DefaultTransport].
	Base http.RoundTripper
	// Carrier writes the session; nil means the header X-Session-ID.
	Carrier Carrier
	Missing Missing
	// Match tells which URLs are routed; requests to others pass unchanged, with or
	// without a session. Nil means all.
	Match func(*url.URL) bool
	// Audit, if set, sees every routed attempt.
	Audit *Audit
	// Conflict, if set, is asked when a request comes with a header of its own in the
	// place of a carrier's: nil lets the session win, an error fails the request. If
	// it is not set, the request's own value stays.
	Conflict func(ctx context.Context, name string) error
}

// RoundTrip implements [http.RoundTripper].
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	return t.do(req, nil)
}

// Middleware does what RoundTrip does, as a middleware for clients that take such a
// func, above their own transport; Base is not used. It does not see the redirects
// that the client below follows: net/http sends the headers of the first request on,
// to other origins too, unless the client's CheckRedirect stops it.
//
// A request that is refused comes back with a response beside the error which tells
// OpenAI's SDKs, and those of the same make, not to try again.
func (t *Transport) Middleware(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	res, err := t.do(req, next)
	if err != nil && isPermanent(err) {
		return noRetry(req), err
	}
	return res, err
}

// End tells the carrier that the trajectory of ctx is over at the router of u.
func (t *Transport) End(ctx context.Context, u *url.URL) error {
	if err := Check(ctx); err != nil {
		return err
	}
	s, ok := FromContext(ctx)
	if !ok {
		return nil
	}
	a := &Attempt{Session: s, Turn: TurnFrom(ctx), Origin: originOf(u), ctx: ctx, base: t.base()}
	return orGeneric(t.Carrier).End(a)
}

// CloseIdleConnections closes those of Base, if it has such a method.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.base().(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

func (t *Transport) base() http.RoundTripper {
	if t.Base == nil {
		return http.DefaultTransport
	}
	return t.Base
}

// do sends req by next, or by Base if next is nil.
func (t *Transport) do(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	s, routed, err := t.session(req)
	if err != nil {
		closeBody(req)
		return nil, err
	}
	if !routed {
		return send(t.base(), next, req)
	}
	carrier := orGeneric(t.Carrier)
	both := &struct {
		attempt Attempt
		request http.Request
	}{request: *req} //nolint:govet // copied as Request.WithContext does, in one allocation with the attempt
	a, out := &both.attempt, &both.request
	out.Header = cloneHeader(req.Header)
	*a = Attempt{
		Session: s, Turn: TurnFrom(req.Context()), Origin: originOf(req.URL),
		ctx: req.Context(), header: out.Header, base: t.base(), next: next, conflict: t.Conflict,
	}
	if err := a.prepare(carrier, out); err != nil {
		closeBody(out)
		return nil, err
	}
	res, err := send(a.base, next, out)
	a.header = nil // sent: nothing more can be set
	carrier.Observe(a, res, err)
	if t.Audit != nil {
		t.Audit.observe(a, res)
	}
	if err == nil {
		res.Request = req
	}
	return res, err
}

// session returns what req is to carry.
func (t *Transport) session(req *http.Request) (s Session, routed bool, err error) {
	if t.Match != nil && !t.Match(req.URL) {
		return Session{}, false, nil
	}
	switch err := Check(req.Context()); {
	case errors.Is(err, ErrNoSession) && t.Missing == MissingPass:
		return Session{}, false, nil
	case err != nil:
		return Session{}, false, err
	}
	s, ok := FromContext(req.Context())
	if first := firstOf(req); first != req && originOf(first.URL) != originOf(req.URL) {
		ok = false
	}
	return s, ok, nil
}

func (a *Attempt) prepare(carrier Carrier, out *http.Request) error {
	err := writeMembers(out, carrier, a.Session)
	if err == nil {
		err = carrier.Head(a)
	}
	if err != nil {
		return &CarrierError{Err: err}
	}
	return a.err
}

func send(base http.RoundTripper, next func(*http.Request) (*http.Response, error), req *http.Request) (res *http.Response, err error) {
	if next != nil {
		res, err = next(req)
	} else {
		res, err = base.RoundTrip(req)
	}
	if res == nil && err == nil {
		err = errors.New("routing: the transport below returned neither a response nor an error")
	}
	return res, err
}

// cloneHeader copies the map; the value lists are shared, since they are replaced
// and never changed in place.
func cloneHeader(h http.Header) http.Header {
	clone := make(http.Header, len(h)+2)
	for name, values := range h {
		clone[name] = values[:len(values):len(values)]
	}
	return clone
}

func isPermanent(err error) bool {
	var carrier *CarrierError
	var id *IDError
	return errors.Is(err, ErrNoSession) || errors.As(err, &carrier) || errors.As(err, &id)
}

// noRetry is the response that stops the retries of OpenAI's SDKs.
func noRetry(req *http.Request) *http.Response {
	return &http.Response{
		Status: "400 Not Sent", StatusCode: http.StatusBadRequest, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:  http.Header{"X-Should-Retry": {"false"}},
		Body:    io.NopCloser(strings.NewReader("")),
		Request: req,
	}
}
