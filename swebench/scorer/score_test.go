package scorer_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/homing-go/homing/swebench/scorer"
	"github.com/stretchr/testify/require"
)

// The health is fetched with the bearer token. (The limit of 10 seconds has a test of its own.)
func TestCase022_PreflightToken(t *testing.T) {
	t.Parallel()
	r := newRig(t, &pyService{token: "tok-0123456789"})
	require.NoError(t, r.scorer(t).Preflight(context.Background()))
	require.Equal(t, []string{"GET /health"}, r.kinds())
	got := r.seen("GET", "/health")[0].header
	require.Equal(t, []string{"Bearer tok-0123456789"}, got["Authorization"])
	require.Equal(t, []string{"application/json"}, got["Accept"])
}

// A health of api_version v2 fails naming the expected and the actual version.
func TestCase020_PreflightVersion(t *testing.T) {
	t.Parallel()
	r := newRig(t, &pyService{health: reply(`{"api_version":"v2","capabilities":[]}`)})
	e := r.setupError(t)
	require.Contains(t, e.Error(), `"v2"`)
	require.Contains(t, e.Error(), `"v1"`)
}

// Capabilities that are null, a string or hold something else than strings are a setup error,
// as are missing ones, which are listed in order.
func TestCase023_PreflightCapabilities(t *testing.T) {
	t.Parallel()
	for _, c := range []string{`null`, `"swebench.run"`, `[1]`, `{}`} {
		r := newRig(t, &pyService{health: reply(`{"api_version":"v1","capabilities":` + c + `}`)})
		require.Contains(t, r.setupError(t).Error(), "capabilit")
	}
	r := newRig(t, &pyService{capabilities: []string{"swebench.run", "swebench.routing_headers"}})
	require.Contains(t, r.setupError(t).Error(), "[artifacts.download swebench.cancel]")
	for _, body := range []string{"", "[]", "{", "null", strings.Repeat(" ", 10)} {
		r := newRig(t, &pyService{health: reply(body)})
		r.setupError(t)
	}
}

// A service that answers 503 with a text has both in the error, without secrets.
func TestCase025_PreflightAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, &pyService{token: "tok-0123456789", health: fail(503, "down for\nmaintenance of tok-0123456789")})
	e := r.setupError(t)
	require.Equal(t, 503, e.StatusCode)
	require.Contains(t, e.Error(), "HTTP 503: down for maintenance of <redacted>")
	require.Equal(t, 1, r.count("GET", "/health"))
	r = newRig(t, &pyService{health: func(w http.ResponseWriter, _ *http.Request, _ int) bool {
		http.Redirect(w, httptest.NewRequest("GET", "/health", nil), "/elsewhere", http.StatusTemporaryRedirect)
		return true
	}})
	require.Equal(t, 307, r.setupError(t).StatusCode)
	require.Equal(t, []string{"GET /health"}, r.kinds(), "a redirect is not followed")
}

// The body has exactly the documented keys, in row order, and the template default.
func TestCase026_Body(t *testing.T) {
	t.Parallel()
	r := newRig(t, &pyService{capabilities: oldCapabilities(), statuses: []string{succeeded(3, 2)}})
	r.score(t)
	require.Equal(t, []string{`{"model_name":"m","endpoint_urls":["http://endpoint"],"endpoint_api_key":"endpoint-key-0123456789","generation_params":{},"subset":"verified",` +
		`"split":"test","num_instances":3,"workers":10,"max_eval_workers":10,"evaluated_instance_ids":["c","a","b"],"template":"default"}`}, r.submissions())
	h := r.seen("POST", "/v1/runs")[0].header
	require.Equal(t, []string{"application/json"}, h["Content-Type"])
	require.Equal(t, []string{"application/json"}, h["Accept"])
	require.NotContains(t, h, "Authorization")
	require.NotContains(t, h, "Idempotency-Key")
}

// A dataset without rows is not submitted: no request, no score.
func TestCase029_NoRows(t *testing.T) {
	t.Parallel()
	r := newRig(t, new(pyService))
	r.cfg.Request.EvaluatedInstanceIDs = nil
	r.put(t, "stale", "swe_bench_results.json")
	incomplete(t, r.score(t), scorer.NoInstances)
	require.Empty(t, r.kinds())
	require.Empty(t, r.files(t))
}

