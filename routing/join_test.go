package routing_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"testing"

	"github.com/homing-go/homing/routing"
	"github.com/stretchr/testify/require"
)

// logging is a carrier that notes its calls.
type logging struct {
	name string
	log  *[]string
	fail error
}

func (l *logging) Members(routing.Session, routing.Turn) []routing.Member {
	return []routing.Member{{Path: []string{l.name}, Value: []byte("1")}}
}

func (l *logging) Head(*routing.Attempt) error {
	*l.log = append(*l.log, l.name+" head")
	return l.fail
}

func (l *logging) Observe(_ *routing.Attempt, res *http.Response, err error) {
	what := " observe"
	if res != nil {
		what += " response"
	}
	if err != nil {
		what += " error"
	}
	*l.log = append(*l.log, l.name+what)
}

func (l *logging) End(*routing.Attempt) error {
	*l.log = append(*l.log, l.name+" end")
	return l.fail
}

func TestJoin(t *testing.T) {
	t.Parallel()
	var log []string
	a, b := &logging{name: "a", log: &log}, &logging{name: "b", log: &log}
	carrier := routing.Join(a, nil, routing.Join(nil, b))
	ctx, _ := session(t)
	w := newWire(t, nil)
	transport := &routing.Transport{Base: base(t), Carrier: carrier}
	send(t, &http.Client{Transport: transport}, request(t, ctx, w.URL, `{"x":0}`))
	u, err := url.Parse(w.URL)
	require.NoError(t, err)
	require.NoError(t, transport.End(ctx, u))
	require.Equal(t, []string{"a head", "b head", "a observe response", "b observe response", "a end", "b end"}, log)
	require.Equal(t, `{"x":0,"a":1,"b":1}`, w.only(t).Body)

	require.Same(t, a, routing.Join(nil, a), "one carrier stays what it is")
}

func TestJoinNothing(t *testing.T) {
	t.Parallel()
	r := wireHeader(t, routing.Join(nil, nil), http.Header{"A": {"1"}})
	require.Empty(t, r.any("X-Session-ID"))
}

func TestJoinFailures(t *testing.T) {
	t.Parallel()
	var log []string
	first, second := errors.New("first"), errors.New("second")
	carrier := routing.Join(&logging{name: "a", log: &log}, &logging{name: "b", log: &log, fail: first}, &logging{name: "c", log: &log, fail: second})
	ctx, _ := session(t)
	transport := &routing.Transport{Carrier: carrier, Base: roundTripper(func(*http.Request) (*http.Response, error) {
		t.Error("sent")
		return nil, nil
	})}
	_, err := transport.RoundTrip(request(t, ctx, "http://router", "{}"))
	require.ErrorIs(t, err, first)
	require.NotErrorIs(t, err, second)
	require.Equal(t, []string{"a head", "b head", "a observe error"}, log, "a Head that returned nil is observed")

	log = nil
	err = transport.End(ctx, &url.URL{Scheme: "http", Host: "router"})
	require.ErrorIs(t, err, first)
	require.ErrorIs(t, err, second)
	require.Equal(t, []string{"a end", "b end", "c end"}, log, "End asks all of them")
}

// What one carrier writes into the Attempt the next one does not trust.
func TestJoinAfterAnEdit(t *testing.T) {
	t.Parallel()
	generic, err := routing.Preset("generic")
	require.NoError(t, err)
	for _, id := range []routing.ID{"a\r\nX-Evil: 1", ""} {
		ctx, _ := session(t)
		edit := head(func(a *routing.Attempt) { a.Session.ID = id })
		transport := &routing.Transport{Carrier: routing.Join(edit, generic), Base: roundTripper(func(*http.Request) (*http.Response, error) {
			t.Error("sent")
			return nil, nil
		})}
		_, err := transport.RoundTrip(request(t, ctx, "http://router", "{}"))
		var typed *routing.IDError
		require.ErrorAs(t, err, &typed)
	}
}

// A token and a fallback under one name: the first counts, and neither is taken for
// a value of the request's own.
func TestJoinOneName(t *testing.T) {
	t.Parallel()
	token := head(func(a *routing.Attempt) { a.SetHeader("x-session-id", "token") })
	generic, err := routing.Preset("generic")
	require.NoError(t, err)
	ctx, _ := session(t)
	w := newWire(t, nil)
	audit := new(routing.Audit)
	transport := &routing.Transport{
		Base: base(t), Carrier: routing.Join(token, generic), Audit: audit,
		Conflict: func(context.Context, string) error { return errors.New("asked") },
	}
	send(t, &http.Client{Transport: transport}, request(t, ctx, w.URL, "{}"))
	require.Equal(t, []string{"token"}, w.only(t).any("X-Session-ID"))
	require.Zero(t, audit.Report().Own)
}
