package routing_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/homing-go/homing/routing"
	"github.com/stretchr/testify/require"
)

func TestDefaultHeaderOnTheWire(t *testing.T) {
	t.Parallel()
	ctx, id := session(t)
	w := newWire(t, nil)
	send(t, &http.Client{Transport: &routing.Transport{Base: base(t)}}, request(t, ctx, w.URL+"/v1/x?y=z", `{"a":1}`))
	r := w.only(t)
	require.Equal(t, []string{id}, r.exact("X-Session-ID"), "%q", r.Header)
	require.Len(t, r.any("X-Session-ID"), 1)
	require.Equal(t, "POST /v1/x?y=z HTTP/1.1", r.Line)
	require.Equal(t, `{"a":1}`, r.Body)
}

func TestZeroTransport(t *testing.T) {
	t.Parallel()
	ctx, id := session(t)
	w := newWire(t, nil)
	client := &http.Client{Transport: new(routing.Transport)}
	t.Cleanup(client.CloseIdleConnections)
	send(t, client, request(t, ctx, w.URL, "{}"))
	require.Equal(t, []string{id}, w.only(t).exact("X-Session-ID"))
}

// Nothing of the caller's request changes, whatever a careless base transport does.
func TestCallersRequestIsNotChanged(t *testing.T) {
	t.Parallel()
	ctx, _ := session(t)
	req := request(t, ctx, "http://router/path", "{}")
	spare := make([]string, 1, 4)
	spare[0] = "a"
	req.Header["X-List"] = spare
	before, beforeURL, body := req.Header.Clone(), *req.URL, req.Body
	var sent *http.Request
	transport := &routing.Transport{Base: roundTripper(func(out *http.Request) (*http.Response, error) {
		sent = out
		out.Header.Set("Authorization", "Bearer x")
		out.Header.Add("X-List", "b")
		out.Header.Del("Content-Type")
		out.URL.Host, out.URL.Path = "10.0.0.7", "/other"
		out.Method, out.Host = "PUT", "other"
		out.ContentLength = 7
		return answer(200), nil
	})}
	res, err := transport.RoundTrip(req)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.NotSame(t, req, sent)
	require.Equal(t, before, req.Header)
	require.Empty(t, spare[:2][1], "the spare room of a list is the caller's")
	require.Equal(t, beforeURL, *req.URL)
	require.Equal(t, "POST", req.Method)
	require.Equal(t, "router", req.Host)
	require.EqualValues(t, 2, req.ContentLength)
	require.Equal(t, body, req.Body)
	require.Same(t, req, res.Request, "the response belongs to the caller's request")
}

// oddRequests are legal for a RoundTripper and come from callers' hands.
func TestRequestsMadeByHand(t *testing.T) {
	t.Parallel()
	transport := &routing.Transport{Base: roundTripper(func(out *http.Request) (*http.Response, error) {
		require.NotNil(t, out.Header)
		return answer(200), nil
	})}
	ctx, _ := session(t)
	for _, req := range []*http.Request{
		(&http.Request{}).WithContext(ctx),
		(&http.Request{URL: &url.URL{}}).WithContext(ctx),
		(&http.Request{URL: &url.URL{Scheme: "HTTP", Host: "[::1]:"}}).WithContext(ctx),
	} {
		res, err := transport.RoundTrip(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Nil(t, req.Header)
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for _, c := range []struct {
		name    string
		ctx     context.Context
		missing routing.Missing
		err     error
	}{
		{"none, pass", ctx, routing.MissingPass, nil},
		{"none, refuse", ctx, routing.MissingRefuse, routing.ErrNoSession},
		{"zero ID, pass", routing.NewContext(ctx, routing.Session{}), routing.MissingPass, nil},
		{"zero ID, refuse", routing.NewContext(ctx, routing.Session{}), routing.MissingRefuse, routing.ErrNoSession},
		{"without, pass", routing.Without(routing.NewContext(ctx, routing.NewSession("a"))), routing.MissingPass, nil},
		{"without, refuse", routing.Without(ctx), routing.MissingRefuse, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t, nil)
			audit := new(routing.Audit)
			transport := &routing.Transport{Base: base(t), Missing: c.missing, Audit: audit}
			body := &countingBody{Reader: strings.NewReader("{}")}
			req := request(t, c.ctx, w.URL, "")
			req.Body, req.ContentLength = body, 2
			res, err := transport.RoundTrip(req)
			require.ErrorIs(t, err, c.err)
			require.Zero(t, audit.Report().Requests)
			body.requireClosed(t)
			if c.err != nil {
				require.Empty(t, w.seen())
				return
			}
			require.NoError(t, res.Body.Close())
			require.Empty(t, w.only(t).any("X-Session-ID"))
			require.Same(t, req, res.Request)
		})
	}
}

