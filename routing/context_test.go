package routing_test

import (
	"context"
	"strings"
	"testing"

	"github.com/homing-go/homing/routing"
	"github.com/stretchr/testify/require"
)

func TestInnermostCounts(t *testing.T) {
	t.Parallel()
	a, b := routing.NewSession("a"), routing.NewSession("b")
	ctx := t.Context()
	_, ok := routing.FromContext(ctx)
	require.False(t, ok)

	inA := routing.NewContext(ctx, a)
	got, ok := routing.FromContext(inA)
	require.True(t, ok)
	require.Equal(t, a, got)

	hidden := routing.Without(inA)
	_, ok = routing.FromContext(hidden)
	require.False(t, ok)
	require.NoError(t, routing.Check(hidden))

	got, ok = routing.FromContext(routing.NewContext(hidden, b))
	require.True(t, ok)
	require.Equal(t, b, got)

	_, ok = routing.FromContext(routing.NewContext(inA, routing.Session{}))
	require.False(t, ok, "the zero ID means no session")

	type key struct{}
	got, _ = routing.FromContext(context.WithValue(inA, key{}, 1))
	require.Equal(t, a, got)
	_, ok = routing.FromContext(nil) //nolint:staticcheck // that is the test
	require.False(t, ok)
}

func TestCheck(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	require.NoError(t, routing.Check(routing.NewContext(ctx, routing.NewSession("a").Child("b"))))
	require.NoError(t, routing.Check(routing.Without(ctx)))

	require.ErrorIs(t, routing.Check(ctx), routing.ErrNoSession)
	require.ErrorIs(t, routing.Check(routing.NewContext(ctx, routing.Session{})), routing.ErrNoSession)
	require.ErrorIs(t, routing.Check(routing.NewContext(ctx, routing.Session{Parent: "a"})), routing.ErrNoSession)
	require.ErrorContains(t, routing.ErrNoSession, "use routing.NewContext, or routing.Without")

	err := routing.Check(nil) //nolint:staticcheck // that is the test
	require.EqualError(t, err, "routing: the context is nil: pass the caller's, or context.Background()")
	require.NotErrorIs(t, err, routing.ErrNoSession)

	long := routing.ID(strings.Repeat("x", 256))
	for _, bad := range []struct {
		s      routing.Session
		reason string
	}{
		{routing.Session{ID: "a\r\n"}, "byte 1 is 0x0d"},
		{routing.Session{ID: long}, "it has 256 bytes"},
		{routing.Session{ID: "a", Parent: "b\x00"}, "of the parent, byte 1 is 0x00"},
		{routing.Session{ID: "a", Root: long}, "of the root, it has 256 bytes"},
		{routing.NewSession("a\n").Child("b"), "of the parent, byte 1 is 0x0a"},
	} {
		var typed *routing.IDError
		err := routing.Check(routing.NewContext(ctx, bad.s))
		require.ErrorAs(t, err, &typed)
		require.ErrorContains(t, err, "routing: unusable session ID: "+bad.reason)
	}
}

func TestTurn(t *testing.T) {
	t.Parallel()
	require.Zero(t, routing.TurnFrom(nil)) //nolint:staticcheck // that is the test
	require.Zero(t, routing.TurnFrom(t.Context()))
	turn := routing.Turn{Index: 3, Model: "m", Attempt: 2}
	ctx := routing.WithTurn(t.Context(), turn)
	require.Equal(t, turn, routing.TurnFrom(ctx))
	require.Equal(t, routing.Turn{Final: true}, routing.TurnFrom(routing.WithTurn(ctx, routing.Turn{Final: true})), "it is replaced")
	require.Equal(t, turn, routing.TurnFrom(routing.Without(ctx)))
}
