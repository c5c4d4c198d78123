package swebench_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/homing-go/homing/swebench"
	"github.com/stretchr/testify/require"
)

func TestHealth(t *testing.T) {
	t.Parallel()
	h, err := swebench.ParseHealth([]byte(`{"status":5,"api_version":"v1","capabilities":["swebench.run","x"],"more":{}}`))
	require.NoError(t, err)
	require.True(t, h.Has(swebench.CapRun))
	require.Equal(t, []string{swebench.CapArtifacts, swebench.CapCancel}, h.Missing(swebench.CapRun, swebench.CapCancel, swebench.CapArtifacts))
	require.Nil(t, h.Missing(swebench.CapRun))
	again, err := json.Marshal(h)
	require.NoError(t, err)
	require.JSONEq(t, `{"api_version":"v1","capabilities":["swebench.run","x"],"status":""}`, string(again))
}

// A health of another version fails naming both versions.
func TestCase020_HealthVersion(t *testing.T) {
	t.Parallel()
	for _, version := range []string{`"v2"`, `"v1 "`, `1`, `null`, `"V1"`} {
		_, err := swebench.ParseHealth([]byte(`{"api_version":` + version + `,"capabilities":5}`))
		var fault *swebench.HealthError
		require.ErrorAs(t, err, &fault)
		require.Contains(t, err.Error(), version)
		require.Contains(t, err.Error(), `"v1"`)
	}
	_, err := swebench.ParseHealth([]byte(`{}`))
	require.ErrorContains(t, err, "api_version is missing")
}

// Capabilities that are null, a string, or hold something else than strings are a typed
// error, and so is a body that is no object.
func TestCase023_HealthCapabilities(t *testing.T) {
	t.Parallel()
	for _, c := range []string{`null`, `"swebench.run"`, `[1]`, `["a",null]`, `[["a"]]`, `{}`, `true`} {
		_, err := swebench.ParseHealth([]byte(`{"api_version":"v1","capabilities":` + c + `}`))
		var fault *swebench.HealthError
		require.ErrorAs(t, err, &fault, c)
		require.Contains(t, err.Error(), "capabilit")
	}
	for _, data := range []string{``, `null`, `[]`, `{`, `"v1"`, "\xff", `{"api_version":"v1"}`, `{} {}`} {
		_, err := swebench.ParseHealth([]byte(data))
		var fault *swebench.HealthError
		require.ErrorAs(t, err, &fault, data)
	}
}

func TestStatusHasEveryKey(t *testing.T) {
	t.Parallel()
	got, err := swebench.RunStatus{RunID: "a<b", Status: swebench.StateQueued, CreatedAt: 1.5, Phase: swebench.PhaseQueued, AgentTotal: 3}.MarshalJSON()
	require.NoError(t, err)
	require.Equal(t, `{"run_id":"a<b","status":"queued","created_at":1.5,"updated_at":0,"finished_at":null,"phase":"queued","agent_total":3,`+
		`"agent_completed":0,"eval_total":0,"eval_completed":0,"message":null,"error":null,"result":null,"artifacts":[]}`, string(got))
	var again swebench.RunStatus
	require.NoError(t, json.Unmarshal(got, &again))
	require.Equal(t, "a<b", again.RunID)

	text, finished := "m", 2.25
	got, err = json.Marshal(&swebench.RunStatus{Message: &text, Error: &text, FinishedAt: &finished, Result: json.RawMessage(`{"z":1,"a":1.0}`), Artifacts: []swebench.Artifact{{Name: "n", URL: "u"}}})
	require.NoError(t, err)
	require.Contains(t, string(got), `"message":"m","error":"m","result":{"z":1,"a":1.0},"artifacts":[{"name":"n","url":"u"}]}`)
	require.True(t, swebench.StateCancelled.Terminal())
	require.False(t, swebench.StateRunning.Terminal())
	require.False(t, swebench.State("done").Terminal())
}

