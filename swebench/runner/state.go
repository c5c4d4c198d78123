package runner

import (
	"fmt"
	"os"
	"strconv"

	"github.com/homing-go/homing/routing"
	"github.com/homing-go/homing/swebench/agent"
	"github.com/homing-go/homing/swebench/internal/atomicfile"
)

// A state is what is kept of an instance beside its journals.
type state struct {
	// Attempt numbers the executions of the trajectory, from 1.
	Attempt int        `json:"attempt"`
	Session routing.ID `json:"session"`
	// Sandbox is the ID of the attempt's sandbox.
	Sandbox string           `json:"sandbox,omitempty"`
	Status  agent.ExitStatus `json:"exit_status,omitempty"`
	Reason  string           `json:"reason,omitempty"`
	// FailedStarts are the sandboxes of this attempt that did not start. Nothing of the
	// trajectory had begun.
	FailedStarts []string `json:"failed_starts,omitempty"`
	// Routed is the way of the attempt's requests.
	Routed routed `json:"routed"`
	// Earlier are the attempts before this one.
	Earlier []state `json:"earlier,omitempty"`
}

// An instance is one row with its files.
type instance struct {
	id, dir string
	run     string
	state
}

func openInstance(f *folder, id string) (*instance, error) {
	i := &instance{id: id, dir: f.path(id), run: f.Run}
	if err := os.MkdirAll(i.dir, 0o755); err != nil { //nolint:gosec // operators read it
		return nil, err
	}
	atomicfile.Sweep(i.dir)
	_, err := readJSON(i.path(fileState), &i.state)
	if err == nil && i.Attempt < 0 {
		err = fmt.Errorf("%s: attempt %d; take it away to begin anew", i.path(fileState), i.Attempt)
	}
	return i, err
}

func (i *instance) path(name string) string { return i.dir + string(os.PathSeparator) + name }

func (i *instance) journal() string {
	return i.path(i.id + ".attempt-" + strconv.Itoa(i.Attempt) + ".jsonl")
}

func (i *instance) trajectory() string { return i.path(i.id + ".traj.json") }

func (i *instance) save() error { return writeJSON(i.path(fileState), i.state) }

// next begins another attempt, under a session of its own.
func (i *instance) next(reason string) error {
	earlier := i.Earlier
	if i.Attempt > 0 {
		last := i.state
		last.Earlier = nil
		if last.Reason == "" {
			last.Reason = reason
		}
		earlier = append(earlier, last)
	}
	attempt := i.Attempt + 1
	i.state = state{Attempt: attempt, Session: routing.Derive(i.run, i.id, strconv.Itoa(attempt)), Earlier: earlier}
	return i.save()
}

// finished reports whether nothing is left to do for the instance.
func (i *instance) finished(preds *predictions) bool {
	return i.Status != "" && !infrastructure(i.Status) && preds.has(i.id)
}

// underWay returns the ID of the sandbox in which the trajectory can go on; "" if there is
// none.
func (i *instance) underWay() string {
	if i.Attempt == 0 || i.Status != "" || i.Sandbox == "" {
		return ""
	}
	past, err := agent.ReadJournal(i.journal())
	if err != nil || len(past) == 0 || past[len(past)-1].Exit != nil {
		return ""
	}
	return i.Sandbox
}
