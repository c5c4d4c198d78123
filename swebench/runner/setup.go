package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"regexp"
	"regexp/syntax"
	"strings"
	"time"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/routing"
	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/agent"
	"github.com/homing-go/homing/swebench/dataset"
	"github.com/homing-go/homing/swebench/harness"
)

// A Setup is a run in the words of a command line.
type Setup struct {
	// Dataset is for [ParseSource]; Split, Filter and Slice are those of [dataset.Source].
	Dataset, Split, Filter, Slice string
	BaseURL, Model                string
	// APIKeyEnv names the environment variable that has the endpoint's key; "" means none.
	APIKeyEnv string
	// Headers are the names under which sessions travel: nil means X-Session-ID, one that is
	// empty means none. Preset names a carrier instead.
	Headers []string
	Preset  string
	// Params are for [ParseParams]; "" means those of the template.
	Params string
	// Templates are for [LoadTemplate], Sandbox and Harness one of SandboxNames and HarnessNames.
	Templates        []string
	Sandbox, Harness string
	Workers          int
	// MemoryMB and PIDs bound each sandbox, see [Place].
	MemoryMB, PIDs int
	// Run, Shard and Out are Run, Shard and Dir of [Config]. In a scheduler's job a part of a
	// run needs no name.
	Run, Shard, Out string
	// KeepSandboxes is that of [Config].
	KeepSandboxes bool
	Retry         model.Retry
	// Outage is that of [Endpoint]; 0 means 10 minutes, in which a server that is restarted has
	// loaded most models, and a negative one means not at all.
	Outage time.Duration
	Logger *slog.Logger
}

const defaultOutage = 10 * time.Minute

// Open makes the configuration of the run and the endpoint of its clients. It reads the
// dataset and starts nothing. Close the endpoint's connections when the run has ended. An
// error for which [IsUsage] holds is about what was asked for.
func (s Setup) Open(ctx context.Context) (Config, *Endpoint, error) {
	fail := func(err error) (Config, *Endpoint, error) { return Config{}, nil, err }
	headers, err := s.headers()
	if err != nil {
		return fail(err)
	}
	shard, err := ParseShard(s.Shard)
	if err != nil {
		return fail(err)
	}
	if shard.Of > 1 && s.Run == "" {
		s.Run = SchedulerRun(os.Getenv)
	}
	if shard.Of > 1 && s.Run == "" {
		return fail(&ConfigError{Field: "run", Reason: "a shard needs the name of the run that it is a part of, the same for all its parts"})
	}
	key := os.Getenv(s.APIKeyEnv)
	if s.APIKeyEnv != "" && key == "" {
		return fail(&ConfigError{Field: "api-key-env", Reason: fmt.Sprintf("the environment variable %s is empty", s.APIKeyEnv)})
	}
	template, err := LoadTemplate(s.Templates...)
	if err != nil {
		return fail(err)
	}
	var params *model.Params
	var extra map[string]json.RawMessage
	if s.Params != "" {
		params = new(model.Params)
		if *params, extra, err = ParseParams(json.RawMessage(s.Params)); err != nil {
			return fail(err)
		}
	}
	endpoint := &Endpoint{
		BaseURL: s.BaseURL, Model: s.Model, APIKey: key, Headers: headers, Preset: s.Preset, Template: template,
		Retry: s.Retry, Outage: cmp.Or(s.Outage, defaultOutage), Audit: new(routing.Audit), Logger: s.Logger,
	}
	if err := endpoint.Check(); err != nil {
		return fail(err)
	}
	if s.Out == "" {
		return fail(&ConfigError{Field: "out", Reason: "it is empty; name the output folder"})
	}
	source, err := s.source()
	if err != nil {
		return fail(err)
	}
	if s.MemoryMB < 0 || s.PIDs < 0 {
		return fail(&ConfigError{Field: "memory-mb or pids", Reason: "it is below 0; 0 means no limit"})
	}
	w, err := Place{Name: s.Sandbox, Base: SourceBase(source), MemoryBytes: int64(s.MemoryMB) << 20, PIDs: s.PIDs}.Open(s.Out)
	if err != nil {
		return fail(err)
	}
	evaluator, err := NewEvaluator(s.Harness, w, 0, s.APIKeyEnv)
	if err != nil {
		return fail(err)
	}
	if official, ok := evaluator.(harness.Official); ok {
		var missing *harness.InputError
		switch err := official.Check(ctx); {
		case errors.As(err, &missing):
			return fail(&ConfigError{Field: "harness", Reason: missing.Reason + " in SWEBENCH_HARNESS, or use native or none"})
		case err != nil:
			return fail(err)
		}
	}
	names, err := NamesFolder()
	if err != nil && s.Run != "" && s.Logger != nil {
		s.Logger.Warn("the name of the run is not remembered", "error", err)
	}
	rows, err := s.rows(ctx, source)
	if err == nil {
		err = gradable(s.Harness, rows)
	}
	if err != nil {
		return fail(err)
	}
	return Config{
		Rows: rows, Dir: s.Out, Model: s.Model, NewClient: endpoint.NewClient, Headers: endpoint.Names(), Audit: endpoint.Audit,
		Template: template, Params: params, Extra: extra, Runtime: w, Spec: w.Spec, Evaluator: evaluator, Run: s.Run, Shard: shard, Names: names, Workers: s.Workers,
		KeepSandboxes: s.KeepSandboxes, Logger: s.Logger,
	}, endpoint, nil
}

