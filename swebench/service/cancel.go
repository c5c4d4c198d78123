package service

import (
	"net/http"
	"path/filepath"
	"time"

	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/internal/atomicfile"
)

// How long the answer to a cancel waits: for child processes, which have 10 s until
// SIGKILL and as long until they must be gone, and for a runner that returns at once.
const (
	cancelWait   = 25 * time.Second
	cancelSettle = 250 * time.Millisecond
)

// fileCancelled exists when a cancel was asked for.
const fileCancelled = ".cancelled"

// cancelRun answers POST /v1/runs/{id}/cancel.
func (s *Service) cancelRun(w http.ResponseWriter, req *http.Request, id string) {
	r := s.find(id)
	if r == nil {
		refuse(w, http.StatusNotFound, "unknown run")
		return
	}
	s.stopRun(r)
	s.answer(w, req, http.StatusOK, s.json(r))
}

// stopRun cancels a run, unless it is over, and waits a while for its end.
func (s *Service) stopRun(r *run) {
	s.mu.Lock()
	if r.decided {
		s.mu.Unlock()
		<-r.settled
		return
	}
	first := !r.cancelled
	r.cancelled = true
	r.cancel()
	s.mu.Unlock()
	if first {
		s.markCancelled(r)
	}

	limit := time.NewTimer(cancelWait)
	defer limit.Stop()
	for {
		s.mu.Lock()
		idle, held := r.idle, r.holds > 0
		s.mu.Unlock()
		if !held {
			settle := time.NewTimer(cancelSettle)
			select {
			case <-r.settled:
			case <-settle.C:
				s.finish(r, outcome{state: swebench.StateCancelled})
			}
			settle.Stop()
			return
		}
		select {
		case <-r.settled:
			return
		case <-idle:
		case <-limit.C:
			s.finish(r, outcome{state: swebench.StateCancelled})
			return
		}
	}
}

// markCancelled stores that a cancel was asked for, so that a restart before the run's end
// does not resume it.
func (s *Service) markCancelled(r *run) {
	if err := atomicfile.Write(filepath.Join(r.dir, fileCancelled), nil); err != nil {
		s.cfg.Logger.Warn("a cancel cannot be stored", "run", r.id, "error", r.redact(err.Error()))
	}
}
