package scorer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/scorer"
	"github.com/homing-go/homing/swebench/service"
	"github.com/stretchr/testify/require"
)

// The service of this project gets what it can read, for the default, two names, and none, and
// hands it to its runner.
func TestNegotiationWithOwnService(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		names, want []string
		field       string
	}{
		"default": {nil, []string{"X-Session-ID"}, `["X-Session-ID"]`},
		"two":     {[]string{"X-B", "x-a"}, []string{"X-B", "x-a"}, `["X-B","x-a"]`},
		"none":    {[]string{}, []string{}, `[]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			jobs := make(chan service.Job, 1)
			s, err := service.New(service.Config{
				ArtifactRoot: t.TempDir(), AuthToken: "tok-0123456789",
				Runner: service.RunnerFunc(func(_ context.Context, job service.Job) (json.RawMessage, error) {
					jobs <- job
					return json.RawMessage(`{"submitted_instances":3,"resolved_instances":2}`), nil
				}),
			})
			require.NoError(t, err)
			var body []byte
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					body, _ = io.ReadAll(r.Body)
					r.Body = io.NopCloser(bytes.NewReader(body))
				}
				s.ServeHTTP(w, r)
			}))
			defer func() {
				server.Close()
				require.NoError(t, s.Close(context.Background()))
			}()
			r := &rig{log: new(lines), cfg: scorer.Config{
				ServiceURL: server.URL, AuthToken: "tok-0123456789", ReportDir: t.TempDir(), PollInterval: time.Millisecond,
				Request: swebench.RunRequest{
					ModelName: "m", EndpointURLs: []string{"http://endpoint"}, RoutingHeaders: c.names, Subset: "verified", Split: "test",
					NumInstances: 3, Workers: 1, MaxEvalWorkers: 1, EvaluatedInstanceIDs: []string{"a", "b", "c"}, Template: "default",
				},
			}}
			e := r.score(t)
			reasons(t, e)
			require.InDelta(t, 2.0/3, *e.Score, 1e-12)
			require.Nil(t, e.Routing)
			require.Equal(t, c.field, field(t, string(body)))
			require.Equal(t, c.want, (<-jobs).Request.RoutingHeaders)
		})
	}
}
