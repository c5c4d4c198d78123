package routing_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/homing-go/homing/routing"
	"github.com/stretchr/testify/require"
)

// everything carries the session in all ways at once.
func everything(t *testing.T) routing.Carrier {
	t.Helper()
	generic, err := routing.Preset("generic")
	require.NoError(t, err)
	return routing.Join(generic, &bodyCarrier{path: []string{"session"}},
		head(func(a *routing.Attempt) { a.SetCookie("route", string(a.Session.ID)) }))
}

func (r wireRequest) text() string {
	return r.Line + "\n" + strings.Join(r.Header, "\n") + "\n" + r.Body
}

func TestRedirectInsideTheOrigin(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			w := newWire(t, func(n int, _ wireRequest) string {
				if n < 2 {
					return response(status, "", fmt.Sprintf("Location: /hop-%d", n))
				}
				return response(200, "ok")
			})
			ctx, id := session(t)
			audit := new(routing.Audit)
			client := &http.Client{Timeout: time.Minute, Transport: &routing.Transport{Base: base(t), Carrier: everything(t), Audit: audit}}
			send(t, client, request(t, ctx, w.URL+"/first", `{"a":1}`))
			requests := w.seen()
			require.Len(t, requests, 3)
			require.Equal(t, 3, audit.Report().Requests)
			require.Zero(t, audit.Report().Own)
			for i, r := range requests {
				require.Equal(t, []string{id}, r.exact("X-Session-ID"))
				require.Equal(t, []string{"route=" + id}, r.exact("Cookie"))
				if i == 0 || status >= 307 {
					require.Equal(t, `{"a":1,"session":"`+id+`"}`, r.Body)
					require.Contains(t, r.Line, "POST")
				} else {
					require.Contains(t, r.Line, "GET", "net/http follows so")
				}
			}
		})
	}
}

func TestRedirectToAnotherOrigin(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			other := newWire(t, nil) // the same host, another port: net/http sends Cookie and Authorization there
			w := newWire(t, func(int, wireRequest) string { return response(status, "", "Location: "+other.URL+"/x") })
			ctx, id := session(t)
			audit := new(routing.Audit)
			for _, missing := range []routing.Missing{routing.MissingPass, routing.MissingRefuse} {
				client := &http.Client{Transport: &routing.Transport{Base: base(t), Carrier: everything(t), Audit: audit, Missing: missing}}
				send(t, client, request(t, ctx, w.URL, `{"a":1}`))
			}
			require.Contains(t, w.seen()[0].text(), id)
			require.Len(t, other.seen(), 2)
			for _, r := range other.seen() {
				require.NotContains(t, r.text(), id)
				if status >= 307 {
					require.Equal(t, `{"a":1}`, r.Body)
				}
			}
			require.Equal(t, 2, audit.Report().Requests, "only what was routed is counted")
		})
	}
}

// Away and back: the session goes to the origin of the first request only.
func TestRedirectChain(t *testing.T) {
	t.Parallel()
	var a, b *wire
	b = newWire(t, func(n int, _ wireRequest) string {
		if n == 0 {
			return response(307, "", "Location: /again")
		}
		return response(307, "", "Location: "+a.URL+"/back")
	})
	a = newWire(t, func(n int, _ wireRequest) string {
		if n == 0 {
			return response(307, "", "Location: "+b.URL+"/away")
		}
		return response(200, "ok")
	})
	ctx, id := session(t)
	res, _ := send(t, routing.Wrap(&http.Client{Transport: base(t)}, everything(t)), request(t, ctx, a.URL, "{}"))
	require.Equal(t, a.URL+"/back", res.Request.URL.String())
	require.Len(t, a.seen(), 2)
	require.Len(t, b.seen(), 2)
	for _, r := range a.seen() {
		require.Equal(t, 3, strings.Count(r.text(), id))
	}
	for _, r := range b.seen() {
		require.NotContains(t, r.text(), id)
	}
}

// A base that sends elsewhere than the URL says does not hide where a chain began,
// neither the careful one that copies the request nor one that makes a new one, nor
// the careless one that writes into it.
func TestRedirectOverRewritingBase(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		rewrite func(*http.Request, *url.URL) *http.Request
	}{
		{"copy", func(req *http.Request, to *url.URL) *http.Request {
			out := req.Clone(req.Context())
			out.URL.Host = to.Host
			return out
		}},
		{"new", func(req *http.Request, to *url.URL) *http.Request {
			return (&http.Request{Method: req.Method, URL: to.JoinPath(req.URL.Path), Header: req.Header, Body: req.Body, ContentLength: req.ContentLength}).WithContext(req.Context())
		}},
		{"in place", func(req *http.Request, to *url.URL) *http.Request {
			req.URL.Host = to.Host
			return req
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var w *wire
			w = newWire(t, func(n int, _ wireRequest) string {
				switch n {
				case 0:
					return response(307, "", "Location: /inside")
				case 1:
					return response(307, "", "Location: http://other.example/away")
				case 2:
					return response(307, "", "Location: "+w.URL+"/backend") // the address that the base knows
				default:
					return response(200, "ok")
				}
			})
			to, err := url.Parse(w.URL)
			require.NoError(t, err)
			lower := base(t)
			rewriting := roundTripper(func(req *http.Request) (*http.Response, error) { return lower.RoundTrip(c.rewrite(req, to)) })
			ctx, id := session(t)
			req := request(t, ctx, "http://router.example/first", "{}")
			send(t, routing.Wrap(&http.Client{Transport: rewriting}, nil), req)
			require.Equal(t, "http://router.example/first", req.URL.String())
			want := [][]string{{id}, {id}, nil, nil}
			require.Len(t, w.seen(), 4)
			for i, r := range w.seen() {
				require.Equal(t, want[i], r.exact("X-Session-ID"), "request %d: %s", i, r.Line)
			}
		})
	}
}

