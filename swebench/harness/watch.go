package harness

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// watch looks at what the Python harness leaves on disk, which is all that it tells.
type watch struct {
	o           Official
	predictions map[string]Prediction
	r           Run

	began    map[string]time.Time // when each instance was first seen
	finished map[string]bool
	removed  map[string]bool
	newest   time.Time // of all files
	moved    time.Time // when something went on
	told     Progress
}

func newWatch(o Official, predictions map[string]Prediction, run Run) *watch {
	return &watch{o: o, predictions: predictions, r: run, began: map[string]time.Time{}, finished: map[string]bool{}, removed: map[string]bool{}, moved: time.Now()}
}

// limit is how long an instance may take.
func (w *watch) limit() time.Duration {
	timeout, slack := w.o.InstanceTimeout, w.o.Slack
	if timeout <= 0 {
		timeout = 1800 * time.Second
	}
	if slack <= 0 {
		slack = 30 * time.Minute
	}
	return timeout + slack
}

// run looks until done is closed. An instance over its limit loses its container, with
// which the harness goes on; when nothing has moved for as long the harness is stopped.
func (w *watch) run(ctx context.Context, done <-chan struct{}, stop context.CancelCauseFunc) {
	poll := w.o.Poll
	if poll <= 0 {
		poll = 5 * time.Second
	}
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			w.look(time.Now())
			return
		case now := <-ticker.C:
			running := w.look(now)
			for _, id := range running {
				if now.Sub(w.began[id]) > w.limit() && !w.removed[id] {
					w.removed[id] = true
					w.r.Warn(id + " has no report after " + w.limit().String() + "; its container, if there still is one, is removed")
					w.o.remove(ctx, w.r, id)
					w.moved = time.Now() // now the harness has a reason to go on
				}
			}
			if now.Sub(w.moved) > w.limit()+poll {
				stop(&HungError{Limit: w.limit(), Instances: running})
			}
		}
	}
}

// look finds out what goes on, and returns the instances under way, the oldest first.
func (w *watch) look(now time.Time) (running []string) {
	for id, p := range w.predictions {
		if p.Patch == "" {
			w.finished[id] = true
		}
		if w.finished[id] {
			continue
		}
		for _, dir := range w.r.instanceDirs(p.Model, id) {
			if _, err := os.Lstat(dir); err != nil {
				continue
			}
			if _, ok := w.began[id]; !ok {
				w.began[id] = now
			}
			if _, err := os.Lstat(filepath.Join(dir, fileReport)); err == nil {
				w.finished[id] = true
			}
		}
		if _, ok := w.began[id]; ok && !w.finished[id] {
			running = append(running, id)
		}
	}
	slices.SortFunc(running, func(a, b string) int { return w.began[a].Compare(w.began[b]) })
	_ = filepath.WalkDir(w.r.Dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // files come and go
		}
		if info, err := entry.Info(); err == nil && info.ModTime().After(w.newest) {
			w.newest, w.moved = info.ModTime(), now
		}
		return nil
	})
	p := Progress{Total: len(w.predictions), Finished: len(w.finished), Running: running}
	if len(running) > 0 {
		p.Oldest = now.Sub(w.began[running[0]])
	}
	if p.Finished != w.told.Finished || len(running) != len(w.told.Running) || p.Oldest > w.told.Oldest+time.Minute {
		w.told = p
		w.r.Progress(p)
	}
	return running
}
