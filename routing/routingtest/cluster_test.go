package routingtest_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/homing-go/homing/routing/routingtest"
)

func TestCluster(t *testing.T) {
	t.Parallel()
	c, w := cluster(t, routingtest.ClusterConfig{})
	require.Len(t, c.Backends(), 8)
	require.Equal(t, "backend-0", c.Backends()[0].Name())
	require.Equal(t, "backend-7", c.Backends()[7].Name())
	require.True(t, strings.HasSuffix(c.URL(), "/v1"))
	first, _ := w.answer(user("x"), "X-Session-ID", "s")
	second, a := w.answer(user("x"), "X-Session-ID", "s")
	require.Equal(t, first.Header.Get("X-Served-By"), second.Header.Get("X-Served-By"))
	require.Equal(t, a.Usage.Prompt, a.Usage.Details.Cached)

	require.NoError(t, c.Router().Down(first.Header.Get("X-Served-By")))
	third, a := w.answer(user("x"), "X-Session-ID", "s")
	require.NotEqual(t, first.Header.Get("X-Served-By"), third.Header.Get("X-Served-By"))
	require.Zero(t, a.Usage.Details.Cached)
	require.Equal(t, 3, c.Stats().Completions)

	_, err := routingtest.NewCluster(routingtest.ClusterConfig{Backends: -1})
	require.ErrorContains(t, err, "-1")
	_, err = routingtest.NewCluster(routingtest.ClusterConfig{Policy: routingtest.Sticky{Idle: -1}})
	require.ErrorContains(t, err, "Sticky.Idle")
}

func TestUnstartedCluster(t *testing.T) {
	t.Parallel()
	c, err := routingtest.NewUnstartedCluster(routingtest.ClusterConfig{Backends: 2})
	require.NoError(t, err)
	require.Empty(t, c.URL())
	rec := httptest.NewRecorder()
	c.Handler().ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), "POST", "/v1/chat/completions", strings.NewReader(user("x"))))
	require.Equal(t, 200, rec.Code)
	require.NoError(t, c.Close())
}

// TestCloseStopsEverything closes a cluster with a connection in every state.
func TestCloseStopsEverything(t *testing.T) {
	t.Parallel()
	entered, left := make(chan struct{}), make(chan struct{})
	c, err := routingtest.NewCluster(routingtest.ClusterConfig{Backend: routingtest.BackendConfig{
		Reply: func(r *routingtest.Request) routingtest.Answer {
			if r.Model == "slow" {
				close(entered)
				<-r.HTTP.Context().Done()
				close(left)
			}
			return routingtest.Answer{Text: "ok"}
		},
	}})
	require.NoError(t, err)
	w := dial(t, c.URL())
	u, err := url.Parse(c.URL())
	require.NoError(t, err)
	silent, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", u.Host) // says nothing
	require.NoError(t, err)
	w.answer(user("x")) // leaves an idle one
	c.Backends()[0].Faults().Next(1, routingtest.Fault{Kind: routingtest.FaultReset})
	_, _ = w.do(user("x")) // a hijacked one, if it was that backend's turn
	failed := make(chan error)
	go func() { failed <- w.try(`{"model":"slow","messages":[{"role":"user","content":"x"}]}`) }()
	<-entered
	require.NoError(t, c.Close())
	select {
	case <-left:
	default:
		t.Fatal("a request is still running")
	}
	require.Error(t, <-failed)
	require.NoError(t, silent.Close())
	require.NoError(t, c.Close(), "once more is no error")
	require.Error(t, w.try(user("x")))
	require.Positive(t, c.Stats().Requests, "counts stay")
}

// TestLatency shows on a fake clock what the model of time promises.
func TestLatency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := routingtest.NewBackend(routingtest.BackendConfig{
			PrefillPerToken: time.Second,
			DecodePerToken:  time.Minute,
			Reply:           routingtest.Script(routingtest.Answer{Text: strings.Repeat("x", 32)}),
		})
		prompt := time.Duration(len(message("user", "hello"))+3) / 4 * time.Second
		const decode = 8 * time.Minute
		first, all := timed(t.Context(), t, b, streamed("hello"))
		require.Equal(t, prompt, first, "the header waits for the prefill")
		require.Equal(t, prompt+decode, all)
		first, all = timed(t.Context(), t, b, streamed("hello"))
		require.Zero(t, first, "all is cached")
		require.Equal(t, decode, all)
		_, all = timed(t.Context(), t, b, user("hello"))
		require.Equal(t, decode, all)

		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		_, all = timed(ctx, t, b, streamed("hello"))
		require.Equal(t, 30*time.Second, all, "a client that leaves ends it")
		ctx, cancel = context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		_, all = timed(ctx, t, b, user("hello"))
		require.Equal(t, 30*time.Second, all)
	})
}

// timed serves one request and returns when its header and its end came.
func timed(ctx context.Context, t *testing.T, h http.Handler, body string) (header, all time.Duration) {
	t.Helper()
	w := &clocked{ResponseRecorder: httptest.NewRecorder(), start: time.Now()}
	h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "POST", "/v1/chat/completions", strings.NewReader(body)))
	return w.header, time.Since(w.start)
}

type clocked struct {
	*httptest.ResponseRecorder
	start  time.Time
	header time.Duration
}

func (w *clocked) WriteHeader(status int) {
	w.header = time.Since(w.start)
	w.ResponseRecorder.WriteHeader(status)
}
