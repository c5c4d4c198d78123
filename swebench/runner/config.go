package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/routing"
	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/agent"
	"github.com/homing-go/homing/swebench/dataset"
	"github.com/homing-go/homing/swebench/harness"
	"github.com/homing-go/homing/swebench/redact"
	"github.com/homing-go/homing/swebench/sandbox"
)

// Config says what is run. Rows, Dir, Model, NewClient and Runtime are required, and what
// else is zero works. It is copied, and nothing that it refers to is changed.
type Config struct {
	Rows []dataset.Row
	// Dir is the output folder. It is made if it is missing, and one that has a run goes on
	// with it. One process at a time uses it.
	Dir string

	// Model is the name of the model as it is asked for; predictions carry it.
	Model string
	// NewClient makes the client of one execution of a trajectory; [Endpoint.NewClient] does.
	// Clients that are [io.Closer] or have CloseIdleConnections are not closed by a run.
	NewClient func() (model.Client, error)
	// Headers are the names under which sessions travel, for the trajectory files.
	Headers []string
	// Audit, if the clients have one, puts its counts into the result.
	Audit *routing.Audit

	// Template, Limits, Params, Extra, Stream, MarkerEnds and Cost are those of [agent.Config].
	Template   agent.Template
	Limits     agent.Limits
	Params     *model.Params
	Extra      map[string]json.RawMessage
	Stream     bool
	MarkerEnds bool
	Cost       func(*model.Response) float64

	Runtime sandbox.Runtime
	// Spec says what sandbox an instance gets; nil means what the Runtime says, if it is a
	// [Workspace], else its image and nothing else, see [harness.Describe]. Labels are added. The
	// sandbox is the instance's own, and is removed when it has ended.
	Spec func(ctx context.Context, row dataset.Row) (sandbox.Spec, error)
	// Arch is the architecture for [dataset.ImageFor].
	Arch string
	// Labels are further labels of the sandboxes, those of [harness.Native] included.
	Labels map[string]string

	// Evaluator grades the predictions; nil leaves them ungraded. EvalDir takes its logs and
	// its report, "" meaning Dir, and EvalLog is the log of one that is a child process.
	Evaluator        harness.Evaluator
	EvalDir, EvalLog string
	// Evaluating hears that the agents have ended, before the evaluation of this ID begins.
	// Its error ends the run.
	Evaluating func(evalRunID string) error

	// Run is the run's name, a part of every session's ID; "" means the one that the folder
	// keeps, else a random one. A name is for one folder: see Names.
	Run string
	// Shard is the part of the rows that this process runs.
	Shard Shard
	// Names is a folder that remembers names of runs, so that one that was given cannot be
	// used again with a fresh folder, which would give two trajectories one session. ""
	// remembers nothing.
	Names string

	// Workers is how many instances are run at a time; 0 means the number of cores.
	Workers int
	// Stagger is the time between the first instances of two workers, so that not all images
	// start at once; 0 means 100 ms, negative none.
	Stagger time.Duration
	// Starts is how often a sandbox that did not start is tried; 0 means 3.
	Starts int
	// AgentTimeout and EvalTimeout bound the two phases; 0 means no limit. Predictions that
	// there are when the time is over stay.
	AgentTimeout, EvalTimeout time.Duration
	// KeepSandboxes leaves the sandboxes of unfinished trajectories when ctx is done, so that
	// the next run with the folder can go on in them. Else they are removed.
	KeepSandboxes bool

	// Progress hears of what happens, by one goroutine at a time. nil is fine.
	Progress func(Progress)
	// Redact takes secrets out of texts of failures; nil takes out what looks like one.
	Redact *redact.Redactor
	// Logger gets warnings, without secrets and content; nil discards them.
	Logger *slog.Logger
}

// Progress is how far a run is.
type Progress struct {
	// Phase is swebench.PhaseAgent or swebench.PhaseEval, and the counters are its.
	Phase           swebench.Phase
	Total, Finished int
	// Instance has just ended with Status; it is "" for other news.
	Instance string
	Status   agent.ExitStatus
	// Reason says more of a failure, without secrets.
	Reason string
}

// A ConfigError names the setting that cannot be used, and why. Nothing was started.
type ConfigError struct {
	Field, Reason string
}

func (e *ConfigError) Error() string { return fmt.Sprintf("runner: %s: %s", e.Field, e.Reason) }

// A TimeoutError says that a phase took longer than its limit.
type TimeoutError struct {
	Phase swebench.Phase
	Limit time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("the %s phase took longer than %v, its limit", e.Phase, e.Limit)
}

// checked returns the configuration with its defaults.
func (c Config) checked() (Config, error) {
	refuse := func(field, format string, args ...any) (Config, error) {
		return c, &ConfigError{Field: field, Reason: fmt.Sprintf(format, args...)}
	}
	switch {
	case c.Dir == "":
		return refuse("Dir", "it is empty; name the output folder")
	case strings.TrimSpace(c.Model) == "":
		return refuse("Model", "it is empty; name the model as the endpoint knows it")
	case c.NewClient == nil:
		return refuse("NewClient", "it is nil; use that of an Endpoint, or return a model.Client of your own")
	case c.Runtime == nil:
		return refuse("Runtime", "it is nil; use sandbox.NewDocker, sandbox.NewBubblewrap or sandbox.NewLocal")
	case len(c.Rows) == 0:
		return refuse("Rows", "there are none")
	}
	if fault := harness.ModelFault(c.Model); fault != "" {
		return refuse("Model", "%s", fault)
	}
	if fault := runNameFault(c.Run); c.Run != "" && fault != "" {
		return refuse("Run", "%q %s", c.Run, fault)
	}
	if err := c.Shard.check(); err != nil {
		return c, err
	}
	if c.Shard.Of > 1 && c.Run == "" {
		return refuse("Run", "a shard needs the name of the run that it is a part of")
	}
	seen := map[string]bool{}
	for _, row := range c.Rows {
		if fault := swebench.InstanceIDFault(row.InstanceID); fault != "" {
			return refuse("Rows", "the instance's ID %s", fault)
		}
		if seen[row.InstanceID] {
			return refuse("Rows", "the instance %s is there twice", row.InstanceID)
		}
		seen[row.InstanceID] = true
		if strings.TrimSpace(row.ProblemStatement) == "" {
			where := row.Where
			if where != "" {
				where = " (" + where + ")"
			}
			return refuse("Rows", "the instance %s%s has no problem_statement, so that there is nothing to work on; fill it in, or leave the instance out", row.InstanceID, where)
		}
	}
	if c.Template.Name == "" {
		c.Template = agent.Default()
	}
	if c.Workers <= 0 {
		c.Workers = runtime.NumCPU()
	}
	if c.Stagger == 0 {
		c.Stagger = 100 * time.Millisecond
	}
	if c.Starts <= 0 {
		c.Starts = 3
	}
	if c.Progress == nil {
		c.Progress = func(Progress) {}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	var err error
	if c.Dir, err = filepath.Abs(c.Dir); err != nil {
		return c, err
	}
	if c.EvalDir == "" {
		c.EvalDir = c.Dir
	}
	return c, nil
}
