package scorer_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/scorer"
	"github.com/stretchr/testify/require"
)

// answers gives one text to submission and polls, and a fixed health.
type answers struct{ text string }

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	text := a.text
	if r.URL.Path == "/health" {
		text = `{"api_version":"v1","capabilities":["swebench.run","swebench.cancel","artifacts.download"]}`
	}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
}

// Whatever a service answers, scoring ends without a panic, a score is a fraction and nothing
// is complete without one.
func FuzzStatus(f *testing.F) {
	for _, s := range []string{
		succeeded(3, 2), status("failed", "error", `"x"`), status("succeeded", "run_id", `"../x"`), status("succeeded", "result", `{"submitted_instances":"3","resolved_instances":1e0}`),
		status("running", "agent_total", "1e400"), `{"run_id":"a","status":"succeeded","result":[]}`, `[]`, `{`, ``, status("cancelled", "artifacts", `{"preds.json":"/v1/runs/`+runID+`/artifacts/preds.json"}`),
	} {
		f.Add(s)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		s, err := scorer.New(scorer.Config{
			ServiceURL: "http://h", ReportDir: dir, Transport: answers{text}, PollInterval: time.Microsecond, Timeout: time.Millisecond, Progress: func(scorer.Progress) {},
			Request: swebench.RunRequest{ModelName: "m", EndpointURLs: []string{"http://e"}, Subset: "lite", Split: "test", NumInstances: 1, Workers: 1, MaxEvalWorkers: 1, EvaluatedInstanceIDs: []string{"a"}, Template: "default"},
		})
		require.NoError(t, err)
		e, err := s.Score(context.Background())
		require.NoError(t, err)
		require.Equal(t, e.Complete, len(e.Reasons) == 0)
		require.True(t, e.Score != nil || !e.Complete)
		if e.Score != nil {
			require.True(t, *e.Score >= 0 && *e.Score <= 1)
		}
		_, err = json.Marshal(e)
		require.NoError(t, err)
	})
}
