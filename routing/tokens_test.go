package routing_test

import (
	"testing"

	"github.com/homing-go/homing/routing"
	"github.com/stretchr/testify/require"
)

func TestTokens(t *testing.T) {
	t.Parallel()
	type told struct{ turn, prompt, cached int }
	for _, c := range []struct {
		name          string
		told          []told
		cached, prior int
	}{
		{"one turn proves nothing", []told{{1, 100, 50}}, 0, 0},
		{"all hits", []told{{1, 100, 0}, {2, 200, 100}, {3, 300, 200}}, 300, 300},
		{"no hits", []told{{1, 100, 0}, {2, 200, 0}}, 0, 100},
		{"numbers left out", []told{{0, 100, 0}, {0, 200, 100}, {0, 300, 150}}, 250, 300},
		{"negative number", []told{{-1, 100, 0}, {-5, 200, 100}}, 100, 100},
		{"more hits than there were", []told{{1, 100, 0}, {2, 200, 180}}, 100, 100},
		{"negative counts", []told{{1, -5, -5}, {2, 100, 10}, {3, 200, -7}}, 0, 100},
		{"told again", []told{{1, 100, 0}, {2, 200, 100}, {2, 200, 100}}, 100, 100},
		{"told again, otherwise", []told{{1, 100, 0}, {2, 200, 100}, {2, 220, 40}, {3, 300, 220}}, 260, 320},
		{"first turn told again", []told{{1, 100, 0}, {1, 110, 0}, {2, 200, 110}}, 110, 110},
		{"a gap", []told{{1, 100, 0}, {3, 300, 100}, {4, 400, 300}}, 300, 300},
		{"a new row", []told{{1, 100, 0}, {2, 200, 100}, {1, 50, 0}, {2, 60, 25}}, 125, 150},
		{"resumed", []told{{7, 700, 0}, {8, 800, 350}}, 350, 700},
		{"a shorter prompt", []told{{1, 100, 0}, {2, 30, 20}, {3, 40, 30}}, 50, 130},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var audit routing.Audit
			s := routing.NewSession("s")
			for _, x := range c.told {
				audit.Tokens(s, x.turn, x.prompt, x.cached)
				audit.Tokens(routing.NewSession("other"), 1, 1000, 0)
			}
			report, ok := audit.Session("s")
			require.True(t, ok)
			require.Equal(t, c.cached, report.CachedTokens)
			require.Equal(t, c.prior, report.PriorTokens)
			total := audit.Report()
			require.Equal(t, c.cached, total.CachedTokens)
			require.Equal(t, c.prior, total.PriorTokens)
			want := 0.0
			if c.prior > 0 {
				want = float64(c.cached) / float64(c.prior)
			}
			require.InDelta(t, want, report.CachedRatio(), 1e-9)
			require.InDelta(t, want, total.CachedRatio(), 1e-9)
			require.Zero(t, report.Requests)
			require.Equal(t, routing.Unknown, report.Verdict())
		})
	}
}

// Tokens of a forgotten session start anew, and those of none are left out.
func TestTokensOfSessionsThatAreNotKept(t *testing.T) {
	t.Parallel()
	audit := &routing.Audit{MaxSessions: 1}
	a, b := routing.NewSession("a"), routing.NewSession("b")
	audit.Tokens(a, 1, 100, 0)
	audit.Tokens(a, 2, 200, 100)
	audit.Tokens(b, 1, 100, 0)
	audit.Tokens(a, 3, 300, 200)
	report := audit.Report()
	require.Equal(t, 100, report.CachedTokens)
	require.Equal(t, 100, report.PriorTokens)
	require.Equal(t, 2, report.Forgotten)

	var empty routing.Audit
	empty.Tokens(routing.Session{}, 1, 100, 0)
	empty.Tokens(routing.NewSession("a\r\n"), 1, 100, 0)
	require.Zero(t, empty.Report().Sessions)
}