// rows reads the dataset.
func (s Setup) rows(ctx context.Context, source dataset.Source) ([]dataset.Row, error) {
	rows, err := dataset.Load(ctx, source)
	if err != nil || len(rows) > 0 || s.Filter+s.Slice == "" {
		return rows, err
	}
	source.Filter, source.Slice = "", ""
	all, err := dataset.Load(ctx, source)
	if err != nil || len(all) == 0 {
		return all, err
	}
	return nil, &ConfigError{Field: "filter and slice", Reason: fmt.Sprintf("-filter %q with -slice %q leaves none of the %d rows", s.Filter, s.Slice, len(all))}
}

// hubName is what a dataset is called on a hub.
var hubName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$`)

// headers checks the names.
func (s Setup) headers() ([]string, error) {
	if len(s.Headers) == 1 && s.Headers[0] == "" {
		return []string{}, nil
	}
	return swebench.HeaderNames(s.Headers)
}

func (s Setup) source() (dataset.Source, error) {
	source, err := ParseSource(s.Dataset)
	if err != nil {
		return source, err
	}
	source.Split, source.Filter, source.Slice = s.Split, s.Filter, s.Slice
	if source.Path != "" && !strings.Contains(source.Path, "{") {
		if _, err := os.Stat(source.Path); errors.Is(err, fs.ErrNotExist) {
			reason := fmt.Sprintf("there is no file or folder %q", source.Path)
			if hubName.MatchString(source.Path) {
				reason += "; a dataset on a hub is https://HUB/datasets/" + source.Path
			}
			return source, &ConfigError{Field: "dataset", Reason: reason}
		}
	}
	return source, nil
}

// IsUsage reports whether an error is about what was asked for: nothing was started.
func IsUsage(err error) bool {
	var own *ConfigError
	var template *agent.ConfigError
	var client *model.ConfigError
	var header *routing.HeaderError
	var rows *dataset.Error
	var pattern *syntax.Error
	if errors.As(err, &rows) { // else it is one of the disk or the network
		return rows.File != "" || rows.Err == nil || errors.As(err, &pattern)
	}
	return errors.As(err, &own) || errors.As(err, &template) || errors.As(err, &client) || errors.As(err, &header)
}

// ExitCode is what a command exits with for an error: 2 for one about what was asked for, 1
// for others, 0 for nil.
func ExitCode(err error) int {
	switch {
	case err == nil:
		return 0
	case IsUsage(err):
		return 2
	}
	return 1
}
