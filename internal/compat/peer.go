package compat

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A Peer is a client of another project and the way in which it is made
// routing-aware.
type Peer struct {
	Name   string // as in the table
	By     string // the func of package routing
	Module string // whose version the table shows
	Over   string // module of the client below it, if that is another project's
	Wire   Wire
	Note   string
	Open   func(t testing.TB, url string) Calls

	// What must come of it; the zero Outcome is Yes.
	Plain, Streamed, Retried Outcome
}

// Calls are the two ways to ask an opened client. Each returns the text of the answer
// and may be called by several goroutines.
type Calls struct {
	Plain, Streamed func(ctx context.Context, prompt string) (string, error)
}

func (c Calls) of(streamed bool) func(context.Context, string) (string, error) {
	if streamed {
		return c.Streamed
	}
	return c.Plain
}

// HTTPClient returns a client with connections of its own, which end with the test.
func HTTPClient(t testing.TB) *http.Client {
	pool := &http.Transport{}
	t.Cleanup(pool.CloseIdleConnections)
	return &http.Client{Transport: pool}
}

// Run checks the peers and compares what came of it with their rows in the README.
// It is to be called once in a module, by a test that runs with the others of its
// package in sequence.
func Run(t *testing.T, peers ...Peer) {
	t.Helper()
	seen := versions(t, peers)
	rows := make([]row, len(peers))
	passed := t.Run("peers", func(t *testing.T) {
		for i, p := range peers {
			t.Run(p.Name+" by "+p.By, func(t *testing.T) {
				t.Parallel()
				rows[i] = p.check(t, seen)
			})
		}
	})
	if passed {
		t.Run("table", func(t *testing.T) { compare(t, rows) })
	}
}

// check returns the row of what was seen.
func (p Peer) check(t *testing.T, versions map[string]version) row {
	r := row{Name: p.Name, By: p.By, Version: versions[p.Module].used, Note: p.Note}
	if p.Over != "" {
		r.Note = join(p.over(versions), p.Note)
	}
	t.Run("plain", func(t *testing.T) { r.Plain = p.once(t, false) })
	t.Run("streamed", func(t *testing.T) { r.Streamed = p.once(t, true) })
	t.Run("retried", func(t *testing.T) { r.Retried = p.retried(t) })
	t.Run("two sessions", p.together)
	return r
}

// patience is the time that a call may take: fantasy waits five seconds between its
// attempts, whatever the server says.
const patience = 30 * time.Second

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// expect holds what was seen against what must come of it.
func expect(t *testing.T, want, got Outcome) {
	t.Helper()
	if want == "" {
		want = Yes
	}
	require.Equal(t, want, got)
}
