package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/phase"
	"github.com/homing-go/homing/swebench/sandbox"
)

// Sweep implements [service.Sweeper]: it removes the sandboxes of runs that are over.
func (s *Jobs) Sweep(ctx context.Context, root string) error {
	w, err := s.Place.Open(os.TempDir()) // nothing is checked out
	if err != nil {
		return err
	}
	return sweepOver(ctx, w, root, "")
}

// sweepOver removes the sandboxes of the runs below root that are over, but for one: a process
// that was killed has left them, and nobody will go on with them.
func sweepOver(ctx context.Context, runtime sandbox.Runtime, root, except string) error {
	all, err := runtime.List(ctx, nil)
	if err != nil {
		return fmt.Errorf("sandboxes of runs that are over cannot be looked for: %w", err)
	}
	var ids []string
	over := map[string]bool{except: false}
	for _, info := range all {
		id := info.Labels[phase.RunLabel]
		if !swebench.ValidRunID(id) {
			continue
		}
		if _, known := over[id]; !known {
			over[id] = isOver(filepath.Join(root, id))
		}
		if over[id] {
			ids = append(ids, info.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if err := runtime.Remove(ctx, ids...); err != nil {
		return fmt.Errorf("sandboxes of runs that are over may be left: %w", err)
	}
	return nil
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
