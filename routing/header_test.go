package routing_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/homing-go/homing/routing"
	"github.com/stretchr/testify/require"
)

func TestHeaderNamesRefused(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 129)
	reserved := "HTTP or its clients use this name themselves; choose another, such as X-Session-ID"
	for _, c := range []struct{ name, shown, reason string }{
		{"", "", "routing: session headers: a name is empty; leave it out, or use X-Session-ID"},
		{"X Session", "X Session", `it has ' ' at byte 1, which RFC 9110 does not allow; use letters, digits and "-"`},
		{" X-Session", " X-Session", `it has ' ' at byte 0`},
		{"X-Session ", "X-Session ", `it has ' ' at byte 9`},
		{"X-Session: a", "X-Session: a", `it has ':' at byte 9`},
		{"X\r\nY", "X\r\nY", `it has '\r' at byte 1`},
		{"X\nY", "X\nY", `it has '\n' at byte 1`},
		{"X\x00", "X\x00", `it has '\x00' at byte 1`},
		{"X-Séssion", "X-Séssion", `it has '\u00e9' at byte 3`},
		{"X-\xff", "X-\xff", `it has '\ufffd' at byte 2`},
		{"X-\u212a", "X-\u212a", `it has '\u212a' at byte 2`}, // the Kelvin sign folds to k
		{"X(a)", "X(a)", `it has '(' at byte 1`},
		{`X"a"`, `X"a"`, `it has '"' at byte 1`},
		{"session_id", "session_id", `common proxies drop names with an underscore; use "session-id", or set HeaderConfig.Underscore`},
		{long, long[:128], "it has 129 bytes, the limit is 128; choose a shorter one, such as X-Session-ID"},
		{"Authorization", "Authorization", reserved},
		{"AUTHORIZATION", "AUTHORIZATION", reserved},
		{"Proxy-Authorization", "Proxy-Authorization", reserved},
		{"Cookie", "Cookie", reserved},
		{"Host", "Host", reserved},
		{"Content-Length", "Content-Length", reserved},
		{"content-type", "content-type", reserved},
		{"Content-Encoding", "Content-Encoding", reserved},
		{"Transfer-Encoding", "Transfer-Encoding", reserved},
		{"Connection", "Connection", reserved},
		{"Upgrade", "Upgrade", reserved},
		{"TE", "TE", reserved},
		{"Trailer", "Trailer", reserved},
		{"Accept", "Accept", reserved},
		{"api-key", "api-key", reserved},
		{"X-API-Key", "X-API-Key", reserved},
		{"Keep-Alive", "Keep-Alive", reserved},
		{"Proxy-Connection", "Proxy-Connection", reserved},
		{"Expect", "Expect", reserved},
		{"Accept-Encoding", "Accept-Encoding", reserved},
		{"User-Agent", "User-Agent", reserved},
		{"Referer", "Referer", reserved},
		{"Idempotency-Key", "Idempotency-Key", reserved},
		{"X-Idempotency-Key", "X-Idempotency-Key", reserved},
		{"Content_Length", "Content_Length", reserved},
	} {
		carrier, err := routing.Header("X-Fine", c.name)
		require.ErrorContains(t, err, c.reason, "%q", c.name)
		var typed *routing.HeaderError
		require.ErrorAs(t, err, &typed)
		require.Equal(t, c.shown, typed.Name)
		if c.name != "" {
			require.ErrorContains(t, err, fmt.Sprintf("routing: session header %q: ", c.shown))
		}
		requireFails(t, carrier, err)
	}
	_, err := routing.HeaderConfig{Names: []string{"content_length"}, Underscore: true}.Carrier()
	require.ErrorContains(t, err, reserved)
}

// requireFails proves that a carrier of a configuration error cannot be overlooked.
func requireFails(t *testing.T, carrier routing.Carrier, want error) {
	t.Helper()
	require.NotNil(t, carrier)
	ctx, _ := session(t)
	w := newWire(t, nil)
	for range 2 {
		client := routing.Wrap(&http.Client{Transport: base(t)}, carrier)
		_, err := client.Do(request(t, ctx, w.URL, "{}"))
		require.ErrorIs(t, err, want)
		var typed *routing.CarrierError
		require.ErrorAs(t, err, &typed)
	}
	require.Empty(t, w.seen())
}

func TestHeaderNumberOfNames(t *testing.T) {
	t.Parallel()
	names := make([]string, 17)
	for i := range names {
		names[i] = fmt.Sprintf("X-Session-%d", i)
	}
	carrier, err := routing.Header(names...)
	require.EqualError(t, err, "routing: session headers: 17 names, the limit is 16 different ones; leave some out")
	requireFails(t, carrier, err)

	names[16] = "x-sesSION-3"
	carrier, err = routing.Header(names...)
	require.NoError(t, err)
	ctx, id := session(t)
	w := newWire(t, nil)
	send(t, routing.Wrap(&http.Client{Transport: base(t)}, carrier), request(t, ctx, w.URL, "{}"))
	r := w.only(t)
	for _, name := range names[:16] {
		require.Equal(t, []string{id}, r.exact(name))
		require.Len(t, r.any(name), 1)
	}
}

