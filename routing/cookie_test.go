package routing_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/homing-go/homing/routing"
	"github.com/stretchr/testify/require"
)

func TestSetCookie(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		present http.Header
		want    []string // the cookies on the wire, in any order
		set     bool
	}{
		{"absent", http.Header{}, []string{"route=new"}, true},
		{"others", http.Header{"Cookie": {"a=1; b=2"}}, []string{"a=1", "b=2", "route=new"}, true},
		{"two lines", http.Header{"Cookie": {"a=1", "b=2"}}, []string{"a=1", "b=2", "route=new"}, true},
		{"any spelling", http.Header{"cookie": {"a=1"}, "COOKIE": {"b=2"}}, []string{"a=1", "b=2", "route=new"}, true},
		{"own", http.Header{"Cookie": {"a=1; route=own"}}, []string{"a=1", "route=own"}, false},
		{"own in another spelling", http.Header{"cookie": {"route=own"}}, []string{"route=own"}, false},
		{"own on the second line", http.Header{"Cookie": {"a=1", "route=own"}}, []string{"a=1", "route=own"}, false},
		{"own and empty", http.Header{"Cookie": {"route=; a=1"}}, []string{"route=", "a=1"}, false},
		{"names tell case", http.Header{"Cookie": {"ROUTE=x; routes=y"}}, []string{"ROUTE=x", "routes=y", "route=new"}, true},
		{"not what is usual", http.Header{"Cookie": {`;; a ;b="c d"`}}, []string{"a", `b="c d"`, "route=new"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			set := !c.set
			before := c.present.Clone()
			r := wireHeader(t, head(func(a *routing.Attempt) { set = a.SetCookie("route", "new") }), c.present)
			var got []string
			for _, line := range r.any("Cookie") {
				got = append(got, strings.Split(line, "; ")...)
			}
			slices.Sort(got)
			slices.Sort(c.want)
			require.Equal(t, c.want, got)
			require.Equal(t, c.set, set)
			require.Equal(t, before, c.present)
		})
	}
}

// A token goes back byte by byte: net/http would put quotes around some and drop
// bytes of others.
func TestSetCookieExactly(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"a,b", "a b", `a"b\c`, `"quoted"`, "a=b==", "c%2F+/~"} {
		r := wireHeader(t, head(func(a *routing.Attempt) {
			require.True(t, a.SetCookie("route", value))
			require.False(t, a.SetCookie("route", "other"), "the first counts")
			require.True(t, a.SetCookie("second", value))
			require.False(t, a.SetCookie("third", ""))
			require.False(t, a.SetHeader("cookie", "x=y"), "it is there")
		}), http.Header{})
		require.Equal(t, []string{"route=" + value + "; second=" + value}, r.exact("Cookie"))
	}
}

func TestSetCookieUnsound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, value, reason string }{
		{"route", "secret;x", "byte 6 of the value of cookie route is 0x3b, which a cookie cannot hold"},
		{"route", "secret\r\nX: y", "byte 6 of the value of cookie route is 0x0d"},
		{"route", "secret ", "byte 6 of the value of cookie route is 0x20"},
		{"a b", "secret", `cookie name "a b" is not an RFC 6265 token`},
		{"", "secret", `cookie name "" is not an RFC 6265 token`},
		{"a=b", "secret", `cookie name "a=b" is not an RFC 6265 token`},
	} {
		ctx, _ := session(t)
		carrier := head(func(a *routing.Attempt) { require.False(t, a.SetCookie(c.name, c.value)) })
		transport := &routing.Transport{Carrier: carrier, Base: roundTripper(func(*http.Request) (*http.Response, error) {
			t.Error("sent")
			return nil, nil
		})}
		_, err := transport.RoundTrip(request(t, ctx, "http://router", "{}"))
		var typed *routing.CarrierError
		require.ErrorAs(t, err, &typed)
		require.ErrorContains(t, err, c.reason)
		require.NotContains(t, err.Error(), "secret")
	}
}

// Where the session wins it wins over a cookie too, and over that cookie alone.
func TestSetCookieConflict(t *testing.T) {
	t.Parallel()
	ctx, _ := session(t)
	w := newWire(t, nil)
	var asked []string
	transport := &routing.Transport{
		Base: base(t), Carrier: head(func(a *routing.Attempt) { a.SetCookie("route", "new") }),
		Conflict: conflict(&asked, nil),
	}
	req := request(t, ctx, w.URL, "{}")
	req.Header.Set("Cookie", "a=1; route=own; b=2")
	send(t, &http.Client{Transport: transport}, req)
	require.Equal(t, []string{"Cookie"}, asked)
	require.Equal(t, []string{"a=1; b=2; route=new"}, w.only(t).exact("Cookie"))
}

// Of two carriers that set one cookie the first counts, and neither is taken for a
// value of the request's own.
func TestSetCookieTwice(t *testing.T) {
	t.Parallel()
	ctx, _ := session(t)
	w := newWire(t, nil)
	audit := new(routing.Audit)
	set := func(value string) routing.Carrier {
		return head(func(a *routing.Attempt) { a.SetCookie("route", value) })
	}
	transport := &routing.Transport{
		Base: base(t), Carrier: routing.Join(set("first"), set("second")), Audit: audit,
		Conflict: func(context.Context, string) error { return errors.New("asked") },
	}
	send(t, &http.Client{Transport: transport}, request(t, ctx, w.URL, "{}"))
	require.Equal(t, []string{"route=first"}, w.only(t).exact("Cookie"))
	require.Zero(t, audit.Report().Own)
}