// After queued, the poll goes to v1/runs/ID and the score of the success is computed.
func TestCase031_QueuedThenSucceeded(t *testing.T) {
	t.Parallel()
	r := newRig(t, &pyService{statuses: []string{status("queued"), status("running"), succeeded(3, 3)}})
	e := r.score(t)
	reasons(t, e)
	require.InDelta(t, 1, *e.Score, 0)
	require.Equal(t, []string{"GET /health", "POST /v1/runs", "GET /v1/runs/ID", "GET /v1/runs/ID", "GET /v1/runs/ID"}, r.kinds())
	require.Equal(t, runID, *e.RunID)
}

// An answer to the submission that is terminal already is not polled.
func TestTerminalSubmission(t *testing.T) {
	t.Parallel()
	r := newRig(t, &pyService{submit: reply(succeeded(3, 1))})
	require.InDelta(t, 1.0/3, *r.score(t).Score, 1e-12)
	require.Zero(t, r.polls())
}

// A run ID such as ../outside writes no file and sends no cancel.
func TestCase032_RunIDOutside(t *testing.T) {
	t.Parallel()
	for _, id := range []string{`"../outside"`, `"a/b"`, `""`, `"."`, `"a b"`, `"é"`} {
		r := newRig(t, &pyService{submit: reply(status("succeeded", "run_id", id, "artifacts", `[{"name":"preds.json","url":"/v1/runs/../outside/artifacts/preds.json"}]`))})
		incomplete(t, r.score(t), scorer.InvalidRunID)
		require.Equal(t, []string{"GET /health", "POST /v1/runs"}, r.kinds())
		require.Empty(t, r.files(t))
	}
}

// A run ID that is a number, null, missing, or ends in a new line is refused.
func TestCase034_RunIDForm(t *testing.T) {
	t.Parallel()
	for _, id := range []string{`5`, `null`, ``, `"` + runID + `\n"`, `["a"]`, `true`} {
		r := newRig(t, &pyService{submit: reply(status(queued, "run_id", id))})
		incomplete(t, r.score(t), scorer.InvalidRunID)
		require.Equal(t, []string{"GET /health", "POST /v1/runs"}, r.kinds())
	}
}

// One poll that breaks off, or answers 408, 429, 500 or 502, does not matter.
func TestCase038_PollFailsThenSuccess(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(http.ResponseWriter, *http.Request, int) bool{
		"drop": drop, "408": fail(408, ""), "429": fail(429, "slow"), "500": fail(500, "oops"), "502": fail(502, "<html>"), "503": fail(503, ""),
		"short": func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte(`{"run_id":`))
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, &pyService{poll: upTo(3, fault), statuses: []string{succeeded(3, 2)}})
			e := r.score(t)
			reasons(t, e)
			require.Equal(t, 4, r.polls())
			require.Zero(t, r.cancels())
			require.Len(t, r.log.with("WARN", "poll"), 3)
		})
	}
}

// Polls that fail all the time end the run after a budget, with a cancel; what cannot get
// better ends it at once.
func TestPollsFail(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		poll  func(http.ResponseWriter, *http.Request, int) bool
		polls int
	}{
		"500": {fail(500, "oops"), 10}, "drop": {drop, 10}, "400": {fail(400, ""), 1}, "401": {fail(401, ""), 1}, "403": {fail(403, ""), 1}, "302": {fail(302, ""), 1},
		"text": {reply("hello"), 1}, "list": {reply("[]"), 1}, "empty": {reply(""), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, &pyService{poll: c.poll})
			incomplete(t, r.score(t), scorer.PollFailed)
			require.Equal(t, c.polls, r.polls())
			require.Equal(t, 1, r.cancels())
		})
	}
}

// A 404 after the run was there is a run lost by a restarted service, without more polls.
func TestCase040_LostRun(t *testing.T) {
	t.Parallel()
	r := newRig(t, &pyService{statuses: []string{status("running")}, poll: func(w http.ResponseWriter, q *http.Request, n int) bool {
		return n > 2 && fail(404, "not found")(w, q, n)
	}})
	e := r.score(t)
	incomplete(t, e, scorer.RunLost)
	require.Contains(t, e.Reasons[0].Text, "restarted")
	require.Equal(t, 3, r.polls())
}

