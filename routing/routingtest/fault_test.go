package routingtest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/homing-go/homing/routing/routingtest"
)

// faulty serves a backend behind a router, since faults have to get through it.
func faulty(t testing.TB) (*routingtest.Backend, *wire) {
	t.Helper()
	c, w := cluster(t, routingtest.ClusterConfig{Backends: 1})
	return c.Backends()[0], w
}

func TestFaultStatus(t *testing.T) {
	t.Parallel()
	b, w := faulty(t)
	b.Faults().Next(2, routingtest.Status(429, "Retry-After", "3", "X-A", "1", "X-A", "2"))
	b.Faults().Next(1, routingtest.Fault{Kind: routingtest.FaultStatus, Body: []byte("<html>")})
	b.Faults().Next(0, routingtest.Status(418))
	for _, body := range []string{user("x"), streamed("x")} {
		res, text := w.send(body)
		require.Equal(t, 429, res.StatusCode)
		require.Equal(t, "3", res.Header.Get("Retry-After"))
		require.Equal(t, []string{"1", "2"}, res.Header.Values("X-A"))
		require.Equal(t, "backend-0", res.Header.Get("X-Served-By"))
		requireEnvelope(t, text, "429")
		require.Contains(t, text, "rate_limit_error")
	}
	res, text := w.send(user("x"))
	require.Equal(t, 500, res.StatusCode)
	require.Equal(t, "<html>", text)

	_, c := w.answer(user("x"))
	require.Zero(t, c.Usage.Details.Cached, "a refused prompt is not processed")
	require.Equal(t, 3, b.Stats().Faults)
	require.Equal(t, 1, b.Stats().Completions)
}

func TestFaultRedirect(t *testing.T) {
	t.Parallel()
	b, w := faulty(t)
	b.Faults().Next(1, routingtest.Redirect(307, "http://127.0.0.1:1/v1/elsewhere"))
	res, text := w.send(user("x"))
	require.Equal(t, 307, res.StatusCode)
	require.Equal(t, "http://127.0.0.1:1/v1/elsewhere", res.Header.Get("Location"))
	require.Empty(t, text)
}

func TestFaultReset(t *testing.T) {
	t.Parallel()
	b, w := faulty(t)
	b.Faults().Next(2, routingtest.Fault{Kind: routingtest.FaultReset})
	for _, body := range []string{user("x"), streamed("x")} {
		_, err := w.do(body) // there is no response
		require.ErrorIs(t, err, syscall.ECONNRESET)
	}
	w.answer(user("x"))
}

func TestFaultCutPlain(t *testing.T) {
	t.Parallel()
	b, w := faulty(t)
	b.Faults().Next(1, routingtest.Fault{Kind: routingtest.FaultCut})
	text, size, err := w.readAll(user("hello"))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Equal(t, size/2, int64(len(text)))
	require.True(t, strings.HasPrefix(text, `{"id":`))
	_, c := w.answer(user("hello"))
	require.Equal(t, c.Usage.Prompt, c.Usage.Details.Cached, "the prompt was processed before the answer was lost")
}

func TestFaultEndPlain(t *testing.T) {
	t.Parallel()
	b, w := faulty(t)
	b.Faults().Next(1, routingtest.Fault{Kind: routingtest.FaultEnd})
	text, size, err := w.readAll(user("hello"))
	require.NoError(t, err)
	require.Equal(t, size, int64(len(text)))
	require.False(t, json.Valid([]byte(text)))
	require.True(t, strings.HasPrefix(text, `{"id":`))
}

func TestFaultStream(t *testing.T) {
	t.Parallel()
	b, w := faulty(t)
	body := `{"stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"` + strings.Repeat("x", 40) + `"}]}`
	whole := w.events(body)
	const all = 6 // role, three pieces, finish, usage
	require.Len(t, whole, all+1)
	for _, kind := range []routingtest.FaultKind{routingtest.FaultCut, routingtest.FaultEnd, routingtest.FaultError} {
		for _, after := range []int{0, 1, 3, 5, all, 1000} {
			b.Faults().Next(1, routingtest.Fault{Kind: kind, After: after})
			text, _, err := w.readAll(body)
			events := parseEvents(t, text)
			switch kind {
			case routingtest.FaultCut:
				require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			case routingtest.FaultEnd:
				require.NoError(t, err)
			case routingtest.FaultError:
				require.NoError(t, err)
				n := len(events)
				require.Equal(t, "[DONE]", events[n-1])
				requireEnvelope(t, events[n-2], "injected")
				events = events[:n-2]
			}
			require.Len(t, events, min(after, all))
			for i := range events {
				require.Equal(t, content(t, whole[i]), content(t, events[i]))
			}
		}
	}
}

