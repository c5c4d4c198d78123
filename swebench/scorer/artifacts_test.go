package scorer_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const result = `{"submitted_instances":3,"resolved_instances":2}`

func own(name string) string { return "/v1/runs/" + runID + "/artifacts/" + name }

// list is a success whose artifacts are name, URL, name, URL ...
func list(pairs ...string) string {
	var members []string
	for i := 0; i < len(pairs); i += 2 {
		members = append(members, fmt.Sprintf(`{"name":%q,"url":%q}`, pairs[i], pairs[i+1]))
	}
	return status("succeeded", "result", result, "artifacts", "["+strings.Join(members, ",")+"]")
}

// downloads returns the paths of the artifacts that were asked for.
func (r *rig) downloads() []string {
	var paths []string
	for _, k := range r.kinds() {
		if strings.Contains(k, "/artifacts/") {
			paths = append(paths, strings.TrimPrefix(k, "GET /v1/runs/ID/artifacts/"))
		}
	}
	return paths
}

// A name outside of the allowlist is left out without a word.
func TestCase046_UnknownArtifact(t *testing.T) {
	t.Parallel()
	r := newRig(t, &pyService{statuses: []string{list("request.json", own("request.json"), "../x", own("../x"), "", own(""), "preds.json", "")}})
	reasons(t, r.score(t))
	require.Empty(t, r.downloads())
	require.Empty(t, r.log.with("WARN"))
}

// A URL that is not exactly the artifact's own is not asked for, with a warning.
func TestArtifactURLs(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"http://evil/v1/runs/" + runID + "/artifacts/preds.json", "//evil" + own("preds.json"), own("preds.json") + "?x=1", own("preds.json") + "#f", own("preds.json") + "?", own("preds.json") + ";p",
		"/v1/runs/other/artifacts/preds.json", own("status.json"), own("preds.json")[1:], own("./preds.json"), own("preds%2Ejson"), " " + own("preds.json"), "/v1/runs/" + runID + "/../" + runID + "/artifacts/preds.json",
	} {
		r := newRig(t, &pyService{statuses: []string{list("preds.json", url)}})
		reasons(t, r.score(t))
		require.Empty(t, r.downloads(), url)
		require.Len(t, r.log.with("WARN", "preds.json"), 1, url)
	}
}

// Artifacts as an object of names and URLs are fetched like those of a list.
func TestCase047_ArtifactObject(t *testing.T) {
	t.Parallel()
	last := status("succeeded", "result", result, "artifacts", fmt.Sprintf(`{"preds.json":%q,"x":%q,"status.json":5}`, own("preds.json"), own("x")))
	r := newRig(t, &pyService{statuses: []string{last}, artifacts: map[string]string{"preds.json": "P"}})
	r.score(t)
	require.Equal(t, []string{"preds.json"}, r.downloads())
	require.Equal(t, "P", r.file(t, "swe_bench_runs", runID, "preds.json"))
	for _, odd := range []string{`"x"`, `5`, `null`, `["a",5,null,[]]`} {
		reasons(t, newRig(t, &pyService{statuses: []string{status("succeeded", "result", result, "artifacts", odd)}}).score(t))
	}
}

// A download goes into the run's own folder in bounded pieces, and nothing is left beside it.
func TestCase049_Download(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("0123456789abcdef", 3<<16) // 3 MiB
	r := newRig(t, &pyService{
		statuses:  []string{list("swe_bench_agent.log", own("swe_bench_agent.log"), "preds.json", own("preds.json"))},
		artifacts: map[string]string{"swe_bench_agent.log": big, "preds.json": "{}"},
	})
	reasons(t, r.score(t))
	require.Equal(t, big, r.file(t, "swe_bench_runs", runID, "swe_bench_agent.log"))
	require.Equal(t, []string{"swe_bench_results.json", "swe_bench_runs/ID/preds.json", "swe_bench_runs/ID/swe_bench_agent.log", "swe_bench_runs/ID/swe_bench_service_status.json"}, r.files(t))
	require.Equal(t, []string{"application/octet-stream"}, r.seen("GET", own("preds.json"))[0].header["Accept"])
}

// A download that fails is a warning: the old file stays, no piece is left, the others come.
func TestDownloadFails(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(http.ResponseWriter, *http.Request, int) bool{
		"404": fail(404, "gone"), "500": fail(500, "oops"), "redirect": fail(302, ""), "drop": drop,
		"short": func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "new")
			return true
		},
		"large": reply(strings.Repeat("x", 2000)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &pyService{statuses: []string{list("preds.json", own("preds.json"), "status.json", own("status.json"))}, artifacts: map[string]string{"status.json": "S"}}
			s.artifact = func(w http.ResponseWriter, q *http.Request, n int) bool {
				return strings.HasSuffix(q.URL.Path, "preds.json") && fault(w, q, n)
			}
			r := newRig(t, s)
			r.cfg.MaxArtifactBytes = 1000
			r.put(t, "old", "swe_bench_runs", runID, "preds.json")
			reasons(t, r.score(t))
			require.Equal(t, "old", r.file(t, "swe_bench_runs", runID, "preds.json"))
			require.Equal(t, "S", r.file(t, "swe_bench_runs", runID, "status.json"))
			require.Empty(t, r.file(t, "swe_bench_runs", runID, "preds.json.tmp"))
			require.Len(t, r.log.with("WARN", "preds.json"), 1)
		})
	}
}

// Artifacts of failed and cancelled runs are fetched before the incomplete entry comes.
func TestCase050_ArtifactsOfFailedRuns(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"failed", "cancelled"} {
		last := status(state, "artifacts", fmt.Sprintf(`[{"name":"swe_bench_agent.log","url":%q}]`, own("swe_bench_agent.log")))
		r := newRig(t, &pyService{statuses: []string{last}, artifacts: map[string]string{"swe_bench_agent.log": "why"}})
		require.False(t, r.score(t).Complete)
		require.Equal(t, "why", r.file(t, "swe_bench_runs", runID, "swe_bench_agent.log"))
	}
}
