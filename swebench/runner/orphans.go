package runner

import (
	"context"
	"path/filepath"

	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/phase"
	"github.com/homing-go/homing/swebench/sandbox"
	"github.com/homing-go/homing/swebench/service"
)

// sweepOver removes the sandboxes of runs that are over, in the service of the job: a process
// that was killed has left them, and nobody will go on with them. That it fails is a warning.
func sweepOver(ctx context.Context, runtime sandbox.Runtime, j service.Job) {
	all, err := runtime.List(ctx, nil)
	if err != nil {
		j.Warn("sandboxes of runs that are over cannot be looked for: %v", err)
		return
	}
	var ids []string
	over := map[string]bool{j.RunID: false}
	for _, info := range all {
		id := info.Labels[phase.RunLabel]
		if !swebench.ValidRunID(id) {
			continue
		}
		if _, known := over[id]; !known {
			over[id] = isOver(filepath.Join(filepath.Dir(j.Dir), id))
		}
		if over[id] {
			ids = append(ids, info.ID)
		}
	}
	if len(ids) == 0 {
		return
	}
	if err := runtime.Remove(ctx, ids...); err != nil {
		j.Warn("sandboxes of runs that are over may be left: %v", err)
	}
}

// isOver reports whether a run's folder says that it is over. A run without a folder may be
// that of another service.
func isOver(dir string) bool {
	var status struct {
		Status swebench.State `json:"status"`
	}
	found, err := readJSON(filepath.Join(dir, swebench.FileStatus), &status)
	return err == nil && found && status.Status.Terminal()
}