// An ID that cannot travel is refused before anything is sent, whatever the policy.
func TestUnusableID(t *testing.T) {
	t.Parallel()
	for _, s := range []routing.Session{
		{ID: "secret\r\nX-Evil: 1"},
		{ID: "sec ret"},
		{ID: routing.ID(strings.Repeat("x", 256))},
		{ID: "secret", Parent: "\n"},
		{ID: "secret", Root: "\x00"},
		routing.NewSession("secret\n").Child("x"),
	} {
		w := newWire(t, nil)
		body := &countingBody{}
		req := request(t, routing.NewContext(t.Context(), s), w.URL, "")
		req.Body = body
		_, err := (&routing.Transport{Base: base(t)}).RoundTrip(req)
		var typed *routing.IDError
		require.ErrorAs(t, err, &typed)
		require.NotContains(t, err.Error(), "sec")
		body.requireClosed(t)
		require.Empty(t, w.seen())
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	w := newWire(t, nil)
	audit := new(routing.Audit)
	client := &http.Client{Transport: &routing.Transport{
		Base: base(t), Audit: audit, Missing: routing.MissingRefuse,
		Match: func(u *url.URL) bool { return strings.HasPrefix(u.Path, "/v1/chat") },
	}}
	ctx, id := session(t)
	send(t, client, request(t, ctx, w.URL+"/v1/chat/completions", "{}"))
	send(t, client, request(t, ctx, w.URL+"/v1/models", "{}"))
	send(t, client, request(t, t.Context(), w.URL+"/v1/models", "{}"))
	send(t, client, request(t, routing.NewContext(t.Context(), routing.NewSession("a\n")), w.URL+"/health", "{}"))
	_, err := client.Do(request(t, t.Context(), w.URL+"/v1/chat/completions", "{}"))
	require.ErrorIs(t, err, routing.ErrNoSession)
	requests := w.seen()
	require.Len(t, requests, 4)
	require.Equal(t, []string{id}, requests[0].exact("X-Session-ID"))
	for _, r := range requests[1:] {
		require.Empty(t, r.any("X-Session-ID"))
	}
	require.Equal(t, 1, audit.Report().Requests)
}

// 64 trajectories at once over one Transport and one shared header map: no request
// carries another one's session.
func TestSessionsDoNotMix(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		cookie, _ := r.Cookie("route")
		_, _ = fmt.Fprintf(w, "%s %s %s", strings.Join(r.Header["X-Session-Id"], ","), cookie.Value, body)
	}))
	t.Cleanup(server.Close)
	generic, err := routing.Preset("generic")
	require.NoError(t, err)
	audit := new(routing.Audit)
	client := &http.Client{Transport: &routing.Transport{Base: base(t), Audit: audit, Carrier: routing.Join(
		generic,
		&bodyCarrier{path: []string{"id"}},
		head(func(a *routing.Attempt) { a.SetCookie("route", string(a.Session.ID)) }),
	)}}
	shared := http.Header{"Content-Type": {"application/json"}, "X-Static": {"1"}}
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			ctx, id := session(t)
			for range 10 {
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader("{}"))
				if err != nil {
					t.Error(err)
					return
				}
				req.Header = shared
				res, err := client.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				body, _ := io.ReadAll(res.Body)
				_ = res.Body.Close()
				if want := fmt.Sprintf(`%s %s {"id":%q}`, id, id, id); string(body) != want {
					t.Errorf("got %s, want %s", body, want)
				}
			}
		})
	}
	wg.Wait()
	report := audit.Report()
	require.Equal(t, 640, report.Requests)
	require.Equal(t, 64, report.Sessions)
	require.Zero(t, report.Own)
	require.Len(t, shared, 2)
}

func TestEnd(t *testing.T) {
	t.Parallel()
	w := newWire(t, nil)
	u, err := url.Parse(w.URL)
	require.NoError(t, err)
	carrier := &finalCarrier{}
	transport := &routing.Transport{Base: base(t), Carrier: carrier, Match: func(u *url.URL) bool { return u.Path != "/other" }}
	ctx, id := session(t)
	require.NoError(t, transport.End(ctx, u))
	require.Equal(t, "DELETE /sessions/"+id+" HTTP/1.1", w.only(t).Line)

	require.NoError(t, transport.End(routing.Without(ctx), u))
	require.NoError(t, transport.End(ctx, &url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/other"}))
	require.ErrorIs(t, transport.End(t.Context(), u), routing.ErrNoSession)
	require.Error(t, transport.End(nil, u)) //nolint:staticcheck // that is the test
	var typed *routing.IDError
	require.ErrorAs(t, transport.End(routing.NewContext(ctx, routing.NewSession("a\n")), u), &typed)
	require.Error(t, transport.End(ctx, nil), "it cannot call an unknown router")
	require.Len(t, w.seen(), 1)
	require.NoError(t, new(routing.Transport).End(ctx, u), "a header needs no end")
}

func TestCloseIdleConnections(t *testing.T) {
	t.Parallel()
	closed := 0
	wrapped := routing.Wrap(&http.Client{Transport: &idleCloser{closed: &closed}}, nil)
	wrapped.CloseIdleConnections()
	require.Equal(t, 1, closed)
	(&routing.Transport{Base: roundTripper(nil)}).CloseIdleConnections()
}

type idleCloser struct {
	http.RoundTripper
	closed *int
}

func (c *idleCloser) CloseIdleConnections() { *c.closed++ }