func TestStatusRead(t *testing.T) {
	t.Parallel()
	v, err := swebench.ParseStatus([]byte(`{"run_id":"x","run_id":"r","status":"running","phase":"eval","agent_total":"5","agent_completed":4.9,"eval_total":true,
		"eval_completed":-1,"message":"m","error":null,"result":{"a":1},"new":[],"artifacts":[{"name":"a","url":"u"},5,{"name":"b"},{"name":1,"url":"u"},{"name":"c","url":"v","more":1}]}`))
	require.NoError(t, err)
	require.Equal(t, "r", v.RunID)
	require.Equal(t, swebench.StateRunning, v.Status)
	require.Equal(t, "m", v.Message)
	require.Empty(t, v.Error)
	require.Equal(t, `{"a":1}`, string(v.Result))
	require.Equal(t, []swebench.Artifact{{Name: "a", URL: "u"}, {Name: "c", URL: "v"}}, v.Artifacts)
	p := v.Progress
	require.True(t, p.Known())
	require.Equal(t, []int{5, 4, 1}, []int{*p.AgentTotal, *p.AgentCompleted, *p.EvalTotal})
	require.Nil(t, p.EvalCompleted)

	v, err = swebench.ParseStatus([]byte(`{"run_id":5,"status":null,"phase":{},"result":null,"artifacts":"x","agent_total":"x"}`))
	require.NoError(t, err)
	require.Empty(t, v.RunID+string(v.Status))
	require.Nil(t, v.Result)
	require.Nil(t, v.Artifacts)
	require.False(t, v.Progress.Known())
	for _, data := range []string{``, `[]`, `null`, `{`, `{}x`} {
		_, err := swebench.ParseStatus([]byte(data))
		var fault *swebench.StatusError
		require.ErrorAs(t, err, &fault, data)
	}
}

// Artifacts given as an object of names and URLs are read like the list.
func TestCase047_ArtifactsAsObject(t *testing.T) {
	t.Parallel()
	v, err := swebench.ParseStatus([]byte(`{"artifacts":{"b":"u","a\u0022":"v","c":5}}`))
	require.NoError(t, err)
	require.Equal(t, []swebench.Artifact{{Name: "b", URL: "u"}, {Name: `a"`, URL: "v"}}, v.Artifacts)
}

// A counter that is a boolean, a float, negative, a padded or signed string, or missing is
// refused.
func TestCase055_Counters(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"true", "false", "1.0", "1e0", "-1", `" 1"`, `"1 "`, `"+1"`, `"-1"`, `""`, `"1.0"`, `"x"`, "null", "[]", "{}", "2147483648", `"\u0661"`} {
		for _, result := range []string{`{"submitted_instances":` + bad + `,"resolved_instances":1}`, `{"submitted_instances":1,"resolved_instances":` + bad + `}`} {
			_, err := swebench.ParseCounters([]byte(result))
			var fault *swebench.CounterError
			require.ErrorAs(t, err, &fault, result)
		}
	}
	for _, result := range []string{``, `null`, `[]`, `{}`, `{"submitted_instances":1}`, `{"Submitted_instances":1,"resolved_instances":1}`} {
		_, err := swebench.ParseCounters([]byte(result))
		require.Error(t, err, result)
	}
	c, err := swebench.ParseCounters([]byte(`{"submitted_instances":"007","resolved_instances":0,"x":1.5}`))
	require.NoError(t, err)
	require.Equal(t, swebench.Counters{Submitted: 7}, c)
}

func TestPathsAndIDs(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"a", "A-b_0", strings.Repeat("f", 32)} {
		require.True(t, swebench.ValidRunID(id), id)
	}
	for _, id := range []string{"", "../x", "a\n", "a/b", "é", "a.b", "a b", "a%2Fb", strings.Repeat("f", 201)} {
		require.False(t, swebench.ValidRunID(id), id)
	}
	require.Equal(t, "/v1/runs/r/artifacts/preds.json", swebench.ArtifactPath("r", swebench.FilePreds))
	require.True(t, swebench.IsArtifact("status.json"))
	require.False(t, swebench.IsArtifact("request.json"))
	require.Equal(t, [5]string{"preds.json", "swe_bench_agent.log", "swe_bench_eval.log", "swe_bench_results.json", "status.json"}, swebench.ArtifactNames())
}
