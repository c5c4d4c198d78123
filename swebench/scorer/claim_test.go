package scorer_test

import (
	"net/http"
	"testing"

	"github.com/homing-go/homing/swebench/scorer"
	"github.com/stretchr/testify/require"
)

func (s *pyService) keys() []string {
	var keys []string
	for _, r := range s.seen("POST", "/v1/runs") {
		keys = append(keys, r.header.Get("Idempotency-Key"))
	}
	return keys
}

// A scorer that did not come to its end finds its run again: the same request from the same
// folder goes out under the same key, until the run is over.
func TestSubmissionTakenUpAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, &pyService{capabilities: append(capable(), "swebench.idempotent_submit"), poll: fail(400, ""), cancel: fail(500, ""), statuses: []string{succeeded(3, 2)}})
	incomplete(t, r.score(t), scorer.PollFailed, scorer.CancelFailed)
	require.NotContains(t, r.file(t, "swe_bench_submission.json"), "endpoint-key")
	r.poll = nil
	reasons(t, r.score(t))
	require.Equal(t, r.keys()[0], r.keys()[1])
	require.Empty(t, r.file(t, "swe_bench_submission.json"))
	reasons(t, r.score(t))
	require.NotEqual(t, r.keys()[0], r.keys()[2], "over is over")

	// Another request is another run, and a file that cannot be read none at all.
	r.poll = fail(400, "")
	incomplete(t, r.score(t), scorer.PollFailed, scorer.CancelFailed)
	r.cfg.Request.Workers++
	r.poll = nil
	reasons(t, r.score(t))
	require.NotEqual(t, r.keys()[3], r.keys()[4])
	for _, text := range []string{"", "{", `{"idempotency_key":"x\ny"}`, "null"} {
		r.put(t, text, "swe_bench_submission.json")
		reasons(t, r.score(t))
	}

	// A key that stands for another request is given up.
	s := &pyService{capabilities: append(capable(), "swebench.idempotent_submit"), poll: fail(400, ""), cancel: fail(500, ""), statuses: []string{succeeded(3, 2)}}
	r2 := newRig(t, s)
	incomplete(t, r2.score(t), scorer.PollFailed, scorer.CancelFailed)
	s.poll, s.submit = nil, func(w http.ResponseWriter, q *http.Request, n int) bool {
		return n == 2 && fail(422, "other request")(w, q, n)
	}
	reasons(t, r2.score(t))
	require.Equal(t, r2.keys()[0], r2.keys()[1])
	require.NotEqual(t, r2.keys()[1], r2.keys()[2])

	// What the service refused, and a run that was cancelled, are over, too.
	for _, fault := range []func(*pyService){
		func(s *pyService) { s.submit = fail(http.StatusTooManyRequests, "full") },
		func(s *pyService) { s.poll, s.cancel = fail(400, ""), nil },
	} {
		r := newRig(t, &pyService{capabilities: append(capable(), "swebench.idempotent_submit")})
		fault(r.pyService)
		require.False(t, r.score(t).Complete)
		require.Empty(t, r.file(t, "swe_bench_submission.json"))
	}
}

// A service that has lost the endpoint key in a restart gets the same submission again, under
// the same key; one that does not know keys of submissions gets none.
func TestEndpointKeySentAgain(t *testing.T) {
	t.Parallel()
	waiting := status("queued", "message", `"endpoint_key_lost: waiting for the endpoint key"`)
	r := newRig(t, &pyService{capabilities: append(capable(), "swebench.idempotent_submit"), statuses: []string{status("running"), waiting, status("running"), succeeded(3, 2)}})
	reasons(t, r.score(t))
	sent := r.seen("POST", "/v1/runs")
	require.Len(t, sent, 2)
	require.Equal(t, string(sent[0].body), string(sent[1].body))
	require.Equal(t, r.keys()[0], r.keys()[1])

	r = newRig(t, &pyService{statuses: []string{waiting, succeeded(3, 2)}})
	reasons(t, r.score(t))
	require.Len(t, r.submissions(), 1)
	r = newRig(t, &pyService{statuses: []string{waiting, succeeded(3, 2)}})
	r.healths(append(capable(), "swebench.idempotent_submit"), capable())
	reasons(t, r.score(t))
	require.Len(t, r.submissions(), 1)
}
