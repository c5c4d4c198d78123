package routing_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/homing-go/homing/routing"
	"github.com/stretchr/testify/require"
)

// conflict returns a Conflict that notes what it is asked and answers err.
func conflict(asked *[]string, err error) func(context.Context, string) error {
	return func(_ context.Context, name string) error {
		*asked = append(*asked, name)
		return err
	}
}

func TestSessionWins(t *testing.T) {
	t.Parallel()
	ctx, id := session(t)
	for _, present := range []http.Header{
		{"X-Session-ID": {"own"}},
		{"X-Session-Id": {"own", "own too"}},
		{"x-session-id": {"own"}, "X-SESSION-ID": {"other"}},
		{"x-session-id": {id, id}},
	} {
		w := newWire(t, nil)
		var asked []string
		audit := new(routing.Audit)
		transport := &routing.Transport{Base: base(t), Conflict: conflict(&asked, nil), Audit: audit}
		req := request(t, ctx, w.URL, "{}")
		req.Header = present.Clone()
		send(t, &http.Client{Transport: transport}, req)
		require.Equal(t, []string{id}, w.only(t).exact("X-Session-ID"))
		require.Len(t, w.only(t).any("X-Session-ID"), 1, "another spelling is removed")
		require.Equal(t, present, req.Header, "the caller's map is the caller's")
		require.Equal(t, 1, audit.Report().Own)
		slices.Sort(asked)
		var names []string
		for name := range present {
			names = append(names, name)
		}
		slices.Sort(names)
		require.Equal(t, names, asked)
	}
}

func TestConflictRefuses(t *testing.T) {
	t.Parallel()
	ctx, _ := session(t)
	refused := errors.New("a static header in the session's place")
	var asked []string
	var outcome error
	body := &countingBody{}
	w := newWire(t, nil)
	generic, err := routing.Preset("generic")
	require.NoError(t, err)
	transport := &routing.Transport{
		Base: base(t), Conflict: conflict(&asked, refused),
		Carrier: routing.Join(generic, &observer{observe: func(_ *routing.Attempt, res *http.Response, err error) {
			require.Nil(t, res)
			outcome = err
		}}),
	}
	req := request(t, ctx, w.URL, "")
	req.Body = body
	req.Header.Set("x-session-id", "own")
	_, err = transport.RoundTrip(req)
	require.ErrorIs(t, err, refused)
	require.ErrorIs(t, outcome, refused)
	var typed *routing.CarrierError
	require.ErrorAs(t, err, &typed, "it is of no use to try again")
	body.requireClosed(t)
	require.Empty(t, w.seen())

	res, err := transport.Middleware(req, func(*http.Request) (*http.Response, error) {
		t.Error("sent")
		return nil, nil
	})
	require.ErrorIs(t, err, refused)
	require.Equal(t, "false", res.Header.Get("X-Should-Retry"))
	require.NoError(t, res.Body.Close())
}

// Two layers that carry the same session are no conflict: nothing is counted, and
// only the spelling changes.
func TestSameSessionTwice(t *testing.T) {
	t.Parallel()
	ctx, id := session(t)
	lower, err := routing.Header("x-session-id")
	require.NoError(t, err)
	for _, c := range []struct {
		conflict func(context.Context, string) error
		spelling string
	}{
		{nil, "x-session-id"},
		{func(context.Context, string) error { return errors.New("asked") }, "X-Session-ID"},
	} {
		w := newWire(t, nil)
		audit := new(routing.Audit)
		inner := &routing.Transport{Base: base(t), Conflict: c.conflict, Audit: audit}
		send(t, &http.Client{Transport: &routing.Transport{Base: inner, Carrier: lower}}, request(t, ctx, w.URL, "{}"))
		require.Equal(t, []string{id}, w.only(t).exact(c.spelling))
		require.Len(t, w.only(t).any("X-Session-ID"), 1)
		require.Zero(t, audit.Report().Own)
		require.Equal(t, 1, audit.Report().Requests)
	}
}
