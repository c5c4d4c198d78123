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
// another origin than that of its first request carries nothing, and fails if
// [InBody] wrote the session into a body that would be sent there. A session that
// cannot travel and a carrier that fails end the request before it is sent, with an
// *[IDError] or a *[CarrierError].
//
// A carrier's members are written into bodies of a JSON Content-Type, which are read
// whole for that; other bodies pass as they are. What signs or compresses bodies
// belongs below the Transport.
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
	// Conflict, if set, is asked when a request comes with a header or cookie of its
	// own in the place of a carrier's, with another value: nil lets the session win, an
	// error fails the request. If it is not set, the request's own value stays.
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
		closeResponse(res)
		return noRetry(req), err
	}
	return res, err
}

// End tells the carrier that the trajectory of ctx is over at the router of u. What
// the carrier sends goes by Base. Under [Without], and for a URL that Match leaves
// out, nothing is done.
func (t *Transport) End(ctx context.Context, u *url.URL) error {
	if err := Check(ctx); err != nil {
		return err
	}
	s, ok := FromContext(ctx)
	if !ok || u != nil && t.Match != nil && !t.Match(u) {
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
		res, err := send(t.base(), next, req)
		noteRequest(res, req, next != nil)
		return res, err
	}
	carrier := orGeneric(t.Carrier)
	all := &struct { // one allocation
		attempt Attempt
		request http.Request
		url     url.URL
	}{request: *req} // copied as Request.WithContext does
	a, out := &all.attempt, &all.request
	header, names := cloneHeader(req.Header)
	out.Header = header
	if req.URL != nil { // some base transports write another host into it
		all.url = *req.URL
		out.URL = &all.url
	}
	*a = Attempt{
		Session: s, Turn: TurnFrom(req.Context()), Origin: originOf(req.URL),
		ctx: req.Context(), header: header, names: names, callers: req.Header, base: t.base(), next: next, conflict: t.Conflict,
	}
	if err := a.prepare(carrier, out); err != nil {
		closeBody(out)
		return nil, &CarrierError{Err: err}
	}
	res, err := send(a.base, next, out)
	carrier.Observe(a, res, err)
	if t.Audit != nil {
		t.Audit.observe(s.ID, a.own, res)
	}
	noteRequest(res, req, next != nil)
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
	switch {
	case !ok:
		return Session{}, false, nil
	case inOrigin(req):
		return s, true, nil
	case hasBody(req) && inBody(req.Context()) != nil:
		return Session{}, false, &CarrierError{Err: errBodyLeaves}
	}
	return Session{}, false, nil
}

// errBodyLeaves is the error of a redirected body with members of a carrier in it.
var errBodyLeaves = errors.New("a redirect to another origin would take the session there in the body; let http.Client.CheckRedirect stop it")

// prepare writes the session onto out. Nothing more can be set when it is through.
func (a *Attempt) prepare(carrier Carrier, out *http.Request) error {
	if err := a.writeMembers(out, carrier); err != nil {
		return err
	}
	if err := carrier.Head(a); err != nil {
		return err
	}
	a.header = nil
	if a.err != nil {
		carrier.Observe(a, nil, a.err)
	}
	return a.err
}

// noteRequest makes req the request of res, as net/http does: a base transport may
// have sent another one, and redirects are told by it. A client below a middleware may
// have followed redirects itself; then the last request stays, which tells where the
// response is from.
func noteRequest(res *http.Response, req *http.Request, middleware bool) {
	if res == nil {
		return
	}
	if middleware && res.Request != nil {
		_, below := firstOf(res.Request)
		if _, here := firstOf(req); below > here {
			return
		}
	}
	res.Request = req
}

func send(base http.RoundTripper, next func(*http.Request) (*http.Response, error), req *http.Request) (res *http.Response, err error) {
	switch {
	case next != nil:
		res, err = next(req)
	case base != nil:
		res, err = base.RoundTrip(req)
	default: // an Attempt that was made by hand
		res, err = http.DefaultTransport.RoundTrip(req)
	}
	if next == nil && err != nil && res != nil { // some RoundTrippers return both, and callers look at one
		closeResponse(res)
		res = nil
	}
	if res == nil && err == nil {
		err = errors.New("routing: the transport below returned neither a response nor an error")
	}
	return res, err
}

func isPermanent(err error) bool {
	var carrier *CarrierError
	var id *IDError
	return errors.Is(err, ErrNoSession) || errors.As(err, &carrier) || errors.As(err, &id)
}

func closeResponse(res *http.Response) {
	if res != nil && res.Body != nil {
		_ = res.Body.Close()
	}
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
