package service

import (
	"os"
	"slices"
	"time"

	"github.com/homing-go/homing/swebench"
)

// keepFinished is how long a finished run is kept at least.
const keepFinished = 5 * time.Minute

func (s *Service) wakePruner() {
	select {
	case s.prune <- struct{}{}:
	default:
	}
}

// pruneLoop removes old runs until the service is closed.
func (s *Service) pruneLoop() {
	if s.cfg.MaxStoredRuns <= 0 {
		return
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		gone, wait := s.prunable(time.Now())
		for _, r := range gone {
			if err := os.RemoveAll(r.dir); err != nil {
				s.cfg.Logger.Warn("the folder of an old run cannot be removed", "run", r.id, "error", err)
			}
		}
		if timer.Stop(); wait > 0 {
			timer.Reset(wait)
		}
		select {
		case <-timer.C:
		case <-s.prune:
		case <-s.stop:
			return
		}
	}
}

// prunable takes the runs that are to go out of the service's memory. wait tells when the
// next one's time has come; 0 means that first something else has to happen.
func (s *Service) prunable(t time.Time) (gone []*run, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var finished []*run
	for _, r := range s.runs {
		if r.status.Status.Terminal() {
			finished = append(finished, r)
		}
	}
	// Only the oldest are to go: that one of them is being read costs no newer one its place.
	overflow := max(0, len(finished)-s.cfg.MaxStoredRuns)
	slices.SortFunc(finished, func(a, b *run) int { return endOf(a.status).Compare(endOf(b.status)) })
	for _, r := range finished[:overflow] {
		if left := endOf(r.status).Add(keepFinished).Sub(t); left > 0 {
			if wait == 0 {
				wait = min(left, keepFinished) // a clock that was set must not stop it for long
			}
			continue
		}
		if r.readers > 0 || !r.over {
			continue
		}
		gone = append(gone, r)
		delete(s.runs, r.id)
		if s.keys[r.keyHash] == r {
			delete(s.keys, r.keyHash)
		}
	}
	return gone, wait
}

// endOf is when a run ended.
func endOf(status swebench.RunStatus) time.Time {
	if status.FinishedAt == nil {
		return time.Time{}
	}
	return time.UnixMicro(int64(*status.FinishedAt * 1e6))
}
