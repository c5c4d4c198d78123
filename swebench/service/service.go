package service

import (
	"context"
	"errors"
	"net/http"
	"os"
	"sync"

	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/redact"
)

// A Service answers the requests of scorers and manages their runs. It is safe for
// concurrent use. It has goroutines, which [Service.Close] ends.
type Service struct {
	cfg    Config
	redact *redact.Redactor // knows the token only
	lock   *os.File
	prune  chan struct{} // wakes the pruner
	stop   chan struct{} // closed by Close
	work   sync.WaitGroup

	mu      sync.Mutex
	closing bool
	runs    map[string]*run
	keys    map[string]*run // by hash of idempotency key
	busy    int             // runners at work
	queue   []*run          // that wait for a slot
}

// New starts a service: it looks for the runs of earlier processes in the artifact root
// and resumes those that were interrupted.
func New(cfg Config) (*Service, error) {
	if err := cfg.prepare(); err != nil {
		return nil, err
	}
	lock, err := lockRoot(cfg.ArtifactRoot)
	if err != nil {
		return nil, err
	}
	s := &Service{
		cfg:    cfg,
		redact: redact.New(cfg.AuthToken),
		lock:   lock,
		prune:  make(chan struct{}, 1),
		stop:   make(chan struct{}),
		runs:   map[string]*run{},
		keys:   map[string]*run{},
	}
	if s.redact.Weak() {
		cfg.Logger.Warn("the auth token has one character: free text, such as logs and errors, cannot be protected from showing it")
	}
	if err := s.load(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	s.work.Go(s.pruneLoop)
	return s, nil
}

// Health is what the service says of itself.
func (s *Service) Health() swebench.Health {
	return swebench.Health{
		APIVersion: swebench.APIVersion,
		Capabilities: []string{
			swebench.CapRun, swebench.CapCancel, swebench.CapArtifacts, swebench.CapProgress, swebench.CapRoutingHeaders,
			swebench.CapIdempotentSubmit, swebench.CapListRuns,
		},
		Status: "ok",
	}
}

// Close cancels all active runs and waits until their runners have returned, or until ctx
// ends; what is left then goes on until its runner returns. From the beginning on new runs are refused with 503; the rest is answered as
// before, so that scorers can see what became of their runs.
func (s *Service) Close(ctx context.Context) error {
	s.mu.Lock()
	if !s.closing {
		s.closing = true
		close(s.stop)
	}
	var ending []*run
	for _, r := range s.runs {
		if !r.decided && !r.waiting {
			r.cancelled = true
			r.cancel()
			ending = append(ending, r)
		}
	}
	s.mu.Unlock()
	for _, r := range ending { // whoever kills this process now has not made it an interruption
		<-r.accepted
		if s.find(r.id) == r {
			s.markCancelled(r)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.work.Wait()
	}()
	select {
	case <-done:
		if err := s.lock.Close(); !errors.Is(err, os.ErrClosed) { // by a call before
			return err
		}
		return nil
	case <-ctx.Done():
		for _, r := range ending { // else the next process would resume them
			s.finish(r, outcome{state: swebench.StateCancelled})
		}
		return ctx.Err()
	}
}

// find returns the run of this ID; nil if there is none.
func (s *Service) find(id string) *run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs[id]
}

var _ http.Handler = (*Service)(nil)