func TestRedirectOrigins(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to string
		carries  bool
	}{
		{"http://router/a", "http://router/b", true},
		{"http://router/a", "http://router:80/b", true},
		{"http://router/a", "HTTP://ROUTER/b", true},
		{"https://router/a", "https://router:443/b", true},
		{"http://router:8000/a", "http://router:8000/b", true},
		{"http://[::1]:8000/a", "http://[::1]:8000/b", true},
		{"http://[::1]/a", "http://[::1]:80/b", true},
		{"http://router/a", "http://user:pass@router/b", true},
		{"http://router/a", "https://router/b", false},
		{"http://router:443/a", "https://router:443/b", false},
		{"https://router/a", "http://router/b", false},
		{"http://router/a", "http://router:8080/b", false},
		{"http://router/a", "http://router.evil/b", false},
		{"http://router/a", "http://evil.router/b", false},
		{"http://router/a", "http://router@evil/b", false},
		{"http://127.0.0.1/a", "http://localhost/b", false},
		{"http://[::1]/a", "http://[::2]/b", false},
	} {
		ctx, id := session(t)
		var last *http.Request
		client := routing.Wrap(&http.Client{Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
			last = req
			if req.Response == nil {
				return answer(307, "Location", c.to), nil
			}
			return answer(200), nil
		})}, nil)
		send(t, client, request(t, ctx, c.from, ""))
		var want []string
		if c.carries {
			want = []string{id}
		}
		require.Equal(t, want, last.Header["X-Session-ID"], "%s to %s", c.from, c.to)
	}
}

// Where it is not known how a chain began, nothing is carried, and the walk ends.
func TestRedirectOfUnknownOrigin(t *testing.T) {
	t.Parallel()
	ctx, _ := session(t)
	headless := request(t, ctx, "http://router/x", "")
	headless.Response = answer(307)
	ring := request(t, ctx, "http://router/x", "")
	ring.Response = answer(307)
	ring.Response.Request = ring
	transport := &routing.Transport{Base: roundTripper(func(req *http.Request) (*http.Response, error) {
		require.Empty(t, req.Header["X-Session-ID"])
		return answer(200), nil
	})}
	for _, req := range []*http.Request{headless, ring} {
		res, err := transport.RoundTrip(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
	}
}

// A body into which an encoder wrote the session cannot leave the origin.
func TestRedirectOfEncodedBody(t *testing.T) {
	t.Parallel()
	carrier := &bodyCarrier{path: []string{"session"}}
	other := newWire(t, nil)
	w := newWire(t, func(_ int, r wireRequest) string {
		status := 307
		if strings.Contains(r.Line, "/see-other") {
			status = 303
		}
		return response(status, "", "Location: "+other.URL)
	})
	client := routing.Wrap(&http.Client{Transport: base(t)}, carrier)
	do := func(path string) error {
		ctx, id := session(t)
		ctx, body := routing.InBody(ctx, carrier, []byte("{}"))
		res, err := client.Do(request(t, ctx, w.URL+path, string(body)))
		if err != nil {
			require.NotContains(t, err.Error(), id)
			return err
		}
		return res.Body.Close()
	}
	var typed *routing.CarrierError
	require.ErrorAs(t, do("/temporary"), &typed)
	require.ErrorContains(t, typed, "a redirect to another origin would take the session there in the body")
	require.Empty(t, other.seen())
	require.NoError(t, do("/see-other"), "without a body nothing leaves")
	require.Empty(t, other.only(t).Body)
}

// The audit and the carrier see only what is theirs; a cancelled redirect is like any
// other attempt.
func TestRedirectCancelled(t *testing.T) {
	t.Parallel()
	ctx, _ := session(t)
	ctx, cancel := context.WithCancel(ctx)
	w := newWire(t, func(int, wireRequest) string {
		cancel()
		return response(307, "", "Location: /x")
	})
	observed := 0
	client := routing.Wrap(&http.Client{Transport: base(t)}, &observer{observe: func(*routing.Attempt, *http.Response, error) { observed++ }})
	_, err := client.Do(request(t, ctx, w.URL, "{}"))
	require.ErrorIs(t, err, context.Canceled)
	require.Positive(t, observed)
}
