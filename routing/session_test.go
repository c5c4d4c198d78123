package routing_test

import (
	"encoding/json"
	"testing"

	"github.com/homing-go/homing/routing"
	"github.com/stretchr/testify/require"
)

func TestChild(t *testing.T) {
	t.Parallel()
	top := routing.NewSession("top")
	child := top.Child("worker-1")
	require.Equal(t, routing.Session{ID: routing.ID(uuid5(t, childSpace, "top", "worker-1")), Parent: "top", Root: "top"}, child)
	require.Equal(t, child, top.Child("worker-1"), "the same name is the same child")
	require.NotEqual(t, child.ID, top.Child("worker-2").ID)
	require.NotEqual(t, child.ID, routing.NewSession("other").Child("worker-1").ID)
	require.NotEqual(t, child.ID, routing.Derive("top", "worker-1"), "children have their own name space")
	require.NotEqual(t, routing.NewSession("a").Child("bc").ID, routing.NewSession("ab").Child("c").ID)

	grand := child.Child("x")
	require.Equal(t, child.ID, grand.Parent)
	require.Equal(t, routing.ID("top"), grand.Root)
	require.Regexp(t, hex32, string(top.Child("").ID))
	require.Regexp(t, hex32, string(top.Child("any \r\n text").ID))

	require.Zero(t, routing.Session{}.Child("x"), "no session has no children")
	require.Equal(t, routing.ID("other"), routing.Session{ID: "a", Root: "other"}.Child("x").Root)
}

func TestSessionJSON(t *testing.T) {
	t.Parallel()
	for _, s := range []routing.Session{
		{},
		routing.NewSession("a"),
		routing.NewSession(routing.NewID()).Child("b").Child("c"),
		{ID: `"<&>\`, Parent: "~", Root: "!"},
	} {
		text, err := json.Marshal(s)
		require.NoError(t, err)
		var back routing.Session
		require.NoError(t, json.Unmarshal(text, &back), "%s", text)
		require.Equal(t, s, back)
		require.Equal(t, s.Child("x"), back.Child("x"))
	}
	text, err := json.Marshal(routing.NewSession("a").Child("b"))
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"`+uuid5(t, childSpace, "a", "b")+`","parent":"a","root":"a"}`, string(text))

	for _, bad := range []string{`{"id":"a b"}`, `{"id":"a","parent":"\r\n"}`, `{"id":"a","root":"é"}`} {
		var s routing.Session
		var typed *routing.IDError
		require.ErrorAs(t, json.Unmarshal([]byte(bad), &s), &typed, bad)
	}
}
