package scorer_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/homing-go/homing/swebench/scorer"
	"github.com/stretchr/testify/require"
)

// field returns routing_headers of a body as bytes; "" if it is absent.
func field(t *testing.T, body string) string {
	t.Helper()
	var m map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(body), &m))
	return string(m["routing_headers"])
}

// healths answers one health after the other, the last one again and again.
func (s *pyService) healths(capabilities ...[]string) {
	s.health = func(w http.ResponseWriter, _ *http.Request, n int) bool {
		s.capabilities = capabilities[min(n, len(capabilities))-1]
		return false
	}
}

// Old and capable services get what they can read, for the default, two names, and none.
func TestNegotiation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		capabilities []string
		names        []string
		field        string
		warnings     int
	}{
		{"capable, default", capable(), nil, `["X-Session-ID"]`, 0},
		{"capable, two", capable(), []string{"X-B", "x-a"}, `["X-B","x-a"]`, 0},
		{"capable, collapsed", capable(), []string{"X-B", "x-b"}, `["X-B"]`, 0},
		{"capable, none", capable(), []string{}, `[]`, 0},
		{"old, default", oldCapabilities(), nil, "", 1},
		{"old, two", oldCapabilities(), []string{"X-B", "x-a"}, "", 1},
		{"old, none", oldCapabilities(), []string{}, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, &pyService{capabilities: c.capabilities, statuses: []string{succeeded(3, 2)}})
			r.cfg.Request.RoutingHeaders = c.names
			require.NoError(t, r.scorer(t).Preflight(t.Context()))
			e := r.score(t)
			reasons(t, e)
			require.Len(t, r.submissions(), 1)
			require.Equal(t, c.field, field(t, r.submissions()[0]))
			require.Len(t, r.log.with("WARN", "routing"), c.warnings)
			require.Equal(t, c.warnings > 0, e.Routing != nil)
			require.Equal(t, c.warnings > 0, strings.Contains(string(must(json.Marshal(e))), "routing"))
			require.Equal(t, 2, r.count("GET", "/health"), "asked in preflight and right before the submission")
			require.Equal(t, "/v1/runs", r.requests[2].path)
		})
	}
}

// A service without the three required capabilities, one of another version, and one that
// cannot be asked right before the submission get none.
func TestNegotiationNeedsHealth(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*pyService{
		"no run":    {capabilities: []string{"swebench.cancel", "artifacts.download", "swebench.routing_headers"}},
		"v2":        {health: reply(`{"api_version":"v2","capabilities":["swebench.run","swebench.cancel","artifacts.download"]}`)},
		"no health": {health: drop},
		"500":       {health: fail(500, "")},
	} {
		r := newRig(t, s)
		e, err := r.scorer(t).Score(t.Context())
		var setup *scorer.SetupError
		require.ErrorAs(t, err, &setup, name)
		require.Nil(t, e)
		require.Empty(t, r.submissions())
	}
}

// A capability that was there in preflight but is gone before the submission: the field is
// left out.
func TestCase157_CapabilityGone(t *testing.T) {
	t.Parallel()
	r := newRig(t, &pyService{statuses: []string{succeeded(3, 2)}})
	r.healths(capable(), oldCapabilities())
	s := r.scorer(t)
	require.NoError(t, s.Preflight(t.Context()))
	e, err := s.Score(t.Context())
	require.NoError(t, err)
	reasons(t, e)
	require.Len(t, r.submissions(), 1)
	require.Empty(t, field(t, r.submissions()[0]))
	require.NotNil(t, e.Routing)
}

// A body with the field that gets 400 is sent once more without it, if the capability is gone
// by then; else the refusal is reported.
func TestCase158_RefusedField(t *testing.T) {
	t.Parallel()
	r := newRig(t, &pyService{statuses: []string{succeeded(3, 2)}})
	r.healths(capable(), oldCapabilities())
	r.submit = func(http.ResponseWriter, *http.Request, int) bool { r.capabilities = oldCapabilities(); return false } // replaced meanwhile
	e := r.score(t)
	reasons(t, e)
	require.Len(t, r.submissions(), 2)
	require.Equal(t, `["X-Session-ID"]`, field(t, r.submissions()[0]))
	require.Empty(t, field(t, r.submissions()[1]))
	require.Len(t, r.log.with("WARN", "routing"), 1)
	require.NotNil(t, e.Routing)
	require.Equal(t, []string{"GET /health", "POST /v1/runs", "GET /health", "POST /v1/runs", "GET /v1/runs/ID"}, r.kinds())

	// Still capable: the body is wrong for another reason.
	r = newRig(t, &pyService{submit: fail(400, "num_instances is odd")})
	e = r.score(t)
	incomplete(t, e, scorer.SubmitFailed)
	require.Contains(t, e.Reasons[0].Text, "HTTP 400: num_instances is odd")
	require.Equal(t, []string{"GET /health", "POST /v1/runs", "GET /health"}, r.kinds())
	require.Empty(t, r.log.with("WARN", "routing"))

	// Refused again, and a health that cannot be read: reported.
	r = newRig(t, &pyService{submit: fail(400, "no")})
	r.healths(capable(), oldCapabilities())
	incomplete(t, r.score(t), scorer.SubmitFailed)
	require.Len(t, r.submissions(), 2)
	r = newRig(t, &pyService{submit: fail(400, "no"), health: func(w http.ResponseWriter, q *http.Request, n int) bool { return n > 1 && drop(w, q, n) }})
	incomplete(t, r.score(t), scorer.SubmitFailed)
	require.Len(t, r.submissions(), 1)

	// Sent without the field, there is nothing to leave out.
	r = newRig(t, &pyService{capabilities: oldCapabilities(), submit: fail(400, "no")})
	incomplete(t, r.score(t), scorer.SubmitFailed)
	require.Equal(t, []string{"GET /health", "POST /v1/runs"}, r.kinds())
}

// An empty list of names reaches a capable service as an explicit empty list.
func TestCase155_EmptyListSent(t *testing.T) {
	t.Parallel()
	r := newRig(t, &pyService{statuses: []string{succeeded(3, 2)}})
	r.cfg.Request.RoutingHeaders = []string{}
	r.score(t)
	require.Contains(t, r.submissions()[0], `"routing_headers":[]`)
}
