package routing_test

import (
	"crypto/sha1" // UUID version 5 is made of it
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/homing-go/homing/routing"
	"github.com/stretchr/testify/require"
)

var hex32 = regexp.MustCompile(`^[0-9a-f]{32}$`)

// uuid5 is RFC 9562 by hand, so that the library is not its own witness.
func uuid5(t *testing.T, space string, parts ...string) string {
	t.Helper()
	name, err := hex.DecodeString(strings.ReplaceAll(space, "-", ""))
	require.NoError(t, err)
	for _, p := range parts {
		name = append(name, strconv.Itoa(len(p))+":"+p...)
	}
	sum := sha1.Sum(name)
	sum[6] = sum[6]&0x0f | 0x50
	sum[8] = sum[8]&0x3f | 0x80
	return hex.EncodeToString(sum[:16])
}

const (
	deriveSpace = "6f6d6c1e-3b52-5d0c-9f3e-0d7c2f3a9b10"
	childSpace  = "b2b0a8c4-7c55-5a4f-8a1d-5e9f4c6d2e71"
)

func TestNewIDIsRandomHex(t *testing.T) {
	t.Parallel()
	seen := map[routing.ID]bool{}
	for range 1000 {
		id := routing.NewID()
		require.Regexp(t, hex32, string(id))
		require.False(t, seen[id])
		seen[id] = true
	}
}

// The vectors are in the doc comment of Derive: other languages match them.
func TestDeriveVectors(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		parts []string
		want  string
	}{
		{[]string{"a", "bc"}, "5cb066d846d85e7ebc563088cdd51c0f"},
		{[]string{"ab", "c"}, "da23bc05197b5a8999adf82101452a04"},
		{[]string{"run-1", "django__django-16899", "1"}, "daabb0f14dd5540dafebdc195037eb74"},
		{[]string{"", "x"}, "5d6496eb7997528f8e86c9d82ce60d1d"},
		{[]string{"gr\u00f6\u00dfe \u6f22\u5b57"}, "709de6d962a8540ab6f7ae68974c1813"},
	} {
		require.Equal(t, v.want, string(routing.Derive(v.parts...)), "%q", v.parts)
		require.Equal(t, v.want, uuid5(t, deriveSpace, v.parts...), "%q", v.parts)
	}
}

func TestDeriveTellsPartsApart(t *testing.T) {
	t.Parallel()
	seen := map[routing.ID][]string{}
	for _, parts := range [][]string{
		{"a"},
		{"a", ""},
		{"", "a"},
		{"a", "", ""},
		{"1:a"},
		{"a1:b"},
		{"a", "b"},
		{"ab"},
		{"a:", "b"},
		{"a", ":b"},
		{"a\x00b"},
		{"\xff"},
		{"A"},
		{strings.Repeat("a", 1000)},
		{strings.Repeat("a", 1001)},
	} {
		id := routing.Derive(parts...)
		require.Regexp(t, hex32, string(id))
		require.NotContains(t, seen, id, "%q and %q", seen[id], parts)
		require.Equal(t, id, routing.Derive(parts...))
		seen[id] = parts
	}
	for _, parts := range [][]string{nil, {""}, {"", ""}} {
		require.Zero(t, routing.Derive(parts...), "%q", parts)
	}
}

func TestParseID(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"a", "!", "~", "run:1/agent;2", strings.Repeat("x", 255)} {
		id, err := routing.ParseID(good)
		require.NoError(t, err)
		require.Equal(t, good, string(id))
	}
	for _, bad := range []struct{ id, reason string }{
		{"", "it is empty; use NewID or Derive"},
		{strings.Repeat("x", 256), "it has 256 bytes, the limit is 255; use Derive for long names"},
		{"secret\r\nX: y", "byte 6 is 0x0d, only visible ASCII can travel; use Derive for other text"},
		{"secret name", "byte 6 is 0x20"},
		{"secret\x00", "byte 6 is 0x00"},
		{"secret\x7f", "byte 6 is 0x7f"},
		{"\tsecret", "byte 0 is 0x09"},
		{"secré", "byte 4 is 0xc3"},
	} {
		id, err := routing.ParseID(bad.id)
		require.Zero(t, id)
		require.ErrorContains(t, err, "routing: unusable session ID: "+bad.reason)
		require.NotContains(t, err.Error(), "secr", "an ID is not for logs")
		var typed *routing.IDError
		require.ErrorAs(t, err, &typed)
	}
}

func TestIDText(t *testing.T) {
	t.Parallel()
	var m map[routing.ID]routing.ID
	require.NoError(t, json.Unmarshal([]byte(`{"a":"b","c":""}`), &m))
	require.Equal(t, map[routing.ID]routing.ID{"a": "b", "c": ""}, m)

	id := routing.ID("before")
	require.Error(t, json.Unmarshal([]byte(`"a b"`), &id))
	require.Equal(t, routing.ID("before"), id)
	require.NoError(t, json.Unmarshal([]byte(`""`), &id))
	require.Zero(t, id)
}

// Whatever ParseID accepts travels whole, in a header and in a cookie; what it refuses
// is not sent.
func FuzzParseID(f *testing.F) {
	for _, seed := range []string{"a", "", " a", "a;b", "a,b", `"a"`, "a\r\nB: c", "\x7f", "é", strings.Repeat("x", 256)} {
		f.Add(seed)
	}
	w := newWire(f, nil)
	generic, err := routing.Preset("generic")
	require.NoError(f, err)
	cookie := head(func(a *routing.Attempt) { a.SetCookie("route", string(a.Session.ID)) })
	plain := &routing.Transport{Base: base(f), Carrier: generic}
	both := &routing.Transport{Base: plain.Base, Carrier: routing.Join(generic, cookie)}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := routing.ParseID(s)
		transport := plain
		if !strings.Contains(s, ";") { // which ends a cookie
			transport = both
		}
		ctx := routing.NewContext(t.Context(), routing.NewSession(routing.ID(s)))
		res, sendErr := transport.RoundTrip(request(t, ctx, w.URL, "{}"))
		requests := w.take()
		if sendErr != nil {
			require.Error(t, err)
			require.Empty(t, requests)
			return
		}
		require.NoError(t, res.Body.Close())
		require.Len(t, requests, 1)
		if s == "" { // no session, which may pass
			require.Error(t, err)
			require.Empty(t, requests[0].any("X-Session-ID"))
			return
		}
		require.NoError(t, err)
		require.Equal(t, s, string(id))
		require.Equal(t, []string{s}, requests[0].exact("X-Session-ID"))
		if transport == both {
			require.Equal(t, []string{"route=" + s}, requests[0].exact("Cookie"))
		}
	})
}
