package routingtest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/homing-go/homing/routing/routingtest"
)

// turn sends one turn of a history and grows it, and returns the usage.
func (h *history) turn(t testing.TB, w *wire, session string) usage {
	t.Helper()
	_, c := w.answer(h.body(), "X-Session-ID", session)
	h.grow(c.Choices[0].Message, fmt.Sprintf("result %d: %s", len(h.messages), strings.Repeat("line\n", 50)))
	return c.Usage
}

// TestCachedRatio is the property that everything else rests on: a session that
// stays is cached in full, one that wanders is not.
func TestCachedRatio(t *testing.T) {
	t.Parallel()
	const sessions, turns = 21, 10 // coprime to 8, or round robin would come back to the same few backends
	for name, tc := range map[string]struct {
		policy routingtest.Policy
		stays  bool
	}{
		"hash":  {routingtest.ConsistentHash{}, true},
		"table": {routingtest.Sticky{}, true},
		"robin": {routingtest.RoundRobin{}, false},
	} {
		_, w := cluster(t, routingtest.ClusterConfig{Backends: 8, Policy: tc.policy})
		cached, before := 0, 0
		last := make([]int, sessions)
		histories := make([]*history, sessions)
		for turn := range turns {
			for i := range sessions {
				if turn == 0 {
					histories[i] = newHistory(fmt.Sprintf("task %d", i))
				}
				u := histories[i].turn(t, w, fmt.Sprintf("session-%d", i))
				if turn > 0 {
					cached += u.Details.Cached
					before += last[i]
					if tc.stays {
						require.Equal(t, last[i], u.Details.Cached, "%s: turn %d", name, turn)
					}
				}
				last[i] = u.Prompt
			}
		}
		ratio := float64(cached) / float64(before)
		if tc.stays {
			require.InDelta(t, 1.0, ratio, 0)
		} else {
			require.Less(t, ratio, 0.5, name)
		}
	}
}

// TestSwap changes the backends of two conversations in the middle.
func TestSwap(t *testing.T) {
	t.Parallel()
	c, w := cluster(t, routingtest.ClusterConfig{Backends: 2, Policy: routingtest.IssuedToken{}})
	require.Len(t, c.Backends(), 2)
	var tokens [2]string
	var last [2]int
	histories := [2]*history{newHistory("A"), newHistory("B")}
	for turn := range 6 {
		if turn == 3 {
			tokens[0], tokens[1] = tokens[1], tokens[0]
		}
		for i, h := range histories {
			res, a := w.answer(h.body(), "X-Session-Token", tokens[i])
			if turn == 0 {
				tokens[i] = res.Header.Get("X-Session-Token")
			}
			switch turn {
			case 0:
			case 3:
				require.Less(t, a.Usage.Details.Cached, last[i]/2, "only the system message is known there")
			default:
				require.Equal(t, last[i], a.Usage.Details.Cached)
			}
			last[i] = a.Usage.Prompt
			h.grow(a.Choices[0].Message, "result")
		}
	}
}

func TestCacheIgnoresHeaders(t *testing.T) {
	t.Parallel()
	w := serve(t, routingtest.NewBackend(routingtest.BackendConfig{}))
	w.answer(user("x"), "X-Session-ID", "a")
	_, c := w.answer(user("x"), "X-Session-ID", "b", "Authorization", "Bearer y")
	require.Equal(t, c.Usage.Prompt, c.Usage.Details.Cached)
}

func TestCacheComparesBytes(t *testing.T) {
	t.Parallel()
	w := serve(t, routingtest.NewBackend(routingtest.BackendConfig{}))
	cached := func(body string) int {
		_, c := w.answer(body)
		return c.Usage.Details.Cached
	}
	const body = `{"model":"m","tools":[{"x":1}],"messages":[{"role":"user","content":"héllo"}]}`
	cached(body)
	require.Positive(t, cached(body))
	require.Equal(t, cached(body), cached(`{ "messages" : [ {"role":"user","content":"héllo"} ], "temperature":0.5, "tools": [{"x":1}], "model":"m"}`),
		"what is around the messages does not count")
	tools := (len(`[{"x":1}]`) + 3) / 4
	require.Equal(t, tools, cached(strings.Replace(body, "é", `\u00e9`, 1)), "another encoding is another message")
	require.Equal(t, tools, cached(strings.Replace(body, `"role":"user","content":"héllo"`, `"content":"héllo","role":"user"`, 1)))
	require.Zero(t, cached(strings.Replace(body, `"x":1`, `"x":2`, 1)), "tools come first")
	require.Zero(t, cached(strings.Replace(body, `"m"`, `"n"`, 1)), "models share nothing")
}

func TestForgetAndBound(t *testing.T) {
	t.Parallel()
	b := routingtest.NewBackend(routingtest.BackendConfig{CacheEntries: 4})
	w := serve(t, b)
	h := newHistory("task")
	h.turn(t, w, "")
	b.Forget()
	require.Zero(t, h.turn(t, w, "").Details.Cached)
	for range 3 {
		h.turn(t, w, "")
	}
	u := h.turn(t, w, "")
	require.Positive(t, u.Details.Cached)
	require.Less(t, u.Details.Cached, u.Prompt/2, "four messages at most")

	off := serve(t, routingtest.NewBackend(routingtest.BackendConfig{CacheEntries: -1}))
	off.answer(user("x"))
	_, c := off.answer(user("x"))
	require.Zero(t, c.Usage.Details.Cached)
}

// TestManyAtOnce is for the race detector: one cluster, everything at a time.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	c, w := cluster(t, routingtest.ClusterConfig{
		Backends: 4,
		Policy:   routingtest.Sticky{MaxSessions: 8},
		Backend:  routingtest.BackendConfig{Record: 5, CacheEntries: 64},
	})
	require.NoError(t, together(16, func(i int) error {
		h := newHistory(fmt.Sprint(i))
		for n := range 20 {
			body := h.body()
			if n%2 == 0 {
				body = h.body(`"stream":true,`)
			}
			if err := w.try(body, "X-Session-ID", fmt.Sprint(i)); err != nil {
				return err
			}
			h.grow(json.RawMessage(message("assistant", "ok")), "result")
			name := c.Backends()[i%3].Name() // the fourth stays up
			if err := c.Router().Down(name); err != nil {
				return err
			}
			c.Backends()[i%4].Records()
			c.Stats()
			if err := c.Router().Up(name); err != nil {
				return err
			}
		}
		return nil
	}))
	s := c.Stats()
	require.Equal(t, 16*20, s.Completions)
	sum := 0
	for _, n := range c.Router().Requests() {
		sum += n
	}
	require.Equal(t, 16*20, sum)
}
