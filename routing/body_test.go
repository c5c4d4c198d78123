package routing_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/homing-go/homing/routing"
	"github.com/stretchr/testify/require"
)

func TestMembersReachTheBody(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, path, body, want string
		own                    bool
	}{
		{"empty object", "id", `{}`, `{"id":"ID"}`, false},
		{"at the end", "id", `{"b":1.0,"a":"<\u00e9>"}`, `{"b":1.0,"a":"<\u00e9>","id":"ID"}`, false},
		{"white space", "id", " \n{ \"a\" : 1 }\r\n", " \n{ \"a\" : 1 ,\"id\":\"ID\"}\r\n", false},
		{"own value", "id", `{"id":"own","a":1}`, `{"id":"own","a":1}`, true},
		{"own null is unset", "id", `{"id": null,"a":1}`, `{"id": "ID","a":1}`, false},
		{"same value", "id", `{"id":"ID"}` + "\n", `{"id":"ID"}` + "\n", false},
		{"escaped name", "id", `{"\u0069d":"own"}`, `{"\u0069d":"own"}`, true},
		{"deeper only", "id", `{"a":{"id":"x"},"messages":["id"]}`, `{"a":{"id":"x"},"messages":["id"],"id":"ID"}`, false},
		{"nested", "x.y.id", `{"a":1}`, `{"a":1,"x":{"y":{"id":"ID"}}}`, false},
		{"nested, half there", "x.y.id", `{"x":{"z":[1]},"a":1}`, `{"x":{"z":[1],"y":{"id":"ID"}},"a":1}`, false},
		{"nested, there", "x.y.id", `{"x":{"y":{"id":"own"}}}`, `{"x":{"y":{"id":"own"}}}`, true},
		{"nested in null", "x.y.id", `{"x":null}`, `{"x":{"y":{"id":"ID"}}}`, false},
		{"nested in empty", "x.id", `{"x":{ }}`, `{"x":{ "id":"ID"}}`, false},
		{"nested in a text", "x.id", `{"x":"own"}`, `{"x":"own"}`, true},
		{"two of one name", "x.id", `{"x":{"id":"first"},"x":{}}`, `{"x":{"id":"first"},"x":{"id":"ID"}}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, id := session(t)
			w := newWire(t, nil)
			audit := new(routing.Audit)
			carrier := &bodyCarrier{path: strings.Split(c.path, ".")}
			req := request(t, ctx, w.URL, strings.ReplaceAll(c.body, "ID", id))
			send(t, &http.Client{Transport: &routing.Transport{Base: base(t), Carrier: carrier, Audit: audit}}, req)
			want := strings.ReplaceAll(c.want, "ID", id)
			require.Equal(t, want, w.only(t).Body)
			require.Equal(t, []string{fmt.Sprint(len(want))}, w.only(t).exact("Content-Length"))
			require.Empty(t, w.only(t).any("Transfer-Encoding"))
			require.Equal(t, c.own, audit.Report().Own == 1)
		})
	}
}

func TestMembersByContentType(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		header http.Header
		writes bool
	}{
		{http.Header{"Content-Type": {"application/json"}}, true},
		{http.Header{"content-type": {"Application/JSON; charset=utf-8"}}, true},
		{http.Header{"Content-Type": {"application/json; charset"}}, true},
		{http.Header{"Content-Type": {"application/vnd.api+json"}}, true},
		{http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"Identity"}}, true},
		{http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {""}}, true},
		{http.Header{"Content-Type": {"application/jsonl"}}, false},
		{http.Header{"Content-Type": {"text/plain"}}, false},
		{http.Header{"Content-Type": {"multipart/form-data; boundary=x"}}, false},
		{http.Header{"Content-Type": {"; application/json"}}, false},
		{http.Header{}, false},
	} {
		ctx, id := session(t)
		w := newWire(t, nil)
		req := request(t, ctx, w.URL, `{"a":1}`)
		req.Header = c.header
		send(t, routing.Wrap(&http.Client{Transport: base(t)}, &bodyCarrier{path: []string{"id"}}), req)
		want := `{"a":1}`
		if c.writes {
			want = `{"a":1,"id":"` + id + `"}`
		}
		require.Equal(t, want, w.only(t).Body, "%v", c.header)
	}
}

// A body that cannot carry the session fails the request, and the error tells the way
// out; what it says of the body is a position.
func TestMembersRefused(t *testing.T) {
	t.Parallel()
	const remedy = "exclude such requests with Transport.Match or routing.Without"
	for _, c := range []struct {
		body, coding, reason string
	}{
		{`["secret"]`, "", "request body: it is not a JSON object; to send it as it is, " + remedy},
		{`"secret"`, "", "it is not a JSON object"},
		{`{"secret":`, "", "unexpected end of JSON"},
		{`{"secret":1}{}`, "", "invalid JSON at byte 12: data after the value"},
		{``, "", "unexpected end of JSON"},
		{"\ufeff{}", "", "invalid JSON at byte 0"},
		{"\x1f\x8bsecret", "gzip", `no member can be written into a body with content coding "gzip"; compress below the Transport, or ` + remedy},
		{"secret", "zstd", `content coding "zstd"`},
	} {
		ctx, _ := session(t)
		w := newWire(t, nil)
		req := request(t, ctx, w.URL, "")
		req.Body = &countingBody{Reader: strings.NewReader(c.body)}
		if c.coding != "" {
			req.Header.Set("Content-Encoding", c.coding)
		}
		_, err := (&routing.Transport{Base: base(t), Carrier: &bodyCarrier{path: []string{"id"}}}).RoundTrip(req)
		require.ErrorContains(t, err, c.reason)
		require.NotContains(t, err.Error(), "secret")
		require.Empty(t, w.seen())
	}
}

func TestMembersUnsound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		member routing.Member
		reason string
	}{
		{routing.Member{Value: []byte("1")}, "a carrier's member has no path"},
		{routing.Member{Path: []string{"a", "b"}}, `value of the carrier's member "a.b": unexpected end of JSON`},
		{routing.Member{Path: []string{"a"}, Value: []byte("secret")}, `value of the carrier's member "a": invalid JSON at byte 0`},
		{routing.Member{Path: []string{"a", "\xff"}, Value: []byte("1")}, "is not UTF-8"},
	} {
		ctx, _ := session(t)
		transport := &routing.Transport{Carrier: memberCarrier{member: &c.member}}
		_, err := transport.RoundTrip(request(t, ctx, "http://router", "{}"))
		require.ErrorContains(t, err, c.reason)
		require.NotContains(t, err.Error(), "secret")
	}
}

type memberCarrier struct {
	routing.None
	member *routing.Member
}

func (c memberCarrier) Members(routing.Session, routing.Turn) []routing.Member {
	return []routing.Member{*c.member}
}

func TestNoBodyNoMembers(t *testing.T) {
	t.Parallel()
	ctx, _ := session(t)
	w := newWire(t, nil)
	client := routing.Wrap(&http.Client{Transport: base(t)}, &bodyCarrier{path: []string{"id"}})
	for _, body := range []io.ReadCloser{nil, http.NoBody} {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.URL, nil)
		require.NoError(t, err)
		req.Body = body
		req.Header.Set("Content-Type", "application/json")
		send(t, client, req)
	}
	for _, r := range w.seen() {
		require.Empty(t, r.Body)
	}
}