// A submission whose connection breaks after the body was sent is not sent again.
func TestCase041_SubmissionBreaks(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(http.ResponseWriter, *http.Request, int) bool{"drop": drop, "text": reply("hello"), "empty": reply("")} {
		r := newRig(t, &pyService{submit: fault})
		e := r.score(t)
		incomplete(t, e, scorer.SubmitUnclear)
		require.Len(t, r.submissions(), 1, name)
		require.Nil(t, e.RunID)
	}
	for _, code := range []int{400, 401, 408, 429, 500, 502, 503, 307} {
		r := newRig(t, &pyService{submit: fail(code, "no")})
		incomplete(t, r.score(t), scorer.SubmitFailed)
		require.Len(t, r.submissions(), 1, code)
	}
}

// Only a service that knows keys of submissions gets one again, under the same key and with
// the same bytes.
func TestIdempotentSubmission(t *testing.T) {
	t.Parallel()
	r := newRig(t, &pyService{capabilities: append(capable(), "swebench.idempotent_submit"), submit: upTo(2, drop), statuses: []string{succeeded(3, 2)}})
	reasons(t, r.score(t))
	sent := r.seen("POST", "/v1/runs")
	require.Len(t, sent, 3)
	require.Len(t, sent[0].header.Get("Idempotency-Key"), 36)
	for _, s := range sent {
		require.Equal(t, sent[0].header["Idempotency-Key"], s.header["Idempotency-Key"])
		require.Equal(t, string(sent[0].body), string(s.body))
	}
	reasons(t, r.score(t))
	require.NotEqual(t, sent[0].header["Idempotency-Key"], r.seen("POST", "/v1/runs")[3].header["Idempotency-Key"], "another run")

	r = newRig(t, &pyService{capabilities: append(capable(), "swebench.idempotent_submit"), submit: drop})
	incomplete(t, r.score(t), scorer.SubmitUnclear)
	require.Len(t, r.submissions(), 4)
	r = newRig(t, &pyService{capabilities: append(capable(), "swebench.idempotent_submit"), submit: fail(400, "no")})
	incomplete(t, r.score(t), scorer.SubmitFailed)
	require.Len(t, r.submissions(), 1)
}

// A status about another run ends the run that was submitted.
func TestRunIDMismatch(t *testing.T) {
	t.Parallel()
	r := newRig(t, &pyService{statuses: []string{status("running"), status("succeeded", "run_id", `"other"`)}})
	incomplete(t, r.score(t), scorer.RunIDMismatch)
	require.Equal(t, 1, r.cancels())
}

// Submission, polls, cancel and downloads all carry the token.
func TestCase044_TokenEverywhere(t *testing.T) {
	t.Parallel()
	r := newRig(t, &pyService{
		token: "tok-0123456789", artifacts: map[string]string{"preds.json": "{}"},
		statuses: []string{status("running"), status("failed", "artifacts", `[{"name":"preds.json","url":"/v1/runs/`+runID+`/artifacts/preds.json"}]`)},
	})
	r.score(t)
	r.poll = fail(403, "")
	r.score(t)
	require.Equal(t, 1, r.cancels())
	for _, q := range r.requests {
		require.Equal(t, []string{"Bearer tok-0123456789"}, q.header["Authorization"], q.path)
		require.NotContains(t, q.header, "X-Session-Id", "session headers go to the endpoint alone")
	}
	for _, line := range r.log.with("") {
		require.NotContains(t, line, "tok-0123456789")
	}
}

// Without a token no Authorization header is sent.
func TestCase010_NoAuthorization(t *testing.T) {
	t.Parallel()
	r := newRig(t, &pyService{statuses: []string{succeeded(3, 2)}})
	r.score(t)
	for _, q := range r.requests {
		require.NotContains(t, q.header, "Authorization")
	}
}

