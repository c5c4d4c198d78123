package service

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/phase"
	"github.com/homing-go/homing/swebench/redact"
)

// A Runner does the work of runs; it is called for several at a time.
//
// Run works in the run's folder under the names of package swebench, from which the
// service reads the progress, and returns the result, a JSON object. When ctx ends the run
// was cancelled: Run stops what it started and returns, what it returns does not matter.
// Predictions that exist when it fails or is cancelled belong into the folder too.
type Runner interface {
	Run(ctx context.Context, job Job) (result json.RawMessage, err error)
}

// A Sweeper is a [Runner] whose runs have more than files and child processes, such as
// containers. A service calls Sweep when it starts and finds runs in its folder.
type Sweeper interface {
	// Sweep removes what runs that are over have left outside of root, the folder of the
	// runs, because a process was killed. Runs that are not over keep theirs.
	Sweep(ctx context.Context, root string) error
}

// RunnerFunc is a function that is a [Runner].
type RunnerFunc func(ctx context.Context, job Job) (json.RawMessage, error)

// Run calls f.
func (f RunnerFunc) Run(ctx context.Context, job Job) (json.RawMessage, error) { return f(ctx, job) }

// A Job is one run as a [Runner] sees it.
type Job struct {
	RunID string
	// Request is what was asked for. Its key is not in it.
	Request swebench.RunRequest
	// EndpointAPIKey is the key of the endpoint, "" if there is none. Never store it.
	EndpointAPIKey string
	// Dir is the folder of the run; it exists.
	Dir string
	// Resume is set when an earlier process has begun the run: what is finished in Dir
	// is kept.
	Resume bool
	// Redact takes the run's secrets out; nil knows none.
	Redact *redact.Redactor
	// Logger is for warnings; nil discards them.
	Logger *slog.Logger

	hold func() (release func())
}

// Path is the path of a file in the run's folder.
func (j Job) Path(elem ...string) string {
	return filepath.Join(append([]string{j.Dir}, elem...)...)
}

// Log starts one of the run's logs, such as swebench.FileAgentLog. What an earlier process
// left there is kept in a resumed run if keep is set.
func (j Job) Log(name string, keep bool) (*phase.Log, error) {
	return phase.Create(j.Path(name), j.Redact, keep && j.Resume)
}

// Warn logs a warning without secrets.
func (j Job) Warn(format string, args ...any) {
	if j.Logger != nil {
		j.Logger.Warn(j.Redact.Text(fmt.Sprintf(format, args...)), "run", j.RunID)
	}
}

// Hold makes the answer to a cancel wait until release is called, but no longer than
// 25 s. Hold while a child process lives, and give it phase.RunIDVariable: if the service
// is killed, the next process ends what is left of it.
func (j Job) Hold() (release func()) {
	if j.hold == nil {
		return func() {}
	}
	return j.hold()
}
