package routing_test

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"testing"

	"github.com/homing-go/homing/routing"
	"github.com/stretchr/testify/require"
)

// The tests of this file measure the heap of the process, so they are not parallel.

// measured returns a request as a client of language models makes it, with n headers
// of its own, and a base that costs nothing.
func measured(tb testing.TB, n int) (*http.Request, http.RoundTripper) {
	tb.Helper()
	ctx := routing.NewContext(tb.Context(), routing.NewSession(routing.NewID()))
	req := request(tb, ctx, "http://router.example/v1/chat/completions", "{}")
	for i := range n - 1 {
		req.Header.Set(fmt.Sprintf("X-Header-%c", 'A'+i), "value")
	}
	res := answer(200, "X-Served-By", "backend")
	return req, roundTripper(func(*http.Request) (*http.Response, error) { return res, nil })
}

func TestAllocations(t *testing.T) {
	for _, n := range []int{1, 4, 7, 8, 12, 13} {
		req, base := measured(t, n)
		cost := func(rt http.RoundTripper) float64 {
			return testing.AllocsPerRun(200, func() {
				if _, err := rt.RoundTrip(req); err != nil {
					t.Fatal(err)
				}
			})
		}
		over := cost(&routing.Transport{Base: base, Audit: new(routing.Audit)}) - cost(base)
		t.Logf("%d headers: %v allocations over the base", n, over)
		require.LessOrEqual(t, over, 6.0, "%d headers", n)
	}
}

func BenchmarkTransport(b *testing.B) {
	for _, n := range []int{2, 12} {
		req, base := measured(b, n)
		for _, c := range []struct {
			name string
			rt   http.RoundTripper
		}{
			{"base", base},
			{"routed", &routing.Transport{Base: base}},
			{"audited", &routing.Transport{Base: base, Audit: new(routing.Audit)}},
		} {
			b.Run(fmt.Sprintf("headers=%d/%s", n, c.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := c.rt.RoundTrip(req); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// An idle session costs its ID, its context and what the audit keeps of it.
func TestMemoryOfSessions(t *testing.T) {
	const sessions = 100_000
	audit := &routing.Audit{MaxSessions: sessions}
	served := []*http.Response{answer(200, "X-Served-By", "a"), answer(200, "X-Served-By", "b")}
	turn := 0
	transport := &routing.Transport{Audit: audit, Base: roundTripper(func(*http.Request) (*http.Response, error) {
		return served[turn%2], nil
	})}
	req := request(t, t.Context(), "http://router", "{}")
	contexts := make([]context.Context, sessions)
	before := heap()
	for i := range contexts {
		contexts[i], _ = session(t) //nolint:fatcontext // each begins anew
	}
	idle := heap()
	for turn = range 2 {
		for _, ctx := range contexts {
			if _, err := transport.RoundTrip(req.WithContext(ctx)); err != nil {
				t.Fatal(err)
			}
			s, _ := routing.FromContext(ctx)
			audit.Tokens(s, 0, 100, 100)
		}
	}
	audited := heap()
	t.Logf("bytes per session: %d in its context and ID, %d in the audit", (idle-before)/sessions, (audited-idle)/sessions)
	require.LessOrEqual(t, (audited-before)/sessions, 512)
	require.LessOrEqual(t, audited-before, 64<<20)
	require.LessOrEqual(t, (audited-idle)/sessions, 400, "as the doc of Audit says")
	require.Equal(t, sessions, audit.Report().Moved)

	// Twice the number of sessions costs no more: the oldest go.
	for range sessions {
		ctx, _ := session(t)
		if _, err := transport.RoundTrip(req.WithContext(ctx)); err != nil {
			t.Fatal(err)
		}
	}
	require.Equal(t, sessions, audit.Report().Sessions)
	bounded := heap()
	t.Logf("bytes per session when the oldest are forgotten: %d", (bounded-idle)/sessions)
	require.LessOrEqual(t, (bounded-idle)/sessions, 400)
	runtime.KeepAlive(contexts)
	runtime.KeepAlive(transport)
}
