package embed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/routing"
	"github.com/homing-go/homing/routing/routingtest"
	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/scorer"
	"github.com/homing-go/homing/swebench/service"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// An evaluation is what a tool of another make runs. It knows nothing of SWE-bench.
type evaluation struct {
	name, model string
	tasks       []string
}

// agents is the tool's own runner behind the service: it asks the model for each task in a
// trajectory of its own, under the header names that the scorer sent.
type agents struct {
	turns int
	audit *routing.Audit
}

func (a agents) Run(ctx context.Context, job service.Job) (json.RawMessage, error) {
	carrier, err := routing.Header(job.Request.RoutingHeaders...)
	if err != nil {
		return nil, err
	}
	client, err := model.New(model.Config{BaseURL: job.Request.EndpointURLs[0], Model: job.Request.ModelName, Carrier: carrier, Audit: a.audit})
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	var (
		group       sync.WaitGroup
		mu          sync.Mutex
		failed      error
		predictions = map[string]map[string]string{}
	)
	for _, id := range job.Request.EvaluatedInstanceIDs {
		group.Go(func() {
			trajectory := model.NewTrajectory(client, routing.NewSession(routing.Derive(job.RunID, id)), model.System("solve it"))
			var err error
			for turn := range a.turns {
				if _, err = trajectory.Send(ctx, model.User(fmt.Sprintf("%s, turn %d", id, turn))); err != nil {
					break
				}
			}
			mu.Lock()
			defer mu.Unlock()
			failed = errors.Join(failed, err)
			predictions[id] = map[string]string{"instance_id": id, "model_name_or_path": job.Request.ModelName, "model_patch": "diff"}
		})
	}
	group.Wait()
	if failed != nil {
		return nil, failed
	}
	text, err := json.Marshal(predictions)
	if err == nil {
		err = os.WriteFile(job.Path(swebench.FilePreds), text, 0o600)
	}
	return fmt.Appendf(nil, `{"submitted_instances": %d, "resolved_instances": %d}`, len(predictions), len(predictions)-1), err
}

// evaluate is the tool's loop: all evaluations go through one service, one after the other.
func evaluate(ctx context.Context, serviceURL, token, endpoint, folder string, evaluations []evaluation) (map[string]*scorer.Entry, error) {
	entries := map[string]*scorer.Entry{}
	for _, e := range evaluations {
		s, err := scorer.New(scorer.Config{
			ServiceURL: serviceURL, AuthToken: token, DatasetName: e.name, ReportDir: folder + "/" + e.name, PollInterval: 5 * time.Millisecond,
			Request: swebench.RunRequest{
				ModelName: e.model, EndpointURLs: []string{endpoint}, RoutingHeaders: []string{"X-Task"}, Subset: "lite", Split: "test", Template: "default",
				NumInstances: len(e.tasks), Workers: 4, MaxEvalWorkers: 1, EvaluatedInstanceIDs: e.tasks,
			},
		})
		if err != nil {
			return nil, err
		}
		if entries[e.name], err = s.Score(ctx); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// A foreign evaluation loop embeds the service's handler and the scorer, brings a runner of
// its own, and each of its tasks stays on one backend.
func TestScorerAndServiceInAForeignLoop(t *testing.T) {
	t.Parallel()
	cluster, err := routingtest.NewCluster(routingtest.ClusterConfig{Backends: 3, Policy: routingtest.ConsistentHash{Headers: []string{"X-Task"}}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Close()) })
	audit := new(routing.Audit)
	handler, err := service.New(service.Config{ArtifactRoot: t.TempDir(), AuthToken: "token", Runner: agents{turns: 4, audit: audit}})
	require.NoError(t, err)
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.Close()
		require.NoError(t, handler.Close(context.Background()))
	})
	folder := t.TempDir()
	entries, err := evaluate(t.Context(), server.URL, "token", cluster.URL(), folder, []evaluation{
		{name: "small", model: "routingtest", tasks: []string{"a__a-1", "a__a-2"}},
		{name: "large", model: "routingtest", tasks: strings.Fields("b__b-1 b__b-2 b__b-3 b__b-4 b__b-5 b__b-6 b__b-7 b__b-8")},
	})
	require.NoError(t, err)
	for name, want := range map[string]float64{"small": 0.5, "large": 7.0 / 8} {
		e := entries[name]
		require.True(t, e.Complete, e.Reasons)
		require.InDelta(t, want, *e.Score, 1e-9)
		require.FileExists(t, folder+"/"+name+"/swe_bench_runs/"+*e.RunID+"/"+swebench.FilePreds)
	}
	report := audit.Report()
	require.Equal(t, 40, report.Requests)
	require.Equal(t, 10, report.Sessions)
	require.Zero(t, report.Mismatches)
	require.Equal(t, 10, report.Stuck)
}
