package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/routing"
	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/dataset"
	"github.com/homing-go/homing/swebench/harness"
	"github.com/homing-go/homing/swebench/internal/atomicfile"
	"github.com/homing-go/homing/swebench/phase"
	"github.com/homing-go/homing/swebench/service"
)

// A Jobs is a [service.Runner] that does the work of [Run] in this process: the agents and the
// evaluation of a submission, in the folder that the service has for it. It is safe for
// concurrent use and must not be changed after its first run.
//
// A run's ID is the name of the run, so its trajectories have sessions of their own. The key
// of the endpoint is in memory only.
type Jobs struct {
	// Source is where the rows are; a submission's subset and split choose among them.
	Source dataset.Source
	// Place is where sandboxes are, and Harness one of HarnessNames.
	Place   Place
	Harness string
	// Timeout bounds each of the two phases; 0 means no limit.
	Timeout time.Duration
	// Hide are the names of environment variables that child processes do not get.
	Hide []string
	// Retry is the policy of the agents' clients, and Outage that of [Setup].
	Retry  model.Retry
	Outage time.Duration
	// Change, if set, has the last word on the configuration of a run.
	Change func(*Config)
}

var (
	_ service.Runner  = (*Jobs)(nil)
	_ service.Sweeper = (*Jobs)(nil)
)

// Check tells whether what the fields name is there; it starts nothing.
func (s *Jobs) Check() error {
	w, err := s.Place.Open(os.TempDir())
	if err != nil {
		return err
	}
	_, err = NewEvaluator(s.Harness, w, 0)
	return err
}

// Run implements [service.Runner].
func (s *Jobs) Run(ctx context.Context, j service.Job) (result json.RawMessage, err error) {
	release := j.Hold() // commands in sandboxes are child processes
	defer release()
	if err := prepareFolder(j); err != nil {
		return nil, err
	}
	defer func() { // whatever came of the run; nobody will go on with it
		err = errors.Join(err, publish(j))
		_ = os.RemoveAll(j.Path(swebench.DirOutput, dirCheckouts)) // as much of it as can be
	}()
	log, err := newJobLog(j)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, log.close()) }()
	cfg, endpoint, err := s.config(ctx, j, log)
	if err != nil {
		return nil, err
	}
	defer endpoint.CloseIdleConnections()
	if err := sweepOver(ctx, cfg.Runtime, filepath.Dir(j.Dir), j.RunID); err != nil && ctx.Err() == nil {
		j.Warn("%v", err)
	}
	res, err := Run(ctx, cfg)
	log.conclude(res)
	if err != nil {
		return nil, err
	}
	if result, err = res.JSON(); err != nil {
		return nil, err
	}
	return result, atomicfile.Write(j.Path(swebench.FileResults), result)
}

// prepareFolder makes the output folder: an empty one, unless the run is resumed.
func prepareFolder(j service.Job) error {
	output := j.Path(swebench.DirOutput)
	if !j.Resume {
		if err := os.RemoveAll(output); err != nil {
			return err
		}
	}
	for _, stale := range []string{swebench.FileEvalRunID, swebench.FileResults} {
		if err := os.Remove(j.Path(stale)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return os.MkdirAll(output, 0o755) //nolint:gosec // operators read artifacts
}

// publish copies the predictions, as far as there are any, to where clients find them.
func publish(j service.Job) error {
	data, err := readFile(j.Path(swebench.DirOutput, swebench.FilePreds), harness.MaxPredictions)
	if err != nil || data == nil {
		return err
	}
	return atomicfile.Write(j.Path(swebench.FilePreds), data)
}

// config makes the configuration of a run.
func (s *Jobs) config(ctx context.Context, j service.Job, log *jobLog) (Config, *Endpoint, error) {
	fail := func(err error) (Config, *Endpoint, error) { return Config{}, nil, err }
	req := j.Request
	output := j.Path(swebench.DirOutput)
	rows, err := s.rows(ctx, req)
	if err == nil {
		err = gradable(s.Harness, rows)
	}
	if err != nil {
		return fail(err)
	}
	template, err := LoadTemplate(req.Template)
	if err != nil {
		return fail(err)
	}
	params, extra, err := ParseParams(req.GenerationParams)
	if err != nil {
		return fail(err)
	}
	base, err := phase.EndpointBase(req.EndpointURLs[0])
	if err != nil {
		return fail(err)
	}
	place := s.Place
	if place.Base == "" {
		place.Base = SourceBase(s.Source)
	}
	w, err := place.Open(output)
	if err != nil {
		return fail(err)
	}
	evaluator, err := NewEvaluator(s.Harness, w, req.MaxEvalWorkers, s.Hide...)
	if err != nil {
		return fail(err)
	}
	headers := req.RoutingHeaders
	if headers == nil {
		headers = swebench.DefaultHeaderNames()
	}
	endpoint := &Endpoint{
		BaseURL: base, APIKey: phase.EndpointKey(base, j.EndpointAPIKey), Model: req.ModelName, Headers: headers, Template: template,
		Direct: true, Retry: s.Retry, Outage: cmp.Or(s.Outage, defaultOutage), Audit: new(routing.Audit), Logger: slog.New(slog.DiscardHandler),
	}
	if err := endpoint.Check(); err != nil {
		return fail(err)
	}
	cfg := Config{
		Rows: rows, Dir: output, Model: req.ModelName, NewClient: endpoint.NewClient, Headers: headers, Audit: endpoint.Audit,
		Template: template, Params: &params, Extra: extra, Runtime: w, Spec: w.Spec, Labels: map[string]string{phase.RunLabel: j.RunID},
		Evaluator: evaluator, EvalLog: j.Path(swebench.FileEvalLog), Run: j.RunID, Workers: req.Workers,
		AgentTimeout: s.Timeout, EvalTimeout: s.Timeout, Redact: j.Redact, Logger: j.Logger, Progress: log.progress,
		Evaluating: func(evalRunID string) error {
			if err := log.publish(); err != nil {
				return err
			}
			if err := publish(j); err != nil {
				return err
			}
			return atomicfile.Write(j.Path(swebench.FileEvalRunID), []byte(evalRunID))
		},
	}
	if s.Change != nil {
		s.Change(&cfg)
	}
	return cfg, endpoint, nil
}

// rows are the instances that were asked for, in that order.
func (s *Jobs) rows(ctx context.Context, req swebench.RunRequest) ([]dataset.Row, error) {
	source := s.Source
	source.Subset, source.Split = req.Subset, req.Split
	all, err := dataset.Load(ctx, source)
	if err != nil {
		return nil, err
	}
	byID := map[string]dataset.Row{}
	for _, row := range all {
		byID[row.InstanceID] = row
	}
	var rows []dataset.Row
	var missing []string
	for _, id := range req.EvaluatedInstanceIDs {
		row, ok := byID[id]
		if !ok {
			missing = append(missing, id)
		} else if !slices.ContainsFunc(rows, func(r dataset.Row) bool { return r.InstanceID == id }) {
			rows = append(rows, row)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("the dataset has no instance for %d of %d IDs: %s", len(missing), len(req.EvaluatedInstanceIDs), named(missing))
	}
	return rows, nil
}
