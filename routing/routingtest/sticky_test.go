package routingtest_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/homing-go/homing/routing/routingtest"
)

func TestStickyStaysAndSpreads(t *testing.T) {
	t.Parallel()
	r := route(t, 4, routingtest.Sticky{})
	first := r.place(100)
	for range 3 {
		require.Equal(t, first, r.place(100))
	}
	require.Equal(t, map[string]int{"b0": 100, "b1": 100, "b2": 100, "b3": 100}, r.Requests())
}

func TestStickyMovesForGood(t *testing.T) {
	t.Parallel()
	r := route(t, 4, routingtest.Sticky{New: routingtest.RoundRobin{}})
	before := r.place(100)
	require.NoError(t, r.Down("b1"))
	during := r.place(100)
	for id, was := range before {
		if was == "b1" {
			require.NotEqual(t, "b1", during[id])
		} else {
			require.Equal(t, was, during[id])
		}
	}
	require.NoError(t, r.Up("b1"))
	require.Equal(t, during, r.place(100))
}

func TestStickyIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := route(t, 3, routingtest.Sticky{New: routingtest.RoundRobin{}, Idle: time.Minute})
		require.Equal(t, "b0", r.by("X-Session-ID", "a"))
		for range 10 { // each request keeps it
			time.Sleep(59 * time.Second)
			require.Equal(t, "b0", r.by("X-Session-ID", "a"))
		}
		time.Sleep(time.Minute)
		require.Equal(t, "b1", r.by("X-Session-ID", "a"), "placed as a new one")
	})
}

func TestStickyBound(t *testing.T) {
	t.Parallel()
	r := route(t, 100, routingtest.Sticky{New: routingtest.RoundRobin{}, MaxSessions: 2})
	a, b := r.by("X-Session-ID", "a"), r.by("X-Session-ID", "b")
	require.Equal(t, a, r.by("X-Session-ID", "a"))
	c := r.by("X-Session-ID", "c") // in place of b, which is idle longest
	require.Equal(t, a, r.by("X-Session-ID", "a"))
	require.Equal(t, c, r.by("X-Session-ID", "c"))
	require.NotEqual(t, b, r.by("X-Session-ID", "b"))
}

func TestStickyHeaders(t *testing.T) {
	t.Parallel()
	r := route(t, 5, routingtest.Sticky{New: routingtest.RoundRobin{}, Headers: []string{"x-a", "x-b"}})
	home := r.by("X-A", "s")
	require.Equal(t, home, r.by("X-B", "s"))
	require.Equal(t, home, r.by("X-A", "s", "X-B", "other"))
	require.NotEqual(t, home, r.by("X-B", "other"))
}

func TestIssuedToken(t *testing.T) {
	t.Parallel()
	r := route(t, 4, routingtest.IssuedToken{})
	tokens := map[string]string{} // by the target that they name
	for range 8 {
		rec := r.send()
		token := rec.Header().Get("X-Session-Token")
		require.NotEmpty(t, token)
		require.NotContains(t, tokens, token, "no two are equal")
		tokens[token] = rec.Header().Get("By")
	}
	for token, by := range tokens {
		rec := r.send("x-session-token", token)
		require.Equal(t, by, rec.Header().Get("By"))
		require.NotContains(t, rec.Header(), "X-Session-Token", "issued once")
	}

	for _, unknown := range []string{"x", "%%%", "YjA", "MS9uby1zdWNo", "eC9iMA", strings.Repeat("A", 10_000)} {
		rec := r.send("X-Session-Token", unknown)
		require.Equal(t, 200, rec.Code)
		require.NotEmpty(t, rec.Header().Get("X-Session-Token"), unknown)
	}
}

func TestIssuedTokenOfTheFailed(t *testing.T) {
	t.Parallel()
	r := route(t, 4, routingtest.IssuedToken{Header: "X-Pin", New: routingtest.LeastLoaded{}})
	var pins []string
	var homes []string
	for range 8 {
		rec := r.send()
		pins = append(pins, rec.Header().Get("X-Pin"))
		homes = append(homes, rec.Header().Get("By"))
	}
	require.NoError(t, r.Down("b2"))
	for i, pin := range pins {
		rec := r.send("X-Pin", pin)
		by, issued := rec.Header().Get("By"), rec.Header().Get("X-Pin")
		if homes[i] != "b2" {
			require.Equal(t, homes[i], by)
			require.Empty(t, issued)
			continue
		}
		require.NotEqual(t, "b2", by)
		require.NotEmpty(t, issued)
		require.Equal(t, by, r.by("X-Pin", issued), "the new one holds")
	}
}

func TestIssuedTokenOnTheWire(t *testing.T) {
	t.Parallel()
	_, w := cluster(t, routingtest.ClusterConfig{Backends: 3, Policy: routingtest.IssuedToken{}})
	for i := range 6 {
		body := user(fmt.Sprint(i))
		if i%2 == 0 {
			body = streamed(fmt.Sprint(i))
		}
		res, _ := w.send(body)
		token, by := res.Header.Get("X-Session-Token"), res.Header.Get("X-Served-By")
		require.NotEmpty(t, token)
		res, _ = w.send(body, "X-Session-Token", token)
		require.Equal(t, by, res.Header.Get("X-Served-By"))
	}
}
