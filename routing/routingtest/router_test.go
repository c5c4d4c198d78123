package routingtest_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/homing-go/homing/routing/routingtest"
)

// routed is a router over handlers that only say who they are, for tests that
// need many requests and no sockets.
type routed struct {
	t testing.TB
	*routingtest.Router
}

func route(t testing.TB, n int, p routingtest.Policy) routed {
	t.Helper()
	var targets []routingtest.Target
	for i := range n {
		name := fmt.Sprintf("b%d", i)
		targets = append(targets, routingtest.Target{Name: name, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("By", name)
		})})
	}
	r, err := routingtest.NewRouter(routingtest.RouterConfig{Policy: p, Targets: targets})
	require.NoError(t, err)
	return routed{t, r}
}

// send returns the response to a request with pairs of header name and value.
func (r routed) send(header ...string) *httptest.ResponseRecorder {
	req := httptest.NewRequestWithContext(r.t.Context(), http.MethodPost, "/", http.NoBody)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	rec := httptest.NewRecorder()
	r.ServeHTTP(rec, req)
	return rec
}

// by returns the name of the target that served.
func (r routed) by(header ...string) string {
	r.t.Helper()
	rec := r.send(header...)
	require.Equal(r.t, http.StatusOK, rec.Code, rec.Body.String())
	return rec.Header().Get("By")
}

// place sends one request for each of n sessions.
func (r routed) place(n int) map[string]string {
	r.t.Helper()
	m := make(map[string]string, n)
	for i := range n {
		id := fmt.Sprintf("session-%d", i)
		m[id] = r.by("X-Session-ID", id)
	}
	return m
}

func TestRoundRobin(t *testing.T) {
	t.Parallel()
	r := route(t, 3, routingtest.RoundRobin{})
	var got []string
	for range 4 {
		got = append(got, r.by("X-Session-ID", "same"))
	}
	require.NoError(t, r.Down("b2"))
	got = append(got, r.by(), r.by(), r.by())
	require.NoError(t, r.Up("b2"))
	got = append(got, r.by(), r.by())
	require.Equal(t, []string{"b0", "b1", "b2", "b0", "b1", "b0", "b1", "b2", "b0"}, got)
	require.Equal(t, map[string]int{"b0": 4, "b1": 3, "b2": 2}, r.Requests())
}

func TestLeastLoaded(t *testing.T) {
	t.Parallel()
	entered := make(chan string)
	leave := map[string]chan struct{}{"a": make(chan struct{}), "b": make(chan struct{}), "c": make(chan struct{})}
	var targets []routingtest.Target
	for _, name := range []string{"a", "b", "c"} {
		targets = append(targets, routingtest.Target{Name: name, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			entered <- name
			<-leave[name]
		})})
	}
	router, err := routingtest.NewRouter(routingtest.RouterConfig{Policy: routingtest.LeastLoaded{}, Targets: targets})
	require.NoError(t, err)
	w := serve(t, router)
	done := make(chan error)
	seen := map[string]int{}
	for range 6 {
		go func() { done <- w.try(user("x")) }()
		seen[<-entered]++
	}
	require.Equal(t, map[string]int{"a": 2, "b": 2, "c": 2}, seen)
	for range 4 { // where one ends is room for the next
		leave["b"] <- struct{}{}
		require.NoError(t, <-done)
		go func() { done <- w.try(user("x")) }()
		require.Equal(t, "b", <-entered)
	}
	for _, ch := range leave {
		close(ch)
	}
	for range 6 {
		require.NoError(t, <-done)
	}
}

func TestAllDown(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]routingtest.Policy{
		"default": nil,
		"robin":   routingtest.RoundRobin{},
		"least":   routingtest.LeastLoaded{},
		"hash":    routingtest.ConsistentHash{},
		"sticky":  routingtest.Sticky{},
		"token":   routingtest.IssuedToken{},
	} {
		r := route(t, 2, p)
		require.NoError(t, r.Down("b0"))
		require.Equal(t, "b1", r.by("X-Session-ID", "s"), name)
		require.NoError(t, r.Down("b1"))
		for _, header := range [][]string{nil, {"X-Session-ID", "s"}} {
			rec := r.send(header...)
			require.Equal(t, http.StatusServiceUnavailable, rec.Code, name)
			require.Equal(t, "application/json", rec.Header().Get("Content-Type"))
			requireEnvelope(t, rec.Body.String(), "no backend is up")
			require.NotContains(t, rec.Header(), "X-Session-Token")
		}
		require.NoError(t, r.Up("b0"))
		require.Equal(t, "b0", r.by("X-Session-ID", "s"), name)
	}
}