// Resolved 2 of 3, all submitted, is two thirds, complete, in one repeat.
func TestCase052_Score(t *testing.T) {
	t.Parallel()
	r := newRig(t, &pyService{statuses: []string{succeeded(3, 2)}})
	r.cfg.GroundTruth = "instance_id"
	e := r.score(t)
	reasons(t, e)
	require.InDelta(t, 2.0/3, *e.Score, 1e-12)
	data := must(json.Marshal(e))
	var got map[string]any
	require.NoError(t, json.Unmarshal(data, &got))
	for name, want := range map[string]any{
		"dataset_name": "swe_bench", "extractor": nil, "ground_truth_column": "instance_id", "unit_samples": 3.0, "total_samples": 3.0, "num_repeats": 1.0, "duration_s": 0.0,
		"complete": true, "dataset_type": "accuracy", "response_counts": map[string]any{"issued": 0.0, "completed": 0.0, "failed": 0.0}, "reasons": []any{},
		"session_headers": []any{"X-Session-ID"}, "run_id": runID, "submitted_instances": 3.0, "resolved_instances": 2.0,
	} {
		require.Equal(t, want, got[name], name)
	}
	require.NotContains(t, string(data), "routing")
}

// Submitted 2 of 3 and resolved 1 is one third, and incomplete.
func TestCase053_PredictionsMissing(t *testing.T) {
	t.Parallel()
	e := newRig(t, &pyService{statuses: []string{succeeded(2, 1)}}).score(t)
	reasons(t, e, scorer.PredictionsMissing)
	require.InDelta(t, 1.0/3, *e.Score, 1e-12)
}

// A counter that is a boolean, a float, negative, a padded text or missing has no score.
func TestCase055_BadCounters(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"true", "1.0", "-1", `" 1"`, `"+1"`, "null"} {
		r := newRig(t, &pyService{statuses: []string{status("succeeded", "result", `{"submitted_instances":3,"resolved_instances":`+bad+`}`)}})
		incomplete(t, r.score(t), scorer.CountersInvalid)
		require.Contains(t, r.file(t, "swe_bench_results.json"), bad, "the result is kept before it is judged")
	}
	r := newRig(t, &pyService{statuses: []string{status("succeeded", "result", `{"submitted_instances":"3","resolved_instances":"02"}`)}})
	require.InDelta(t, 2.0/3, *r.score(t).Score, 1e-12)
}

// More resolved than submitted, more submitted than asked for, and nothing submitted have no
// score.
func TestCase056_InconsistentCounters(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]int{{2, 3}, {4, 1}} {
		incomplete(t, newRig(t, &pyService{statuses: []string{succeeded(c[0], c[1])}}).score(t), scorer.CountersInconsistent)
	}
	incomplete(t, newRig(t, &pyService{statuses: []string{succeeded(0, 0)}}).score(t), scorer.NothingSubmitted)
}

// Without an inline result the run's own results file counts, and is copied to its place.
func TestCase058_ResultFromArtifact(t *testing.T) {
	t.Parallel()
	list := `[{"name":"swe_bench_results.json","url":"/v1/runs/` + runID + `/artifacts/swe_bench_results.json"}]`
	result := `{"resolved_instances": 2, "submitted_instances": 3, "x": 1.0}`
	r := newRig(t, &pyService{statuses: []string{status("succeeded", "artifacts", list)}, artifacts: map[string]string{"swe_bench_results.json": result}})
	e := r.score(t)
	reasons(t, e)
	require.InDelta(t, 2.0/3, *e.Score, 1e-12)
	require.Equal(t, result, r.file(t, "swe_bench_results.json"))
	require.Equal(t, result, r.file(t, "swe_bench_runs", runID, "swe_bench_results.json"))
	for _, bad := range []string{"[]", "", "{", "null"} {
		r := newRig(t, &pyService{statuses: []string{status("succeeded", "artifacts", list)}, artifacts: map[string]string{"swe_bench_results.json": bad}})
		incomplete(t, r.score(t), scorer.ResultInvalid)
		require.Empty(t, r.file(t, "swe_bench_results.json"))
	}
	for _, bad := range []string{"[]", `"x"`, "5", "false"} {
		r := newRig(t, &pyService{statuses: []string{status("succeeded", "result", bad, "artifacts", list)}, artifacts: map[string]string{"swe_bench_results.json": result}})
		incomplete(t, r.score(t), scorer.ResultInvalid)
	}
}

