package routingtest_test

import (
	"math"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/homing-go/homing/routing/routingtest"
)

func TestRingSpread(t *testing.T) {
	t.Parallel()
	const sessions, backends = 8000, 8
	r := route(t, backends, routingtest.ConsistentHash{})
	r.place(sessions)
	for name, n := range r.Requests() {
		off := math.Abs(float64(n)/(sessions/backends) - 1)
		require.Less(t, off, 0.35, "%s has %d of %d", name, n, sessions)
	}
}

func TestRingStays(t *testing.T) {
	t.Parallel()
	r := route(t, 8, routingtest.ConsistentHash{})
	first := r.place(500)
	require.Equal(t, first, r.place(500))
	require.Equal(t, first, route(t, 8, nil).place(500), "another router with the same targets agrees")
}

func TestRingMovesOnlyTheSessionsOfTheFailed(t *testing.T) {
	t.Parallel()
	const sessions = 2000
	r := route(t, 8, routingtest.ConsistentHash{})
	before := r.place(sessions)
	require.NoError(t, r.Down("b3"))
	during := r.place(sessions)
	heirs := map[string]bool{}
	for id, was := range before {
		if was == "b3" {
			require.NotEqual(t, "b3", during[id])
			heirs[during[id]] = true
		} else {
			require.Equal(t, was, during[id], id)
		}
	}
	require.Len(t, heirs, 7, "they spread over all others")
	require.NoError(t, r.Up("b3"))
	require.Equal(t, before, r.place(sessions), "and return")
}

// Adding a target moves sessions to it, and none between the others.
func TestRingGrows(t *testing.T) {
	t.Parallel()
	before := route(t, 8, routingtest.ConsistentHash{}).place(2000)
	moved := 0
	for id, now := range route(t, 9, routingtest.ConsistentHash{}).place(2000) {
		if now != before[id] {
			require.Equal(t, "b8", now)
			moved++
		}
	}
	require.InDelta(t, 2000/9, moved, 100)
}

func TestRingHeaders(t *testing.T) {
	t.Parallel()
	// Two IDs that live apart tell which header counts.
	r := route(t, 8, routingtest.ConsistentHash{Headers: []string{"x-first", "X-SECOND"}})
	const a, b = "id-a", "id-b"
	homeA, homeB := r.by("X-First", a), r.by("X-First", b)
	require.NotEqual(t, homeA, homeB)
	require.Equal(t, homeB, r.by("X-Second", b))
	require.Equal(t, homeA, r.by("X-First", a, "X-Second", b), "the first present wins")
	require.Equal(t, homeB, r.by("X-First", "", "X-Second", b), "an empty one is not present")

	var wandered []string
	for range 8 {
		wandered = append(wandered, r.by("X-Session-ID", a)) // not a name of this router
	}
	slices.Sort(wandered)
	require.Len(t, slices.Compact(wandered), 8, "round robin")
}

func TestMissingPolicy(t *testing.T) {
	t.Parallel()
	for _, p := range []routingtest.Policy{
		routingtest.ConsistentHash{Missing: routingtest.Refuse{}},
		routingtest.Sticky{Missing: routingtest.Refuse{}},
	} {
		r := route(t, 2, p)
		rec := r.send()
		require.Equal(t, http.StatusBadRequest, rec.Code)
		requireEnvelope(t, rec.Body.String(), "none of the headers")
		r.by("X-Session-ID", "s")
	}
	r := route(t, 2, routingtest.ConsistentHash{Missing: routingtest.IssuedToken{}})
	require.NotEmpty(t, r.send().Header().Get("X-Session-Token"))
	require.Empty(t, r.send("X-Session-ID", "s").Header().Get("X-Session-Token"))
}
