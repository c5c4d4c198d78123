package scorer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/config"
)

// A Benchmark scores the accuracy datasets of a configuration that the SWE-bench service
// scores, one after the other.
type Benchmark struct {
	Config *config.Config
	// Mode is "" for [config.ModeAcc]. In [config.ModePerf] nothing is loaded, checked, asked
	// or scored.
	Mode config.Mode
	// Dataset is a file for [ReadRows]; "" means the path that a dataset has in the
	// configuration. Rows replaces both.
	Dataset string
	Rows    func(ctx context.Context, d config.Dataset, subset, split string) ([]Row, error)

	ReportDir        string
	MaxArtifactBytes int64
	Transport        http.RoundTripper
	Logger           *slog.Logger
	Progress         func(Progress)
}

// Run checks the options of all datasets, loads their rows, asks for the health of their
// services, and scores them. It writes the redacted configuration and the entries into the
// report folder. Entries come back even with an error, if anything was submitted.
func (b Benchmark) Run(ctx context.Context) ([]*Entry, error) {
	if b.ReportDir == "" {
		return nil, &SetupError{Op: "report folder", Reason: "it is missing; name a folder"}
	}
	if b.Logger == nil {
		b.Logger = slog.New(slog.DiscardHandler)
	}
	scored := b.Config.Scored(b.Mode)
	if len(scored) == 0 && b.Mode != config.ModePerf {
		return nil, &SetupError{Op: "configuration", Reason: "no accuracy dataset has the eval_method " + config.ScorerMethod}
	}
	var scorers []*Scorer
	for _, d := range scored {
		s, err := b.scorer(ctx, d)
		if err != nil {
			return nil, err
		}
		scorers = append(scorers, s)
	}
	text, err := b.Config.Redacted()
	if err == nil {
		err = writeAtomic(filepath.Join(b.ReportDir, FileConfig), text)
	}
	if err != nil {
		return nil, &SetupError{Op: "report folder", Reason: err.Error()}
	}
	for _, s := range scorers {
		if len(s.cfg.Request.EvaluatedInstanceIDs) == 0 {
			continue // nothing will be submitted
		}
		if err := s.Preflight(ctx); err != nil {
			return nil, err
		}
	}
	return b.score(ctx, scorers)
}

func (b Benchmark) score(ctx context.Context, scorers []*Scorer) ([]*Entry, error) {
	var entries []*Entry
	for _, s := range scorers {
		e, err := s.Score(ctx)
		if e != nil {
			entries = append(entries, e)
			data, encodeErr := json.MarshalIndent(map[string]any{"accuracy_scores": entries}, "", "  ")
			if encodeErr == nil {
				encodeErr = writeAtomic(filepath.Join(b.ReportDir, FileReport), append(data, '\n'))
			}
			if encodeErr != nil {
				s.giveUp(e, Reason{FileFailed, "the report could not be written: " + encodeErr.Error()})
			}
		}
		if err != nil {
			return entries, err
		}
	}
	return entries, nil
}

func (b Benchmark) scorer(ctx context.Context, d config.Dataset) (*Scorer, error) {
	o, err := b.Config.Options(d)
	if err != nil {
		return nil, err
	}
	if err := b.knowsDataset(d.Name); err != nil {
		return nil, err
	}
	rows, err := b.rows(ctx, d, o)
	if err != nil {
		return nil, err
	}
	n := o.NumInstances
	if n > len(rows) {
		b.Logger.Warn("there are fewer rows than num_instances; all of them are evaluated", "dataset", d.Name, "num_instances", n, "rows", len(rows))
		n = len(rows)
	}
	request := swebench.RunRequest{
		ModelName: d.Model.Name, EndpointURLs: b.Config.Endpoint.URLs, RoutingHeaders: b.Config.RoutingHeaders,
		GenerationParams: d.Model.GenerationParams(), Subset: o.Subset, Split: o.Split,
		NumInstances: n, Workers: o.Workers, MaxEvalWorkers: o.MaxEvalWorkers, Template: o.Template,
	}
	if key := b.Config.Endpoint.APIKey; key != "" {
		request.EndpointAPIKey = &key
	}
	for _, r := range rows[:n] {
		request.EvaluatedInstanceIDs = append(request.EvaluatedInstanceIDs, r.InstanceID)
	}
	if d.Model.Name == "" {
		return nil, &config.Error{Dataset: d.Name, Key: "model_params.name", Reason: "it is missing; name the model as the endpoint knows it"}
	}
	return New(Config{
		ServiceURL: o.ServiceURL, AuthToken: o.AuthToken, Request: request, DatasetName: d.Name, GroundTruth: d.GroundTruth,
		ReportDir: b.ReportDir, Timeout: o.Timeout, PollInterval: o.PollInterval, MaxArtifactBytes: b.MaxArtifactBytes,
		Transport: b.Transport, Logger: b.Logger, Progress: b.Progress,
	})
}

func (b Benchmark) rows(ctx context.Context, d config.Dataset, o config.Options) ([]Row, error) {
	if b.Rows != nil {
		return b.Rows(ctx, d, o.Subset, o.Split)
	}
	file := b.Dataset
	if file == "" {
		file = d.Path
	}
	if file == "" {
		return nil, &config.Error{Dataset: d.Name, Key: "path", Reason: "there is no file with its rows; set -dataset or path"}
	}
	return ReadRows(ctx, file, d.GroundTruth, o.Subset, o.Split)
}

// knowsDataset checks the map of samples that a benchmark leaves in its report folder.
func (b Benchmark) knowsDataset(name string) error {
	const file = "sample_idx_map.json"
	f, err := os.Open(filepath.Join(b.ReportDir, file))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &SetupError{Op: "report folder", Reason: err.Error()}
	}
	defer f.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(io.LimitReader(f, maxDataset))
	if err != nil {
		return &SetupError{Op: "report folder", Reason: err.Error()}
	}
	if rawjson.Valid(data) != nil || rawjson.Get(data, name) == nil {
		return &SetupError{Op: "report folder", Reason: fmt.Sprintf("%s has no entry for the dataset %q; it is of another benchmark", file, name)}
	}
	return nil
}