// Stale results of an older run and at the canonical path are not used, and the canonical
// file is gone.
func TestCase059_StaleResults(t *testing.T) {
	t.Parallel()
	stale := `{"submitted_instances":3,"resolved_instances":3}`
	for _, last := range []string{status("succeeded"), status("failed"), status("cancelled")} {
		r := newRig(t, &pyService{statuses: []string{last}})
		r.put(t, stale, "swe_bench_results.json")
		r.put(t, stale, "swe_bench_runs", "older", "swe_bench_results.json")
		r.put(t, stale, "swe_bench_runs", runID, "swe_bench_results.json")
		e := r.score(t)
		require.Nil(t, e.Score)
		require.Empty(t, r.file(t, "swe_bench_results.json"))
	}
}

// A failed run has no score; its last status is kept in the run's folder, and its error is
// the reason.
func TestCase061_Failed(t *testing.T) {
	t.Parallel()
	last := status("failed", "error", `"agent phase: exit code 3, key endpoint-key-0123456789"`)
	r := newRig(t, &pyService{statuses: []string{status("running"), last}})
	e := r.score(t)
	incomplete(t, e, scorer.RunFailed)
	require.Contains(t, e.Reasons[0].Text, "exit code 3, key <redacted>")
	require.Equal(t, strings.ReplaceAll(last, "endpoint-key-0123456789", "<redacted>"), r.file(t, "swe_bench_runs", runID, "swe_bench_service_status.json"))
	require.Zero(t, r.cancels())
	incomplete(t, newRig(t, &pyService{statuses: []string{status("cancelled")}}).score(t), scorer.RunCancelled)
}

// Errors of instances and patches that are all empty leave the score as it is, but it is
// incomplete for every reason that applies.
func TestCase062_FlaggedScore(t *testing.T) {
	t.Parallel()
	for result, codes := range map[string][]scorer.Code{
		`{"submitted_instances":3,"resolved_instances":1,"error_instances":1}`:                                           {scorer.InstanceErrors},
		`{"submitted_instances":3,"resolved_instances":0,"empty_patch_instances":3}`:                                     {scorer.AllPatchesEmpty},
		`{"submitted_instances":3,"resolved_instances":1,"empty_patch_instances":2}`:                                     nil,
		`{"submitted_instances":2,"resolved_instances":0,"empty_patch_instances":2,"error_instances":"1"}`:               {scorer.PredictionsMissing, scorer.InstanceErrors, scorer.AllPatchesEmpty},
		`{"submitted_instances":3,"resolved_instances":1,"infra_failure_instances":2,"error_instances":"many"}`:          {scorer.InfrastructureFailures},
		`{"submitted_instances":3,"resolved_instances":1,"error_ids":["a"],"infra_failure_ids":[],"empty_patch_ids":{}}`: {scorer.InstanceErrors},
		`{"submitted_instances":3,"resolved_instances":0,"empty_patch_ids":["a","b","c"],"infra_failure_ids":["a"]}`:     {scorer.AllPatchesEmpty, scorer.InfrastructureFailures},
	} {
		e := newRig(t, &pyService{statuses: []string{status("succeeded", "result", result)}}).score(t)
		require.NotNil(t, e.Score)
		reasons(t, e, codes...)
	}
}

// A failure of the infrastructure is told with what the result says of one, without secrets.
func TestInfrastructureFailureIsTold(t *testing.T) {
	t.Parallel()
	const result = `{"submitted_instances":3,"resolved_instances":1,"infra_failure_ids":["b","a"],"failure_reasons":{"a":"no route,\n key endpoint-key-0123456789"}}`
	e := newRig(t, &pyService{statuses: []string{status("succeeded", "result", result)}}).score(t)
	require.Equal(t, "2 instances failed for reasons of infrastructure (infra_failure_instances), such as a: no route, key <redacted>", e.Reasons[0].Text)
	for _, odd := range []string{`"failure_reasons":["a"]`, `"failure_reasons":{"b":7}`, `"failure_reasons":null`} {
		e = newRig(t, &pyService{statuses: []string{status("succeeded", "result", `{"submitted_instances":3,"resolved_instances":1,"infra_failure_ids":["b",5],`+odd+`}`)}}).score(t)
		require.Equal(t, "2 instances failed for reasons of infrastructure (infra_failure_instances)", e.Reasons[0].Text)
	}
}
