package routing_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/homing-go/homing/routing"
	"github.com/stretchr/testify/require"
)

func TestInBody(t *testing.T) {
	t.Parallel()
	carrier := &bodyCarrier{path: []string{"x", "id"}}
	ctx, id := session(t)
	for _, c := range []struct{ obj, want string }{
		{`{}`, `{"x":{"id":"ID"}}`},
		{`{"a":1,"x":{"id":"own"}}`, `{"a":1,"x":{"id":"ID"}}`},
		{`{"x":"own" ,"a":1}`, `{"x":{"id":"ID"} ,"a":1}`},
		{" {\"a\":[ ]} ", " {\"a\":[ ],\"x\":{\"id\":\"ID\"}} "},
	} {
		obj := []byte(c.obj)
		_, got := routing.InBody(ctx, carrier, obj)
		require.Equal(t, strings.ReplaceAll(c.want, "ID", id), string(got))
		require.Equal(t, c.obj, string(obj), "the caller's bytes are the caller's")
	}
}

func TestInBodyWithoutUse(t *testing.T) {
	t.Parallel()
	ctx, _ := session(t)
	carrier := &bodyCarrier{path: []string{"id"}}
	for name, c := range map[string]struct {
		ctx     context.Context
		carrier routing.Carrier
		obj     string
	}{
		"no session":      {t.Context(), carrier, `{}`},
		"nil context":     {nil, carrier, `{}`},
		"without":         {routing.Without(ctx), carrier, `{}`},
		"zero ID":         {routing.NewContext(ctx, routing.Session{}), carrier, `{}`},
		"bad ID":          {routing.NewContext(ctx, routing.NewSession("a\n")), carrier, `{}`},
		"generic":         {ctx, nil, `{}`},
		"no members":      {ctx, routing.None{}, `{}`},
		"no object":       {ctx, carrier, `[]`},
		"not JSON":        {ctx, carrier, `{"a"`},
		"unsound carrier": {ctx, memberCarrier{member: new(routing.Member)}, `{}`},
	} {
		got, obj := routing.InBody(c.ctx, c.carrier, []byte(c.obj))
		require.Equal(t, c.ctx, got, name)
		require.Equal(t, c.obj, string(obj), name)
	}
}

func TestTransportLeavesAnEncodedBodyAlone(t *testing.T) {
	t.Parallel()
	carrier := &bodyCarrier{path: []string{"id"}}
	ctx, id := session(t)
	encoded, _ := routing.InBody(ctx, carrier, []byte("{}"))
	w := newWire(t, nil)
	client := routing.Wrap(&http.Client{Transport: base(t)}, carrier)
	do := func(ctx context.Context, body string) string {
		t.Helper()
		n := len(w.seen())
		req := request(t, ctx, w.URL, body)
		send(t, client, req)
		return w.seen()[n].Body
	}
	require.Equal(t, "not even JSON", do(encoded, "not even JSON"), "it is not looked at")
	require.Equal(t, `{"id":"`+id+`"}`, do(ctx, "{}"))

	child := routing.NewContext(encoded, routing.NewSession("parent").Child("x"))
	require.Equal(t, `{"id":"`+string(fromContext(child).ID)+`"}`, do(child, "{}"), "a child's body is another body")
	require.Equal(t, "{}", do(routing.Without(encoded), "{}"))

	other := &bodyCarrier{path: []string{"id"}}
	client = routing.Wrap(&http.Client{Transport: base(t)}, other)
	require.Equal(t, `{"id":"`+id+`"}`, do(encoded, "{}"), "another carrier writes its own")
}

// Carriers that == cannot compare are asked again, which changes no byte.
func TestInBodyUncomparable(t *testing.T) {
	t.Parallel()
	carrier := bodyByValue{path: []string{"x", "id"}}
	ctx, _ := session(t)
	ctx, body := routing.InBody(ctx, carrier, []byte(`{"a":1}`+"\n"))
	w := newWire(t, nil)
	send(t, routing.Wrap(&http.Client{Transport: base(t)}, carrier), request(t, ctx, w.URL, string(body)))
	require.Equal(t, string(body), w.only(t).Body)
}

type bodyByValue struct {
	routing.None
	path []string
}

func (c bodyByValue) Members(s routing.Session, turn routing.Turn) []routing.Member {
	return (&bodyCarrier{path: c.path}).Members(s, turn)
}
