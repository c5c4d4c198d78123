package routing_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/homing-go/homing/routing"
	"github.com/stretchr/testify/require"
)

// headFunc is a carrier of one func.
type headFunc struct {
	routing.None
	head func(*routing.Attempt) error
}

func (h *headFunc) Head(a *routing.Attempt) error { return h.head(a) }

func head(f func(a *routing.Attempt)) routing.Carrier {
	return &headFunc{head: func(a *routing.Attempt) error { f(a); return nil }}
}

// wireHeader sends one request with header by carrier and returns what arrived.
func wireHeader(t *testing.T, carrier routing.Carrier, header http.Header) wireRequest {
	t.Helper()
	ctx, _ := session(t)
	w := newWire(t, nil)
	req := request(t, ctx, w.URL, "{}")
	req.Header = header
	send(t, routing.Wrap(&http.Client{Transport: base(t)}, carrier), req)
	return w.only(t)
}

func TestSetHeader(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		present http.Header
		want    []string // values on the wire
		set     bool
	}{
		{"absent", http.Header{"Other": {"x"}}, []string{"new"}, true},
		{"nil map", nil, []string{"new"}, true},
		{"same spelling", http.Header{"X-Token": {"own"}}, []string{"own"}, false},
		{"lower case", http.Header{"x-token": {"own"}}, []string{"own"}, false},
		{"upper case", http.Header{"X-TOKEN": {"own"}}, []string{"own"}, false},
		{"no values", http.Header{"x-token": nil, "X-Token": {}}, []string{"new"}, true},
		{"empty value", http.Header{"X-Token": {""}}, []string{""}, false},
		{"longer name", http.Header{"X-Tokens": {"x"}}, []string{"new"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			set := !c.set
			before := c.present.Clone()
			r := wireHeader(t, head(func(a *routing.Attempt) { set = a.SetHeader("X-Token", "new") }), c.present)
			require.Equal(t, c.want, r.any("X-Token"))
			require.Equal(t, c.set, set)
			require.Equal(t, before, c.present)
		})
	}
}

// Several headers of several values, an empty one among them, keep them apart.
func TestSetHeaderValuesDoNotMix(t *testing.T) {
	t.Parallel()
	r := wireHeader(t, head(func(a *routing.Attempt) {
		require.False(t, a.SetHeader("X-Empty", ""), "an empty value sets nothing")
		require.True(t, a.SetHeader("X-A", "one"))
		require.True(t, a.SetHeader("X-B", "two"))
		require.True(t, a.SetHeader("X-C", "one"))
		require.False(t, a.SetHeader("x-a", "three"), "the first counts")
	}), http.Header{})
	require.Empty(t, r.any("X-Empty"))
	require.Equal(t, []string{"one"}, r.exact("X-A"))
	require.Equal(t, []string{"two"}, r.exact("X-B"))
	require.Equal(t, []string{"one"}, r.exact("X-C"))
}

// What HTTP would refuse, trim or leave out fails before it is sent, for good, and
// without the value in the text.
func TestSetHeaderUnsound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, value, reason string }{
		{"X-Token", "secret\r\nX-Evil: 1", "byte 6 of the value of header X-Token is 0x0d"},
		{"X-Token", "secret\x00", "byte 6 of the value of header X-Token is 0x00"},
		{"X-Token", "secret ", "byte 6 of the value of header X-Token is 0x20"},
		{"X-Token", "\tsecret", "byte 0 of the value of header X-Token is 0x09"},
		{"X-Token", "secret\x7f", "0x7f"},
		{"X Token", "secret", `header name "X Token" is not an RFC 9110 token`},
		{"", "secret", `header name "" is not an RFC 9110 token`},
		{strings.Repeat("é", 100), "secret", "is not an RFC 9110 token"},
		{"Host", "secret", "net/http sends no header Host from the header map"},
		{"content-length", "secret", "net/http sends no header content-length"},
		{"Transfer-Encoding", "secret", "net/http sends no header"},
		{"Trailer", "secret", "net/http sends no header"},
	} {
		ctx, _ := session(t)
		w := newWire(t, nil)
		body := &countingBody{Reader: strings.NewReader("{}")}
		req := request(t, ctx, w.URL, "")
		req.Body = body
		carrier := head(func(a *routing.Attempt) {
			require.False(t, a.SetHeader(c.name, c.value))
			require.True(t, a.SetHeader("X-Sound", "1"))
		})
		_, err := (&routing.Transport{Base: base(t), Carrier: carrier}).RoundTrip(req)
		var typed *routing.CarrierError
		require.ErrorAs(t, err, &typed)
		require.ErrorContains(t, err, c.reason)
		require.NotContains(t, err.Error(), "secret")
		body.requireClosed(t)
		require.Empty(t, w.seen())
	}
	r := wireHeader(t, head(func(a *routing.Attempt) { a.SetHeader("X-Token", "a b\tc é") }), http.Header{})
	require.Equal(t, []string{"a b\tc é"}, r.exact("X-Token"))
}

