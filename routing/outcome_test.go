package routing_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/homing-go/homing/routing"
	"github.com/stretchr/testify/require"
)

func TestBodyIsClosedOnOwnErrors(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	member := &bodyCarrier{path: []string{"session_id"}}
	for _, c := range []struct {
		name    string
		carrier routing.Carrier
		body    *countingBody
		header  http.Header
		reason  string
	}{
		{"head", &headFunc{head: func(*routing.Attempt) error { return boom }}, &countingBody{Reader: strings.NewReader("{}")}, nil, "routing: carrier: boom"},
		{"head after members", routing.Join(member, &headFunc{head: func(*routing.Attempt) error { return boom }}), &countingBody{Reader: strings.NewReader("{}")}, nil, "boom"},
		{"broken reader", member, &countingBody{Reader: io.MultiReader(strings.NewReader("{"), brokenReader{boom})}, nil, "reading the request body: boom"},
		{"no object", member, &countingBody{Reader: strings.NewReader("[secret]")}, nil, "request body: invalid JSON at byte 1"},
		{"coding", member, &countingBody{Reader: strings.NewReader("{}")}, http.Header{"Content-Encoding": {"gzip"}}, "content coding"},
		{"failing close", member, &countingBody{Reader: strings.NewReader("{}"), err: boom}, nil, "closing the request body: boom"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, id := session(t)
			req := request(t, ctx, "http://router", "")
			req.Body = c.body
			for name, values := range c.header {
				req.Header[name] = values
			}
			transport := &routing.Transport{Carrier: c.carrier, Base: roundTripper(func(*http.Request) (*http.Response, error) {
				t.Error("sent")
				return nil, nil
			})}
			_, err := transport.RoundTrip(req)
			var typed *routing.CarrierError
			require.ErrorAs(t, err, &typed)
			require.ErrorContains(t, err, c.reason)
			require.NotContains(t, err.Error(), id)
			require.NotContains(t, err.Error(), "secret")
			c.body.requireClosed(t)
		})
	}
}

type brokenReader struct{ err error }

func (r brokenReader) Read([]byte) (int, error) { return 0, r.err }

// The body of a request that is sent is closed by the base transport, not twice.
func TestBodyIsClosedOnceWhenSent(t *testing.T) {
	t.Parallel()
	ctx, _ := session(t)
	w := newWire(t, nil)
	for _, carrier := range []routing.Carrier{nil, &bodyCarrier{path: []string{"a"}}} {
		body := &countingBody{Reader: strings.NewReader("{}")}
		req := request(t, ctx, w.URL, "")
		req.Body, req.ContentLength = body, 2
		send(t, &http.Client{Transport: &routing.Transport{Base: base(t), Carrier: carrier}}, req)
		body.requireClosed(t)
	}
}

func TestObserveOncePerAttempt(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for _, c := range []struct {
		name string
		res  *http.Response
		err  error
		want string
	}{
		{"response", answer(200), nil, "200"},
		{"status", answer(503), nil, "503"},
		{"error", nil, boom, "boom"},
		{"both", answer(200), boom, "boom"},
		{"neither", nil, nil, "routing: the transport below returned neither a response nor an error"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, _ := session(t)
			var heads int
			var outcomes []string
			carrier := &observer{
				head: func(*routing.Attempt) { heads++ },
				observe: func(_ *routing.Attempt, res *http.Response, err error) {
					if err != nil {
						require.Nil(t, res)
						outcomes = append(outcomes, err.Error())
						return
					}
					outcomes = append(outcomes, fmt.Sprint(res.StatusCode))
				},
			}
			transport := &routing.Transport{Carrier: carrier, Base: roundTripper(func(*http.Request) (*http.Response, error) { return c.res, c.err })}
			for range 3 {
				res, err := transport.RoundTrip(request(t, ctx, "http://router", "{}"))
				require.NotEqual(t, res == nil, err == nil, "one or the other")
				if res != nil {
					require.NoError(t, res.Body.Close())
				}
			}
			require.Equal(t, 3, heads)
			require.Equal(t, []string{c.want, c.want, c.want}, outcomes)
		})
	}
}

// Errors of the network come as they are: they may be tried again.
func TestBaseErrorsAreNotPermanent(t *testing.T) {
	t.Parallel()
	ctx, id := session(t)
	w := newWire(t, func(n int, _ wireRequest) string {
		if n == 0 {
			return ""
		}
		return response(200, "ok")
	})
	client := routing.Wrap(&http.Client{Transport: base(t)}, nil)
	_, err := client.Do(request(t, ctx, w.URL, "{}"))
	require.Error(t, err)
	var carrier *routing.CarrierError
	require.NotErrorAs(t, err, &carrier)
	require.NotContains(t, err.Error(), id)
	send(t, client, request(t, ctx, w.URL, "{}"))
	for _, r := range w.seen() {
		require.Equal(t, []string{id}, r.exact("X-Session-ID"))
	}
}