func TestRouterAddsNothing(t *testing.T) {
	t.Parallel()
	for _, p := range []routingtest.Policy{nil, routingtest.Sticky{}, routingtest.RoundRobin{}} {
		require.Equal(t, http.Header{"By": {"b0"}}, route(t, 1, p).send("X-Session-ID", "s").Header())
	}
}

func TestRouterErrors(t *testing.T) {
	t.Parallel()
	h := http.NotFoundHandler()
	ok := []routingtest.Target{{Name: "a", Handler: h}}
	for says, cfg := range map[string]routingtest.RouterConfig{
		"at least one": {},
		`"a"`:          {Targets: []routingtest.Target{{Name: "a", Handler: h}, {Name: "a", Handler: h}}},
		`""`:           {Targets: []routingtest.Target{{Handler: h}}},
		"no handler":   {Targets: []routingtest.Target{{Name: "a"}}},
		`"X Y"`:        {Targets: ok, Policy: routingtest.ConsistentHash{Headers: []string{"X-A", "X Y"}}},
		`"é"`:          {Targets: ok, Policy: routingtest.Sticky{Headers: []string{"é"}}},
		`"a:b"`:        {Targets: ok, Policy: routingtest.IssuedToken{Header: "a:b"}},
		"-1":           {Targets: ok, Policy: routingtest.ConsistentHash{VirtualNodes: -1}},
		"-2":           {Targets: ok, Policy: routingtest.Sticky{MaxSessions: -2}},
		"-1ns":         {Targets: ok, Policy: routingtest.Sticky{Idle: -1}},
		`"n\n"`:        {Targets: ok, Policy: routingtest.Sticky{New: routingtest.IssuedToken{Header: "n\n"}}},
		`"m\n"`:        {Targets: ok, Policy: routingtest.ConsistentHash{Missing: routingtest.IssuedToken{Header: "m\n"}}},
		`"o\n"`:        {Targets: ok, Policy: routingtest.Sticky{Missing: routingtest.IssuedToken{Header: "o\n"}}},
		`"p\n"`:        {Targets: ok, Policy: routingtest.IssuedToken{New: routingtest.IssuedToken{Header: "p\n"}}},
	} {
		_, err := routingtest.NewRouter(cfg)
		var e *routingtest.Error
		require.ErrorAs(t, err, &e, says)
		require.ErrorContains(t, err, says)
		require.NotEmpty(t, e.Fix)
	}
	r := route(t, 1, nil)
	require.ErrorContains(t, r.Down("b9"), `"b9"`)
	require.ErrorContains(t, r.Up("b9"), `"b9"`)
}

func TestProxy(t *testing.T) {
	t.Parallel()
	backends := make([]*routingtest.Backend, 2)
	var targets []routingtest.Target
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	for i := range backends {
		backends[i] = routingtest.NewBackend(routingtest.BackendConfig{Name: fmt.Sprint("up", i)})
		s := httptest.NewServer(backends[i])
		t.Cleanup(s.Close)
		u, err := url.Parse(s.URL)
		require.NoError(t, err)
		targets = append(targets, routingtest.Target{Name: fmt.Sprint("up", i), Handler: routingtest.Proxy(u, tr)})
	}
	targets = append(targets, routingtest.Target{Name: "nowhere", Handler: routingtest.Proxy(&url.URL{Scheme: "http", Host: "127.0.0.1:1"}, tr)})
	r, err := routingtest.NewRouter(routingtest.RouterConfig{Policy: routingtest.IssuedToken{}, Targets: targets})
	require.NoError(t, err)
	w := serve(t, r)

	h := newHistory("task")
	res, first := w.answer(h.body())
	require.Equal(t, "up0", res.Header.Get("X-Served-By"))
	token := res.Header.Get("X-Session-Token")
	h.grow(first.Choices[0].Message, "result")
	_, second := w.answer(h.body(), "X-Session-Token", token)
	require.Equal(t, first.Usage.Prompt, second.Usage.Details.Cached)
	require.Equal(t, "result", hear(t, w.events(h.body(`"stream":true,`), "X-Session-Token", token)).content)

	backends[0].Faults().Next(1, routingtest.Fault{Kind: routingtest.FaultCut, After: 2})
	res, err = w.do(h.body(`"stream":true,`), "X-Session-Token", token)
	require.NoError(t, err)
	_, err = io.ReadAll(res.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF, "a cut gets through")
	require.NoError(t, res.Body.Close())

	require.NoError(t, r.Down("up0"))
	require.NoError(t, r.Down("up1"))
	res, text := w.send(h.body(), "X-Session-Token", token)
	require.Equal(t, http.StatusBadGateway, res.StatusCode)
	requireEnvelope(t, text, "upstream")
	require.Equal(t, map[string]int{"up0": 4, "up1": 0, "nowhere": 1}, maps.Collect(maps.All(r.Requests())))
}