func TestAttemptIsFilled(t *testing.T) {
	t.Parallel()
	s := routing.NewSession("a").Child("b")
	turn := routing.Turn{Index: 2, Model: "m", Attempt: 3, Last: true}
	ctx := routing.WithTurn(routing.NewContext(t.Context(), s), turn)
	w := newWire(t, nil)
	var late bool
	carrier := &observer{
		head: func(a *routing.Attempt) {
			require.Equal(t, s, a.Session)
			require.Equal(t, turn, a.Turn)
			require.Equal(t, w.URL, a.Origin)
			require.Equal(t, s, fromContext(a.Context()))
		},
		observe: func(a *routing.Attempt, _ *http.Response, _ error) {
			late = a.SetHeader("X-Late", "1") || a.SetCookie("late", "1")
		},
	}
	send(t, routing.Wrap(&http.Client{Transport: base(t)}, carrier), request(t, ctx, w.URL, "{}"))
	require.False(t, late, "nothing can be set on a request that was sent")
	require.NotContains(t, strings.Join(w.only(t).Header, "\n"), "ate")
}

func fromContext(ctx context.Context) routing.Session {
	s, _ := routing.FromContext(ctx)
	return s
}

// observer is a carrier of two funcs.
type observer struct {
	routing.None
	head    func(*routing.Attempt)
	observe func(*routing.Attempt, *http.Response, error)
}

func (o *observer) Head(a *routing.Attempt) error {
	if o.head != nil {
		o.head(a)
	}
	return nil
}

func (o *observer) Observe(a *routing.Attempt, res *http.Response, err error) { o.observe(a, res, err) }

func TestAttemptDo(t *testing.T) {
	t.Parallel()
	elsewhere := newWire(t, nil)
	w := newWire(t, nil)
	ctx, id := session(t)
	body := &countingBody{Reader: strings.NewReader("x")}
	carrier := &headFunc{head: func(a *routing.Attempt) error {
		for _, url := range []string{elsewhere.URL, strings.Replace(w.URL, "http:", "https:", 1), "/relative", ""} {
			req := request(t, a.Context(), url, "")
			req.Body = body
			body.closed.Store(0)
			_, err := a.Do(req)
			require.EqualError(t, err, "a carrier may only call the origin of its request")
			body.requireClosed(t)
		}
		_, err := a.Do(&http.Request{})
		require.Error(t, err)

		res, err := a.Do(request(t, a.Context(), strings.ToUpper(w.URL[:4])+w.URL[4:]+"/open", "{}"))
		if err != nil {
			return err
		}
		return res.Body.Close()
	}}
	send(t, routing.Wrap(&http.Client{Transport: base(t)}, carrier), request(t, ctx, w.URL+"/main", "{}"))
	require.Empty(t, elsewhere.seen())
	requests := w.seen()
	require.Len(t, requests, 2)
	require.Equal(t, "POST /open HTTP/1.1", requests[0].Line)
	require.NotContains(t, strings.Join(requests[0].Header, "\n"), id, "a call of the carrier's own carries nothing by itself")
	require.Equal(t, "POST /main HTTP/1.1", requests[1].Line)
}

// Attempts made by hand, as a carrier's own unit test makes them, do not panic.
func TestAttemptByHand(t *testing.T) {
	t.Parallel()
	var a routing.Attempt
	require.NotNil(t, a.Context())
	require.False(t, a.SetHeader("X-A", "1"))
	require.False(t, a.SetCookie("a", "1"))
	_, err := a.Do(&http.Request{})
	require.Error(t, err)

	w := newWire(t, nil)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	a.Origin = w.URL
	res, err := a.Do(request(t, t.Context(), w.URL, "{}"))
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
}
