package routing_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/homing-go/homing/routing"
	"github.com/stretchr/testify/require"
)

func TestWrapKeepsTheClient(t *testing.T) {
	t.Parallel()
	stop := errors.New("stop")
	jar := new(simpleJar)
	client := &http.Client{
		Transport: base(t), Jar: jar, Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return stop },
	}
	before := *client
	wrapped := routing.Wrap(client, nil)
	require.NotSame(t, client, wrapped)
	require.Equal(t, before.Transport, client.Transport, "the caller's client is the caller's")
	require.Equal(t, jar, wrapped.Jar)
	require.Equal(t, time.Minute, wrapped.Timeout)

	w := newWire(t, func(int, wireRequest) string { return response(302, "", "Location: /x", "Set-Cookie: a=1") })
	ctx, id := session(t)
	res, err := wrapped.Do(request(t, ctx, w.URL, "{}"))
	require.ErrorIs(t, err, stop)
	require.NoError(t, res.Body.Close())
	require.Len(t, jar.Cookies(nil), 1)
	require.Equal(t, []string{id}, w.only(t).exact("X-Session-ID"))
}

func TestWrapTimeout(t *testing.T) {
	t.Parallel()
	ctx, _ := session(t)
	client := routing.Wrap(&http.Client{Timeout: time.Millisecond, Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
		<-req.Context().Done()
		return nil, req.Context().Err()
	})}, nil)
	_, err := client.Do(request(t, ctx, "http://router", "{}"))
	var timeout interface{ Timeout() bool }
	require.ErrorAs(t, err, &timeout)
	require.True(t, timeout.Timeout())
}

func TestWrapNil(t *testing.T) {
	t.Parallel()
	w := newWire(t, nil)
	ctx, id := session(t)
	client := routing.Wrap(nil, nil)
	t.Cleanup(client.CloseIdleConnections)
	require.NotSame(t, http.DefaultClient, client)
	send(t, client, request(t, ctx, w.URL, "{}"))
	require.Equal(t, []string{id}, w.only(t).exact("X-Session-ID"))
	require.Nil(t, http.DefaultClient.Transport)
}

func TestWrapTwice(t *testing.T) {
	t.Parallel()
	generic, err := routing.Preset("generic")
	require.NoError(t, err)
	once := routing.Wrap(nil, nil)
	for _, same := range []routing.Carrier{nil, generic} {
		twice := routing.Wrap(once, same)
		require.NotSame(t, once, twice)
		require.Same(t, once.Transport, twice.Transport)
	}

	other, err := routing.Header("X-Other")
	require.NoError(t, err)
	both := routing.Wrap(routing.Wrap(&http.Client{Transport: base(t)}, nil), other)
	w := newWire(t, nil)
	ctx, id := session(t)
	send(t, both, request(t, ctx, w.URL, "{}"))
	require.Equal(t, []string{id}, w.only(t).exact("X-Session-ID"))
	require.Equal(t, []string{id}, w.only(t).exact("X-Other"))
}

// uncomparable is a carrier by value, which == cannot compare; in disguise only its
// value cannot.
type (
	uncomparable struct {
		routing.None
		names []string
	}
	disguised struct {
		routing.None
		inner any
	}
)

func TestWrapUncomparable(t *testing.T) {
	t.Parallel()
	for _, carrier := range []routing.Carrier{uncomparable{names: []string{"a"}}, disguised{inner: []string{"a"}}} {
		once := routing.Wrap(nil, carrier)
		require.NotPanics(t, func() { require.NotSame(t, once.Transport, routing.Wrap(once, carrier).Transport) })
	}
	carrier := disguised{inner: 1}
	once := routing.Wrap(nil, carrier)
	require.Same(t, once.Transport, routing.Wrap(once, carrier).Transport)
}
