package routing_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/homing-go/homing/routing"
	"github.com/stretchr/testify/require"
)

func TestMiddleware(t *testing.T) {
	t.Parallel()
	w := newWire(t, nil)
	client := &http.Client{Transport: base(t)}
	ctx, id := session(t)
	for _, carrier := range []routing.Carrier{nil, everything(t)} {
		req := request(t, ctx, w.URL, "{}")
		res, err := routing.Middleware(carrier)(req, client.Do)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Same(t, req, res.Request)
		require.NotContains(t, req.Header, "X-Session-ID")
	}
	for _, r := range w.seen() {
		require.Equal(t, []string{id}, r.exact("X-Session-ID"))
	}
	require.Equal(t, `{"session":"`+id+`"}`, w.seen()[1].Body)
}

// What is refused for good comes with a response that stops the SDKs' retries.
func TestMiddlewareRefusals(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	failing, _ := routing.Header("Host")
	refuse := &routing.Transport{Missing: routing.MissingRefuse}
	ctx, _ := session(t)
	bad := routing.NewContext(ctx, routing.NewSession("a\r\n"))
	for _, c := range []struct {
		name       string
		middleware func(*http.Request, func(*http.Request) (*http.Response, error)) (*http.Response, error)
		req        *http.Request
		is         func(error) bool
	}{
		{"no session", refuse.Middleware, request(t, t.Context(), "http://router", "{}"), func(err error) bool { return errors.Is(err, routing.ErrNoSession) }},
		{"bad ID", routing.Middleware(nil), request(t, bad, "http://router", "{}"), func(err error) bool { return errors.As(err, new(*routing.IDError)) }},
		{"configuration", routing.Middleware(failing), request(t, ctx, "http://router", "{}"), func(err error) bool { return errors.As(err, new(*routing.HeaderError)) }},
		{"carrier", routing.Middleware(&headFunc{head: func(*routing.Attempt) error { return boom }}), request(t, ctx, "http://router", "{}"), func(err error) bool { return errors.Is(err, boom) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			body := &countingBody{}
			c.req.Body = body
			res, err := c.middleware(c.req, func(*http.Request) (*http.Response, error) {
				t.Error("sent")
				return nil, nil
			})
			require.Error(t, err)
			require.True(t, c.is(err), err)
			require.Equal(t, "false", res.Header.Get("X-Should-Retry"))
			require.Equal(t, "400 Not Sent", res.Status)
			require.Same(t, c.req, res.Request)
			require.NoError(t, res.Body.Close())
			body.requireClosed(t)
		})
	}
}

// A refusal from a Transport below a middleware stops the retries too, and what came
// beside it is released. Other errors, and responses beside them, stay as they are.
func TestMiddlewareErrorsFromBelow(t *testing.T) {
	t.Parallel()
	ctx, _ := session(t)
	beside := &countingBody{Reader: strings.NewReader("")}
	below := answer(500)
	below.Body = beside
	for _, c := range []struct {
		err       error
		permanent bool
	}{
		{&routing.CarrierError{Err: errors.New("x")}, true},
		{&routing.IDError{Reason: "x"}, true},
		{routing.ErrNoSession, true},
		{errors.New("reset"), false},
	} {
		beside.closed.Store(0)
		res, err := routing.Middleware(nil)(request(t, ctx, "http://router", "{}"), func(*http.Request) (*http.Response, error) { return below, c.err })
		require.ErrorIs(t, err, c.err)
		if c.permanent {
			require.Equal(t, "false", res.Header.Get("X-Should-Retry"))
			require.NoError(t, res.Body.Close())
			beside.requireClosed(t)
		} else {
			require.Same(t, below, res)
			require.Zero(t, beside.closed.Load())
		}
	}
	res, err := routing.Middleware(nil)(request(t, ctx, "http://router", "{}"), func(*http.Request) (*http.Response, error) { return nil, nil })
	require.Nil(t, res)
	require.ErrorContains(t, err, "neither a response nor an error")
}

// Redirects are followed below a middleware. It cannot see them, which its doc says,
// and the response still tells where it is from.
func TestMiddlewareAboveRedirects(t *testing.T) {
	t.Parallel()
	other := newWire(t, nil)
	w := newWire(t, func(int, wireRequest) string { return response(307, "", "Location: "+other.URL+"/final") })
	ctx, id := session(t)
	client := &http.Client{Transport: base(t)}
	res, err := routing.Middleware(nil)(request(t, ctx, w.URL, "{}"), client.Do)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, other.URL+"/final", res.Request.URL.String())
	require.Equal(t, []string{id}, other.only(t).exact("X-Session-ID"))
}

// As a layer of a transport, below the redirects, a middleware tells them apart.
func TestMiddlewareBelowRedirects(t *testing.T) {
	t.Parallel()
	other := newWire(t, nil)
	w := newWire(t, func(n int, _ wireRequest) string {
		if n == 0 {
			return response(307, "", "Location: /inside")
		}
		return response(307, "", "Location: "+other.URL+"/final")
	})
	ctx, id := session(t)
	middleware, lower := routing.Middleware(nil), base(t)
	client := &http.Client{Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
		return middleware(req, func(req *http.Request) (*http.Response, error) {
			return lower.RoundTrip(req.Clone(req.Context()))
		})
	})}
	send(t, client, request(t, ctx, w.URL, "{}"))
	require.Len(t, w.seen(), 2)
	for _, r := range w.seen() {
		require.Equal(t, []string{id}, r.exact("X-Session-ID"))
	}
	require.Empty(t, other.only(t).any("X-Session-ID"))
}

// A carrier's own call in a middleware goes the way of the request.
func TestMiddlewareDo(t *testing.T) {
	t.Parallel()
	w := newWire(t, nil)
	ctx, _ := session(t)
	carrier := &headFunc{head: func(a *routing.Attempt) error {
		res, err := a.Do(request(t, a.Context(), a.Origin+"/open", "{}"))
		if err != nil {
			return err
		}
		return res.Body.Close()
	}}
	client := &http.Client{Transport: base(t)}
	res, err := routing.Middleware(carrier)(request(t, ctx, w.URL+"/main", "{}"), func(req *http.Request) (*http.Response, error) {
		req.Header.Set("X-Next", "1")
		return client.Do(req)
	})
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	for _, r := range w.seen() {
		require.Equal(t, []string{"1"}, r.exact("X-Next"))
	}
	require.Len(t, w.seen(), 2)
}
