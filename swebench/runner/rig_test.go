package runner_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/homing-go/homing/internal/need"
	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/qwen"
	"github.com/homing-go/homing/routing"
	"github.com/homing-go/homing/routing/routingtest"
	"github.com/homing-go/homing/swebench/agent"
	"github.com/homing-go/homing/swebench/dataset"
	"github.com/homing-go/homing/swebench/harness"
	"github.com/homing-go/homing/swebench/runner"
	"github.com/homing-go/homing/swebench/runner/runnertest"
	"github.com/homing-go/homing/swebench/sandbox"
	"github.com/stretchr/testify/require"
)

const apiKey = "sk-the-endpoint-key-1234"

// A world is a dataset, a scripted model behind a router with three backends, and folders.
type world struct {
	testing.TB
	set     runnertest.Set
	rows    []dataset.Row
	cluster *routingtest.Cluster
	dir     string
	places  *places
}

func newWorld(t testing.TB, n int, changes ...func(*routingtest.ClusterConfig)) *world {
	t.Helper()
	need.Programs(t, "git", "sh", "cp")
	tasks := runnertest.Tasks()[:n]
	w := &world{TB: t, dir: t.TempDir()}
	var err error
	w.set, err = runnertest.Write(filepath.Join(w.dir, "data"), tasks...)
	require.NoError(t, err)
	w.rows, err = dataset.Load(t.Context(), dataset.Source{Path: w.set.Dataset})
	require.NoError(t, err)
	cfg := routingtest.ClusterConfig{Backends: 3, Backend: routingtest.BackendConfig{Reply: runnertest.Model(tasks...), Record: 1000}}
	for _, change := range changes {
		change(&cfg)
	}
	w.cluster, err = routingtest.NewCluster(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.cluster.Close()) })
	w.places = newPlaces(filepath.Join(w.dir, "places"))
	return w
}

// endpoint is that of the world's router.
func (w *world) endpoint(template agent.Template) *runner.Endpoint {
	e := &runner.Endpoint{
		BaseURL: w.cluster.URL(), Model: "org/tiny", APIKey: apiKey, Template: template, Audit: new(routing.Audit),
		Retry: model.Retry{Max: 2, MinWait: time.Millisecond, MaxWait: 2 * time.Millisecond},
	}
	w.Cleanup(e.CloseIdleConnections)
	return e
}

// config is a run without grading.
func (w *world) config() runner.Config {
	e := w.endpoint(agent.QwenTools())
	return runner.Config{
		Rows: w.rows, Dir: filepath.Join(w.dir, "out"), Model: "org/tiny", NewClient: e.NewClient, Headers: e.Names(), Audit: e.Audit,
		Template: e.Template, Runtime: w.places, Spec: w.places.spec, Workers: 3, Stagger: -1,
	}
}

func (w *world) run(cfg runner.Config) runner.Result {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	res, err := runner.Run(ctx, cfg)
	require.NoError(w, err)
	return res
}

// sessions are the values of a header by instance, in the order of the requests.
func (w *world) sessions(header string) map[string][]string {
	all := map[string][]string{}
	for _, b := range w.cluster.Backends() {
		for _, r := range b.Records() {
			for _, t := range w.set.Tasks {
				if strings.Contains(string(r.Body), t.Problem) {
					all[t.ID] = append(all[t.ID], strings.Join(r.Header.Values(header), ","))
				}
			}
		}
	}
	return all
}

func (w *world) predictions(dir string) map[string]harness.Prediction {
	w.Helper()
	p, err := harness.ReadPredictions(filepath.Join(dir, "preds.json"))
	require.NoError(w, err)
	return p
}

// places are sandboxes of the tests: copies of the repositories, in which commands run
// without any isolation. Faults can be ordered.
type places struct {
	dir string

	mu      sync.Mutex
	started []sandbox.Spec
	live    map[string]sandbox.Spec
	// start, if set, decides on the n-th start; command sees every command.
	start   func(n int, spec sandbox.Spec) error
	command func(ctx context.Context, id string, cmd qwen.Command) error
	prepare func(images []string) error
}

func newPlaces(dir string) *places { return &places{dir: dir, live: map[string]sandbox.Spec{}} }

