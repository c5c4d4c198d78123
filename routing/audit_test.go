package routing_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/homing-go/homing/routing"
	"github.com/stretchr/testify/require"
)

// auditor feeds an audit with responses of chosen backends.
type auditor struct {
	*routing.Audit
	t         *testing.T
	transport *routing.Transport
	res       *http.Response
}

func newAuditor(t *testing.T, audit *routing.Audit) *auditor {
	t.Helper()
	a := &auditor{Audit: audit, t: t}
	a.transport = &routing.Transport{Audit: audit, Base: roundTripper(func(*http.Request) (*http.Response, error) { return a.res, nil })}
	return a
}

func in(t *testing.T, id string) context.Context {
	t.Helper()
	return routing.NewContext(t.Context(), routing.NewSession(routing.ID(id)))
}

// serve notes a request of a session to a response with these headers.
func (a *auditor) serve(id string, header ...string) {
	a.t.Helper()
	a.res = answer(200, header...)
	res, err := a.transport.RoundTrip(request(a.t, in(a.t, id), "http://router", "{}"))
	require.NoError(a.t, err)
	require.NoError(a.t, res.Body.Close())
}

func TestAuditVerdicts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		backends   string // one letter a request, - for one that does not tell
		verdict    routing.Verdict
		mismatches int
		revealed   int
		list       []string
	}{
		{"-", routing.Unknown, 0, 0, nil},
		{"---", routing.Unknown, 0, 0, nil},
		{"a", routing.Unknown, 0, 1, []string{"a"}},
		{"a-", routing.Unknown, 0, 1, []string{"a"}},
		{"aa", routing.Stuck, 0, 2, []string{"a"}},
		{"a-a", routing.Stuck, 0, 2, []string{"a"}},
		{"ab", routing.Moved, 1, 2, []string{"a", "b"}},
		{"a-b", routing.Moved, 1, 2, []string{"a", "b"}},
		{"aabbb", routing.Moved, 1, 5, []string{"a", "b"}},
		{"abab", routing.Moved, 3, 4, []string{"a", "b"}},
		{"cba", routing.Moved, 2, 3, []string{"c", "b", "a"}},
	} {
		a := newAuditor(t, new(routing.Audit))
		for _, b := range c.backends {
			if b == '-' {
				a.serve("s", "Server", "x")
			} else {
				a.serve("s", "X-Served-By", string(b))
			}
		}
		s, ok := a.Session("s")
		require.True(t, ok)
		require.Equal(t, c.verdict, s.Verdict(), c.backends)
		require.Equal(t, routing.SessionReport{
			ID: "s", Requests: len(c.backends), Revealed: c.revealed, Mismatches: c.mismatches, Backends: c.list,
		}, s)
		report := a.Report()
		require.Equal(t, c.mismatches, report.Mismatches)
		require.Equal(t, c.revealed, report.Revealed)
		require.Equal(t, len(c.backends), report.Requests)
		require.Equal(t, 1, report.Sessions)
		require.Equal(t, map[routing.Verdict]int{c.verdict: 1}, verdicts(report))
		for name, n := range report.Backends {
			require.Equal(t, strings.Count(c.backends, name), n)
		}
	}
	require.Equal(t, "unknown stuck moved unknown", fmt.Sprint(routing.Unknown, routing.Stuck, routing.Moved, routing.Verdict(9)))
}

func verdicts(r routing.Report) map[routing.Verdict]int {
	m := map[routing.Verdict]int{routing.Stuck: r.Stuck, routing.Moved: r.Moved, routing.Unknown: r.Unknown}
	for v, n := range m {
		if n == 0 {
			delete(m, v)
		}
	}
	return m
}

func TestAuditRevealNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reveal, header []string
		want           map[string]int
	}{
		{nil, []string{"X-Served-By", "a"}, map[string]int{"a": 1}},
		{nil, []string{"X-Backend", "a"}, map[string]int{}},
		{[]string{}, []string{"X-Served-By", "a"}, map[string]int{}},
		{[]string{"x-backend", "X-Other"}, []string{"X-Other", "b", "X-Backend", "a"}, map[string]int{"a": 1}},
		{[]string{"X-Backend", "X-Other"}, []string{"X-Other", "b", "X-Backend", ""}, map[string]int{"b": 1}},
	} {
		a := newAuditor(t, &routing.Audit{Reveal: c.reveal})
		a.serve("s", c.header...)
		require.Equal(t, c.want, a.Report().Backends)
	}
	a := newAuditor(t, new(routing.Audit))
	a.res = answer(200)
	a.res.Header["x-served-by"] = []string{"a"} // a base transport that does not canonicalise
	res, err := a.transport.RoundTrip(request(t, in(t, "s"), "http://router", "{}"))
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, map[string]int{"a": 1}, a.Report().Backends)
}

func TestAuditCountsOwnAndFailed(t *testing.T) {
	t.Parallel()
	w := newWire(t, func(n int, _ wireRequest) string {
		if n == 1 {
			return ""
		}
		return response(503, "", "X-Served-By: a")
	})
	audit := new(routing.Audit)
	client := &http.Client{Transport: &routing.Transport{Base: base(t), Audit: audit}}
	ctx, id := session(t)
	req := request(t, ctx, w.URL, "{}")
	req.Header.Set("x-session-id", "own")
	send(t, client, req)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, nil)
	require.NoError(t, err)
	res, err := client.Do(req)
	if err == nil {
		require.NoError(t, res.Body.Close())
	}
	s, _ := audit.Session(routing.ID(id))
	require.Equal(t, 2, s.Requests, "an attempt that failed is one")
	require.Equal(t, 1, s.Own)
	require.Equal(t, 1, s.Revealed)
	require.Equal(t, []string{"own"}, w.seen()[0].any("X-Session-ID"), "set if absent")
}

// A carrier that edits its Attempt does not mislead the audit.
func TestAuditKeepsTheContextsSession(t *testing.T) {
	t.Parallel()
	a := newAuditor(t, new(routing.Audit))
	a.transport.Carrier = head(func(a *routing.Attempt) { a.Session.ID = "other" })
	a.serve("s")
	_, ok := a.Session("s")
	require.True(t, ok)
	report, ok := a.Session("other")
	require.False(t, ok)
	require.Equal(t, routing.SessionReport{ID: "other"}, report)
}

func TestAuditForgetsTheOldest(t *testing.T) {
	t.Parallel()
	a := newAuditor(t, &routing.Audit{MaxSessions: 3})
	for i := range 5 {
		a.serve(fmt.Sprint(i), "X-Served-By", "a")
		a.serve(fmt.Sprint(i), "X-Served-By", "b")
	}
	var ids []string
	for _, s := range a.Sessions() {
		ids = append(ids, string(s.ID))
		require.Equal(t, routing.Moved, s.Verdict())
	}
	require.Equal(t, []string{"2", "3", "4"}, ids)
	report := a.Report()
	require.Equal(t, 3, report.Sessions)
	require.Equal(t, 2, report.Forgotten)
	require.Equal(t, 3, report.Moved)
	require.Equal(t, 5, report.Mismatches, "the totals keep what they were")
	require.Equal(t, 10, report.Requests)
	_, ok := a.Session("0")
	require.False(t, ok)
	a.serve("0", "X-Served-By", "a")
	s, _ := a.Session("0")
	require.Equal(t, 1, s.Requests)
	require.Empty(t, new(routing.Audit).Sessions())
	require.Equal(t, routing.Report{Backends: map[string]int{}}, new(routing.Audit).Report())
}

func TestAuditBoundsBackendsOfASession(t *testing.T) {
	t.Parallel()
	a := newAuditor(t, new(routing.Audit))
	for i := range 40 {
		a.serve("s", "X-Served-By", fmt.Sprint(i%20))
	}
	s, _ := a.Session("s")
	require.Len(t, s.Backends, 16)
	require.Equal(t, 39, s.Mismatches)
	s.Backends[0] = "changed"
	again, _ := a.Session("s")
	require.Equal(t, "0", again.Backends[0], "reports are copies")
}