// Each attempt of a retry layer above, each with its own number, has equal bytes; so
// has GetBody, by which net/http tries again itself.
func TestAttemptsHaveEqualBodies(t *testing.T) {
	t.Parallel()
	ctx, id := session(t)
	ctx = routing.WithTurn(ctx, routing.Turn{Index: 1, Model: "m"})
	var bodies []string
	transport := &routing.Transport{
		Carrier: memberOfTurn{},
		Base: roundTripper(func(req *http.Request) (*http.Response, error) {
			for range 2 {
				again, err := req.GetBody()
				require.NoError(t, err)
				body, err := io.ReadAll(again)
				require.NoError(t, err)
				bodies = append(bodies, string(body))
			}
			body, err := io.ReadAll(req.Body)
			require.NoError(t, err)
			require.EqualValues(t, len(body), req.ContentLength)
			bodies = append(bodies, string(body))
			return answer(503), nil
		}),
	}
	req := request(t, ctx, "http://router", `{"a":1}`)
	for attempt := range 3 {
		turn := routing.TurnFrom(ctx)
		turn.Attempt, turn.Last = attempt+1, attempt == 2
		again := req.Clone(routing.WithTurn(ctx, turn))
		again.Body, _ = req.GetBody()
		res, err := transport.RoundTrip(again)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
	}
	require.Len(t, bodies, 9)
	for _, body := range bodies {
		require.Equal(t, `{"a":1,"turn":"`+id+` 1 false m 0 false"}`, body)
	}
}

type memberOfTurn struct{ routing.None }

func (memberOfTurn) Members(s routing.Session, t routing.Turn) []routing.Member {
	value := fmt.Sprintf(`"%s %d %v %s %d %v"`, s.ID, t.Index, t.Final, t.Model, t.Attempt, t.Last)
	return []routing.Member{{Path: []string{"turn"}, Value: []byte(value)}}
}

// A body of unknown length becomes one of known length.
func TestChunkedBody(t *testing.T) {
	t.Parallel()
	ctx, id := session(t)
	w := newWire(t, nil)
	for _, carrier := range []routing.Carrier{nil, &bodyCarrier{path: []string{"id"}}} {
		req := request(t, ctx, w.URL, "")
		req.Body, req.ContentLength, req.GetBody = io.NopCloser(io.MultiReader(strings.NewReader(`{"a":`), strings.NewReader(`1}`))), -1, nil
		send(t, routing.Wrap(&http.Client{Transport: base(t)}, carrier), req)
	}
	require.Equal(t, `{"a":1}`, w.seen()[0].Body)
	require.Equal(t, `{"a":1,"id":"`+id+`"}`, w.seen()[1].Body)
}
