package runner

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/homing-go/homing/swebench/agent"
	"github.com/homing-go/homing/swebench/internal/atomicfile"
	"go.yaml.in/yaml/v3"
)

// The exit statuses of instances whose trajectory never began.
const (
	// ImageMissing: the image could not be fetched.
	ImageMissing agent.ExitStatus = "ImageMissing"
	// SandboxNotStarted: the sandbox did not start, however often that was tried.
	SandboxNotStarted agent.ExitStatus = "SandboxNotStarted"
	// ClientFailed: the client could not be made.
	ClientFailed agent.ExitStatus = "ClientFailed"
)

// PredictionsFull is for an instance whose prediction has no room: with it preds.json would
// have more than [harness.MaxPredictions] bytes.
const PredictionsFull agent.ExitStatus = "PredictionsFull"

// infrastructure reports whether a status says nothing of the model.
func infrastructure(status agent.ExitStatus) bool {
	switch status {
	case ImageMissing, SandboxNotStarted, ClientFailed, PredictionsFull:
		return true
	}
	return status.Infrastructure()
}

// An ending is how an instance ended.
type ending struct {
	status agent.ExitStatus
	reason string
}

// statuses are how the instances ended, on disk as the Python agent writes it.
type statuses struct {
	file string

	mu   sync.Mutex
	ends map[string]ending
}

func newStatuses(dir string, begin time.Time) *statuses {
	return &statuses{file: filepath.Join(dir, fmt.Sprintf("exit_statuses_%d.yaml", begin.Unix())), ends: map[string]ending{}}
}

// set notes how an instance ended, and returns how many have.
func (s *statuses) set(id string, e ending) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ends[id] = e
	return len(s.ends), s.write()
}

func (s *statuses) write() error {
	data, err := yaml.Marshal(map[string]any{"instances_by_exit_status": s.byStatus()})
	if err != nil {
		return err
	}
	return atomicfile.Write(s.file, data)
}

func (s *statuses) byStatus() map[string][]string {
	by := map[string][]string{}
	for _, id := range slices.Sorted(maps.Keys(s.ends)) {
		status := string(s.ends[id].status)
		by[status] = append(by[status], id)
	}
	return by
}