// A header that differs on every request is no backend: it takes bounded memory, and
// proves neither that a session stayed nor that it moved.
func TestAuditBoundsBackends(t *testing.T) {
	t.Parallel()
	a := newAuditor(t, new(routing.Audit))
	for i := range 5000 {
		a.serve("s", "X-Served-By", fmt.Sprint(i))
	}
	a.serve("s", "X-Served-By", "7")
	report := a.Report()
	require.Len(t, report.Backends, 4097)
	require.Equal(t, 904, report.Backends["(others)"])
	require.Equal(t, 2, report.Backends["7"])
	require.Equal(t, 4097, report.Revealed)
	require.Equal(t, 4096, report.Mismatches)

	for i := range 10 {
		a.serve("new", "X-Served-By", fmt.Sprint("new-", i))
	}
	s, _ := a.Session("new")
	require.Equal(t, routing.Unknown, s.Verdict())
	require.Empty(t, s.Backends)
	require.Equal(t, 10, s.Requests)
}

// Long names are told apart, and not kept whole.
func TestAuditBoundsNames(t *testing.T) {
	t.Parallel()
	a := newAuditor(t, new(routing.Audit))
	long := strings.Repeat("é", 100_000)
	a.serve("s", "X-Served-By", long+"1")
	a.serve("s", "X-Served-By", long+"1")
	a.serve("s", "X-Served-By", long+"2")
	a.serve("s", "X-Served-By", "(others)")
	s, _ := a.Session("s")
	require.Equal(t, 2, s.Mismatches)
	require.Len(t, s.Backends, 3)
	for _, name := range s.Backends {
		require.LessOrEqual(t, len(name), 128)
		require.NotContains(t, name, "\ufffd")
	}
	require.True(t, strings.HasPrefix(s.Backends[0], "ééé"))
}

func TestAuditConcurrent(t *testing.T) {
	t.Parallel()
	audit := &routing.Audit{MaxSessions: 40}
	transport := &routing.Transport{Audit: audit, Base: roundTripper(func(req *http.Request) (*http.Response, error) {
		return answer(200, "X-Served-By", req.Header["X-Session-ID"][0][:1]), nil
	})}
	var wg sync.WaitGroup
	for g := range 64 {
		wg.Go(func() {
			s := routing.NewSession(routing.ID(fmt.Sprint(g)))
			for turn := range 20 {
				res, err := transport.RoundTrip(request(t, in(t, string(s.ID)), "http://router", "{}"))
				if err != nil {
					t.Error(err)
					return
				}
				_ = res.Body.Close()
				audit.Tokens(s, turn+1, 100*(turn+1), 100*turn)
				_ = audit.Report()
				_ = audit.Sessions()
				_, _ = audit.Session(s.ID)
			}
		})
	}
	wg.Wait()
	report := audit.Report()
	require.Equal(t, 64*20, report.Requests)
	require.Equal(t, 64*20, report.Revealed)
	require.Zero(t, report.Mismatches)
	require.Equal(t, 40, report.Sessions)
	require.InDelta(t, 1, report.CachedRatio(), 0)
}

// A backend that is named behind the body counts unless the header named one.
func TestAuditTrailer(t *testing.T) {
	t.Parallel()
	var a routing.Audit
	s := routing.NewSession("s1")
	named := func(name string) http.Header { return http.Header{"X-Served-By": {name}} }
	a.Trailer(s, nil, named("b1"))
	a.Trailer(s, named("b9"), named("b8"))
	a.Trailer(s, http.Header{}, http.Header{"X-Other": {"b7"}})
	a.Trailer(s, http.Header{}, named("b2"))
	a.Trailer(routing.NewSession("a\n"), nil, named("b1"))
	report, _ := a.Session("s1")
	require.Equal(t, routing.SessionReport{ID: "s1", Revealed: 2, Mismatches: 1, Backends: []string{"b1", "b2"}}, report)
	require.Equal(t, 1, a.Report().Sessions)
}