func (p *places) spec(_ context.Context, row dataset.Row) (sandbox.Spec, error) {
	return sandbox.Spec{Image: dataset.ImageFor(row, ""), Root: row.Repo}, nil
}

func (p *places) Prepare(_ context.Context, images ...string) error {
	if p.prepare != nil {
		return p.prepare(images)
	}
	return nil
}

func (p *places) Start(_ context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started = append(p.started, spec)
	if p.start != nil {
		if err := p.start(len(p.started), spec); err != nil {
			return nil, err
		}
	}
	id := fmt.Sprintf("place-%d", len(p.started))
	if err := os.CopyFS(filepath.Join(p.dir, id), os.DirFS(spec.Root)); err != nil {
		return nil, &sandbox.StartError{Image: spec.Image, Err: err}
	}
	p.live[id] = spec
	return &spot{places: p, id: id}, nil
}

func (p *places) Attach(_ context.Context, id string) (sandbox.Sandbox, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.live[id]; !ok {
		return nil, fmt.Errorf("%s: %w", id, sandbox.ErrGone)
	}
	return &spot{places: p, id: id}, nil
}

func (p *places) List(_ context.Context, labels map[string]string) (all []sandbox.Info, _ error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, spec := range p.live {
		has := true
		for k, v := range labels {
			has = has && spec.Labels[k] == v
		}
		if has {
			all = append(all, sandbox.Info{ID: id, Labels: spec.Labels, Running: true})
		}
	}
	return all, nil
}

func (p *places) Remove(_ context.Context, ids ...string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range ids {
		delete(p.live, id)
	}
	return nil
}

func (p *places) left() map[string]sandbox.Spec {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.live)
}

// A spot is one of the places.
type spot struct {
	*places
	id string
}

func (s *spot) ID() string  { return s.id }
func (s *spot) Dir() string { return filepath.Join(s.dir, s.id) }

func (s *spot) Run(ctx context.Context, cmd qwen.Command) (qwen.Output, error) {
	s.mu.Lock()
	_, alive := s.live[s.id]
	s.mu.Unlock()
	if !alive {
		return qwen.Output{}, fmt.Errorf("%s: %w", s.id, sandbox.ErrGone)
	}
	if s.command != nil {
		if err := s.command(ctx, s.id, cmd); err != nil {
			return qwen.Output{}, err
		}
	}
	if cmd.Dir == "" {
		cmd.Dir = s.Dir()
	}
	return qwen.Local{}.Run(ctx, cmd)
}

func (s *spot) CopyIn(context.Context, string, io.Reader, fs.FileMode) error {
	return errors.ErrUnsupported
}

func (s *spot) CopyOut(context.Context, string) (io.ReadCloser, error) {
	return nil, errors.ErrUnsupported
}
func (s *spot) Stop(ctx context.Context) error { return s.Remove(ctx, s.id) }

// judge is an evaluator that looks whether the patch has the right edit.
type judge struct{ tasks []runnertest.Task }

func (j judge) Evaluate(_ context.Context, predictions map[string]harness.Prediction, run harness.Run) (harness.Report, error) {
	r := harness.Report{TotalInstances: len(run.Rows)}
	for _, t := range j.tasks {
		p, ok := predictions[t.ID]
		if !ok {
			r.IncompleteIDs = append(r.IncompleteIDs, t.ID)
			continue
		}
		r.SubmittedIDs = append(r.SubmittedIDs, t.ID)
		switch {
		case p.Patch == "":
			r.EmptyPatchIDs = append(r.EmptyPatchIDs, t.ID)
		case t.Solved:
			r.ResolvedIDs = append(r.ResolvedIDs, t.ID)
		default:
			r.UnresolvedIDs = append(r.UnresolvedIDs, t.ID)
		}
	}
	r.SubmittedInstances, r.ResolvedInstances, r.UnresolvedInstances, r.EmptyPatchInstances = len(r.SubmittedIDs), len(r.ResolvedIDs), len(r.UnresolvedIDs), len(r.EmptyPatchIDs)
	r.CompletedInstances = r.ResolvedInstances + r.UnresolvedInstances
	return r, nil
}
