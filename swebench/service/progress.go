package service

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/internal/atomicfile"
	"go.yaml.in/yaml/v3"
)

// Limits of the files that the progress is read from.
const (
	maxStatusesFile = 16 << 20
	maxPredsFile    = 256 << 20
	maxEvalIDFile   = 4 << 10
)

// progressEvery is how often the files of one run are read at most.
const progressEvery = time.Second

// progress reads how far a run is from the files in its folder.
type progress struct {
	mu    sync.Mutex
	next  time.Time
	reads int // for tests
	// preds holds the count of a predictions file until the file changes.
	preds map[string]counted
}

type counted struct {
	modified time.Time
	size     int64
	count    int
}

// A reading is what the files tell.
type reading struct {
	total, agent, preds, reports int
	eval                         bool // the evaluation has begun
}

// refresh brings the counters of a run up to date, unless that was done within the last
// second. What cannot be read leaves them as they are.
func (s *Service) refresh(r *run) {
	r.progress.mu.Lock()
	defer r.progress.mu.Unlock()
	t := time.Now()
	if t.Before(r.progress.next) {
		return
	}
	r.progress.next = t.Add(progressEvery)
	s.mu.Lock()
	before := r.status
	s.mu.Unlock()
	if before.Status.Terminal() {
		return
	}
	got, err := r.progress.readLocked(r.dir, before.AgentTotal)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	after := r.status
	if after.Status != before.Status {
		return // it went on meanwhile; the reading is of its past
	}
	got.apply(&after)
	if after.Phase != before.Phase || after.AgentCompleted != before.AgentCompleted || after.EvalTotal != before.EvalTotal || after.EvalCompleted != before.EvalCompleted {
		r.set(func(status *swebench.RunStatus) { got.apply(status) })
	}
}

// apply writes the reading into a status.
func (g reading) apply(status *swebench.RunStatus) {
	status.AgentCompleted = g.agent
	status.EvalTotal, status.EvalCompleted = 0, 0
	if g.eval {
		status.EvalTotal = g.preds
		if g.preds == 0 {
			status.EvalTotal = g.total
		}
		status.EvalCompleted = min(g.reports, status.EvalTotal)
	}
	switch status.Status {
	case swebench.StateRunning:
		status.Phase = swebench.PhaseAgent
		if g.eval {
			status.Phase = swebench.PhaseEval
		}
		status.Message = ptr(string(status.Phase))
	case swebench.StateSucceeded:
		status.AgentCompleted = g.total
		if status.EvalTotal == 0 {
			status.EvalTotal = g.preds
		}
		if status.EvalTotal == 0 {
			status.EvalTotal = g.total
		}
		status.EvalCompleted = status.EvalTotal
	}
}

func (p *progress) read(dir string, total int) (reading, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.readLocked(dir, total)
}

func (p *progress) readLocked(dir string, total int) (reading, error) {
	p.reads++
	if _, err := os.Stat(dir); err != nil {
		return reading{}, fmt.Errorf("progress: %w", err)
	}
	output := filepath.Join(dir, swebench.DirOutput)
	g := reading{total: total, preds: p.countPreds(filepath.Join(output, swebench.FilePreds))}
	g.agent = statuses(output)
	if g.agent == 0 {
		g.agent = trajectories(output)
	}
	if g.agent == 0 {
		g.agent = g.preds
	}
	if g.agent == 0 {
		g.agent = p.countPreds(filepath.Join(dir, swebench.FilePreds))
	}
	g.agent = min(g.agent, total)
	id, err := atomicfile.Read(filepath.Join(dir, swebench.FileEvalRunID), maxEvalIDFile)
	if errors.Is(err, os.ErrNotExist) {
		return g, nil
	}
	g.eval = true
	if evalID := strings.TrimSpace(string(id)); err == nil && swebench.ValidRunID(evalID) {
		g.reports = reports(filepath.Join(output, "logs", "run_evaluation", evalID))
	}
	return g, nil
}

// statuses counts the instances in the newest file of exit statuses.
func statuses(output string) int {
	names, _ := filepath.Glob(filepath.Join(escapeGlob(output), "exit_statuses_*.yaml"))
	newest, modified := "", time.Time{}
	for _, name := range names {
		if info, err := os.Lstat(name); err == nil && info.Mode().IsRegular() && !info.ModTime().Before(modified) {
			newest, modified = name, info.ModTime()
		}
	}
	if newest == "" {
		return 0
	}
	data, err := atomicfile.Read(newest, maxStatusesFile)
	if err != nil {
		return 0
	}
	var file struct {
		Instances map[string][]string `yaml:"instances_by_exit_status"`
	}
	if err := yaml.Unmarshal(data, &file); err != nil {
		return 0
	}
	seen := map[string]bool{}
	for _, ids := range file.Instances {
		for _, id := range ids {
			seen[id] = true
		}
	}
	return len(seen)
}

// trajectories counts the instances that have a trajectory file.
func trajectories(output string) int {
	names, _ := filepath.Glob(filepath.Join(escapeGlob(output), "*", "*.traj.json"))
	return len(names)
}

// reports counts the instances that were graded.
func reports(dir string) int {
	n := 0
	_ = filepath.WalkDir(dir, func(_ string, entry os.DirEntry, err error) error {
		if err == nil && entry.Name() == "report.json" && entry.Type().IsRegular() {
			n++
		}
		return nil // what cannot be read does not count
	})
	return n
}

// countPreds counts the entries of a predictions file; 0 if there is none or it is not one.
func (p *progress) countPreds(name string) int {
	info, err := os.Lstat(name)
	if err != nil {
		return 0
	}
	if c, ok := p.preds[name]; ok && c.size == info.Size() && c.modified.Equal(info.ModTime()) {
		return c.count
	}
	data, err := atomicfile.Read(name, maxPredsFile)
	if err != nil || rawjson.Valid(data) != nil || rawjson.Kind(data) != '{' {
		return 0
	}
	seen := map[string]bool{}
	for o := rawjson.Members(data); o.Next(); {
		seen[string(o.Key)] = true
	}
	if p.preds == nil {
		p.preds = map[string]counted{}
	}
	p.preds[name] = counted{modified: info.ModTime(), size: info.Size(), count: len(seen)}
	return len(seen)
}

// escapeGlob makes a path that Glob takes literally.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