func TestHeaderSpelling(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		config routing.HeaderConfig
		want   []string
	}{
		{routing.HeaderConfig{}, nil},
		{routing.HeaderConfig{Names: []string{"X-Session-ID", "x-session-id", "X-SESSION-ID"}}, []string{"X-Session-ID"}},
		{routing.HeaderConfig{Names: []string{"x-session-id", "X-Session-ID"}}, []string{"x-session-id"}},
		{routing.HeaderConfig{Names: []string{"x-SMG-rOUTING-Key", "a", "!#$%&'*+-.^`|~"}}, []string{"x-SMG-rOUTING-Key", "a", "!#$%&'*+-.^`|~"}},
		{routing.HeaderConfig{Names: []string{"session_id", "session-id"}, Underscore: true}, []string{"session_id", "session-id"}},
		{routing.HeaderConfig{Names: []string{strings.Repeat("n", 128)}}, []string{strings.Repeat("n", 128)}},
	} {
		names := append([]string(nil), c.config.Names...)
		carrier, err := c.config.Carrier()
		require.NoError(t, err)
		for i := range c.config.Names {
			c.config.Names[i] = "Host" // the carrier has its own copy
		}
		ctx, id := session(t)
		w := newWire(t, nil)
		send(t, routing.Wrap(&http.Client{Transport: base(t)}, carrier), request(t, ctx, w.URL, "{}"))
		r := w.only(t)
		for _, name := range c.want {
			require.Equal(t, []string{id}, r.exact(name), "%q", r.Header)
		}
		require.Equal(t, len(c.want), strings.Count(strings.Join(r.Header, "\n"), id), "%q of %q", r.Header, names)
	}
}

// HTTP/2 knows lower case only.
func TestHeaderOverHTTP2(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, r.Proto, r.Header["X-Session-Id"])
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	ctx, id := session(t)
	_, body := send(t, routing.Wrap(server.Client(), nil), request(t, ctx, server.URL, "{}"))
	require.Equal(t, "HTTP/2.0["+id+"]", body)
}

func TestPreset(t *testing.T) {
	t.Parallel()
	carrier, err := routing.Preset("generic")
	require.NoError(t, err)
	ctx, id := session(t)
	w := newWire(t, nil)
	send(t, routing.Wrap(&http.Client{Transport: base(t)}, carrier), request(t, ctx, w.URL, "{}"))
	require.Equal(t, []string{id}, w.only(t).exact("X-Session-ID"))

	again, err := routing.Preset("generic")
	require.NoError(t, err)
	require.Equal(t, carrier, again)

	carrier, err = routing.Preset("nginx")
	require.EqualError(t, err, `routing: no preset is named "nginx"; there is "generic"`)
	requireFails(t, carrier, err)
	carrier, err = routing.Preset("generic", "X-Other")
	require.EqualError(t, err, `routing: preset "generic" takes no arguments, got "X-Other"; Header takes names`)
	requireFails(t, carrier, err)
}

// A list of names may come from a network: it is refused without much work.
func TestHeaderHugeList(t *testing.T) {
	t.Parallel()
	names := make([]string, 200_000)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	_, err := routing.Header(names...)
	require.ErrorContains(t, err, "200000 names, the limit is 16")
}

// Whatever is accepted is sent by net/http, once and in this spelling.
func FuzzHeader(f *testing.F) {
	for _, seed := range []string{"X-Session-ID", "x_session", "Host", "te", "", "a b", "X\r\nY: z", "Content_Length", "~", "é", "User-Agent"} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	w := newWire(f, nil)
	client := base(f)
	f.Fuzz(func(t *testing.T, name string, underscore bool) {
		carrier, err := routing.HeaderConfig{Names: []string{name}, Underscore: underscore}.Carrier()
		require.NotNil(t, carrier)
		ctx, id := session(t)
		req := request(t, ctx, w.URL, "{}")
		res, sendErr := (&routing.Transport{Base: client, Carrier: carrier}).RoundTrip(req)
		if err != nil {
			require.ErrorIs(t, sendErr, err)
			return
		}
		require.NoError(t, sendErr, "%q", name)
		require.NoError(t, res.Body.Close())
		requests := w.take()
		require.Len(t, requests, 1)
		require.Equal(t, []string{id}, requests[0].exact(name), "%q", requests[0].Header)
		require.Len(t, requests[0].any(name), 1)
	})
}