func TestFaultErrorPlain(t *testing.T) {
	t.Parallel()
	b, w := faulty(t)
	b.Faults().Next(1, routingtest.Fault{Kind: routingtest.FaultError})
	res, text := w.send(user("x"))
	require.Equal(t, 200, res.StatusCode)
	requireEnvelope(t, text, "injected")
	require.Contains(t, text, "server_error")

	own := routingtest.Fault{Kind: routingtest.FaultError, Body: []byte(`{"error":"plain text"}`)}
	b.Faults().Next(2, own)
	_, text = w.send(user("x"))
	require.Equal(t, string(own.Body), text)
	require.Equal(t, []string{string(own.Body), "[DONE]"}, w.events(streamed("x")))
}

func TestFaultHeaderAndDelayAlone(t *testing.T) {
	t.Parallel()
	b, w := faulty(t)
	const delay = 20 * time.Millisecond
	b.Faults().Next(1, routingtest.Fault{Delay: delay, Header: http.Header{"X-Served-By": {"someone else"}}})
	start := time.Now()
	res, c := w.answer(user("x"))
	require.GreaterOrEqual(t, time.Since(start), delay)
	require.Equal(t, "someone else", res.Header.Get("X-Served-By"))
	require.Equal(t, "x", c.text(t))
}

// TestDelayLetsGo would not end if the backend waited on for a client that left.
func TestDelayLetsGo(t *testing.T) {
	t.Parallel()
	b, w := faulty(t)
	b.Faults().Next(1, routingtest.Fault{Delay: time.Hour})
	w.client.Timeout = 20 * time.Millisecond
	_, err := w.do(user("x")) // there is no response
	require.Error(t, err)
}

func TestDecide(t *testing.T) {
	t.Parallel()
	shared := new(routingtest.Faults)
	c, w := cluster(t, routingtest.ClusterConfig{
		Backends: 3, Policy: routingtest.RoundRobin{}, Backend: routingtest.BackendConfig{Faults: shared},
	})
	var asked atomic.Int32
	shared.Decide(func(r *routingtest.Request) routingtest.Fault {
		asked.Add(1)
		if r.HTTP.Header.Get("X-Session-ID") == "unlucky" {
			return routingtest.Status(503)
		}
		return routingtest.Fault{}
	})
	shared.Next(4, routingtest.Status(502))
	status := func(session string) int {
		res, _ := w.send(user("x"), "X-Session-ID", session)
		return res.StatusCode
	}
	for range 4 {
		require.Equal(t, 502, status("a"), "the queue goes first, whatever backend it is")
	}
	require.Zero(t, asked.Load())
	require.Equal(t, 503, status("unlucky"))
	require.Equal(t, 200, status("lucky"))
	require.Equal(t, int32(2), asked.Load())
	shared.Next(1, routingtest.Status(502))
	shared.Clear()
	require.Equal(t, 200, status("unlucky"))
	require.Equal(t, 5, c.Stats().Faults)

	// The queue gives each fault once, however many ask.
	shared.Next(10, routingtest.Status(500))
	var failed atomic.Int32
	require.NoError(t, together(40, func(int) error {
		res, err := w.do(user("x"))
		if err != nil {
			return err
		}
		if res.StatusCode == 500 {
			failed.Add(1)
		}
		return res.Body.Close()
	}))
	require.Equal(t, int32(10), failed.Load())
}

// Without net/http's server there is no connection to break, and no panic.
func TestFaultsWithoutServer(t *testing.T) {
	t.Parallel()
	b := routingtest.NewBackend(routingtest.BackendConfig{})
	for _, kind := range []routingtest.FaultKind{routingtest.FaultReset, routingtest.FaultCut} {
		for _, body := range []string{user("x"), streamed("x")} {
			b.Faults().Next(1, routingtest.Fault{Kind: kind})
			rec := httptest.NewRecorder()
			b.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), "POST", "/v1/chat/completions", strings.NewReader(body)))
			require.NotContains(t, rec.Body.String(), "[DONE]")
		}
	}
}

// readAll returns what arrived of a response of status 200, its declared length,
// and how it ended.
func (w *wire) readAll(body string) (text string, size int64, err error) {
	w.t.Helper()
	res, err := w.do(body)
	require.NoError(w.t, err, "the header arrives")
	defer func() { _ = res.Body.Close() }()
	require.Equal(w.t, 200, res.StatusCode)
	b, err := io.ReadAll(res.Body)
	if size := res.Header.Get("Content-Length"); size != "" {
		n, err := strconv.ParseInt(size, 10, 64)
		require.NoError(w.t, err)
		require.Equal(w.t, n, res.ContentLength)
	}
	return string(b), res.ContentLength, err
}

// content takes from an event what two streams of one answer have in common.
func content(t testing.TB, event string) string {
	t.Helper()
	var c chunk
	require.NoError(t, json.Unmarshal([]byte(event), &c))
	return string(mustJSON(t, c.Choices))
}
