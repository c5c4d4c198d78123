package scorer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/homing-go/homing/swebench/service"
	"github.com/stretchr/testify/require"
)

const oldBody = `{"model_name":"m","endpoint_urls":["http://endpoint"],"endpoint_api_key":null,"generation_params":{},"subset":"verified","split":"test",` +
	`"num_instances":1,"workers":1,"max_eval_workers":1,"evaluated_instance_ids":["a"],"template":"default"}`

// capableBody is what a scorer sends that always has the field.
func capableBody(names []string) string {
	return strings.TrimSuffix(oldBody, "}") + `,"routing_headers":` + string(must(json.Marshal(names))) + "}"
}

// Any scorer meets any service: old and capable ones of the Python kind, and those of this
// project. What is on the wire is checked as bytes, and what a service makes of it where it
// is ours.
func TestMatrix(t *testing.T) {
	t.Parallel()
	standard, two, none := []string{"X-Session-ID"}, []string{"X-B", "x-a"}, []string{}
	for _, c := range []struct {
		scorer, service string
		names           []string
		field           string // on the wire; "" means absent
		status          int
		runner          []string // what the runner of our service gets
		warnings        int
	}{
		{"ours", "old", standard, "", 202, nil, 1},
		{"ours", "old", two, "", 202, nil, 1},
		{"ours", "old", none, "", 202, nil, 0},
		{"ours", "capable", standard, `["X-Session-ID"]`, 202, nil, 0},
		{"ours", "capable", two, `["X-B","x-a"]`, 202, nil, 0},
		{"ours", "capable", none, `[]`, 202, nil, 0},
		{"ours", "ours", standard, `["X-Session-ID"]`, 202, standard, 0},
		{"ours", "ours", two, `["X-B","x-a"]`, 202, two, 0},
		{"ours", "ours", none, `[]`, 202, none, 0},
		{"old", "ours", nil, "", 202, standard, 0},
		{"capable", "ours", standard, `["X-Session-ID"]`, 202, standard, 0},
		{"capable", "ours", two, `["X-B","x-a"]`, 202, two, 0},
		{"capable", "ours", none, `[]`, 202, none, 0},
		{"old", "old", nil, "", 202, nil, 0},
		{"old", "capable", nil, "", 202, nil, 0},
		{"capable", "old", standard, `["X-Session-ID"]`, 400, nil, 0}, // what the negotiation is for
		{"capable", "capable", none, `[]`, 202, nil, 0},
	} {
		t.Run(c.scorer+" scorer, "+c.service+" service, "+strings.Join(c.names, "+"), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, &pyService{capabilities: oldCapabilities(), statuses: []string{succeeded(3, 2)}})
			handler, jobs := http.Handler(r.pyService), make(chan service.Job, 1)
			switch c.service {
			case "capable":
				r.capabilities = capable()
			case "ours":
				s, err := service.New(service.Config{ArtifactRoot: t.TempDir(), AllowUnauthenticated: true, Runner: service.RunnerFunc(
					func(_ context.Context, job service.Job) (json.RawMessage, error) {
						jobs <- job
						return json.RawMessage(`{"submitted_instances":3,"resolved_instances":2}`), nil
					})})
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
				handler = s
			}
			var wire []byte
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					wire, _ = io.ReadAll(r.Body)
					r.Body = io.NopCloser(bytes.NewReader(wire))
				}
				handler.ServeHTTP(w, r)
			}))
			t.Cleanup(server.Close)
			if c.scorer == "ours" {
				r.cfg.ServiceURL, r.cfg.Request.RoutingHeaders = server.URL, c.names
				e := r.score(t)
				reasons(t, e)
				require.InDelta(t, 2.0/3, *e.Score, 1e-12)
				require.Equal(t, c.warnings == 1, e.Routing != nil)
			} else {
				body := oldBody
				if c.scorer == "capable" {
					body = capableBody(c.names)
				}
				res, err := http.Post(server.URL+"/v1/runs", "application/json", strings.NewReader(body))
				require.NoError(t, err)
				require.NoError(t, res.Body.Close())
				require.Equal(t, c.status, res.StatusCode)
			}
			require.Len(t, r.log.with("WARN", "routing"), c.warnings)
			require.Equal(t, c.field, field(t, string(wire)))
			if c.service == "ours" {
				require.Equal(t, c.runner, (<-jobs).Request.RoutingHeaders)
			}
		})
	}
}
