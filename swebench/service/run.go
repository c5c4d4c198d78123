package service

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/internal/atomicfile"
	"github.com/homing-go/homing/swebench/redact"
)

// A run is one run of this process or of an earlier one. What is below "guarded" belongs
// to the service's mutex.
type run struct {
	id, dir string
	secrets atomic.Pointer[redact.Redactor]
	keyHash string // of its idempotency key; "" if it has none
	// accepted is closed when the submission is on disk, or refused was set.
	accepted chan struct{}
	refused  error
	// settled is closed when the state is terminal.
	settled chan struct{}
	// resubmitted gets the request again when the run waits for its key.
	resubmitted chan *swebench.RunRequest
	// turn is closed when the run gets its slot.
	turn     chan struct{}
	progress progress
	saving   sync.Mutex

	// guarded
	request     *swebench.RunRequest // nil when it is over
	requestHash string
	model       string
	cancel      func()
	status      swebench.RunStatus
	decided     bool                // how it ended; nothing changes that
	final       *swebench.RunStatus // decided, written, not yet published
	encoded     []byte              // status as JSON; nil when it must be made anew
	cancelled   bool                // a cancel was asked for
	waiting     bool                // for its key
	hasKey      bool                // it needs one
	holds       int                 // child processes
	idle        chan struct{}       // closed when holds is 0 again
	hasSlot     bool
	over        bool // its runner has returned
	readers     int  // downloads
}

func newRun(id, dir string, r *redact.Redactor) *run {
	made := &run{
		id: id, dir: dir, cancel: func() {},
		accepted: make(chan struct{}), settled: make(chan struct{}), resubmitted: make(chan *swebench.RunRequest, 1), turn: make(chan struct{}),
	}
	made.secrets.Store(r)
	return made
}

// redact takes the run's secrets out of a text.
func (r *run) redact(text string) string { return r.secrets.Load().Text(text) }

// active reports whether the run counts against the limit of concurrent runs.
func (r *run) active() bool {
	return !r.status.Status.Terminal() && !r.decided && !r.cancelled && !r.waiting
}

// set changes the status, whatever is left of its state.
func (r *run) set(change func(*swebench.RunStatus)) {
	change(&r.status)
	r.status.UpdatedAt = now()
	r.encoded = nil
}

func now() float64 { return float64(time.Now().UnixMicro()) / 1e6 }

func ptr[T any](v T) *T { return &v }

// json returns the status as JSON.
func (r *run) json() []byte {
	if r.encoded == nil {
		r.encoded, _ = r.status.MarshalJSON() // what is in it was checked
	}
	return r.encoded
}

// save writes the status to the run's folder: the one that was decided, if there is one.
func (s *Service) save(r *run) error {
	r.saving.Lock()
	defer r.saving.Unlock()
	s.mu.Lock()
	status := r.status
	if r.final != nil {
		status = *r.final
	}
	s.mu.Unlock()
	data, err := status.MarshalJSON()
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(r.dir, swebench.FileStatus), append(data, '\n'))
}

// An outcome is how a run ended.
type outcome struct {
	state  swebench.State
	err    string
	result json.RawMessage
}

// finish brings a run to its terminal state, unless it has one. It is on disk before
// anyone sees it. A run that was asked to cancel is cancelled, however it ended.
func (s *Service) finish(r *run, o outcome) {
	s.mu.Lock()
	if r.decided {
		s.mu.Unlock()
		<-r.settled
		return
	}
	r.decided = true
	final := r.status
	final.Status, final.Result, final.Error = o.state, o.result, nil
	if o.state == swebench.StateFailed {
		final.Error = ptr(r.redact(o.err))
	}
	if r.cancelled && o.state != swebench.StateCancelled {
		final.Status, final.Result, final.Error = swebench.StateCancelled, nil, nil
	}
	s.mu.Unlock()

	reading, readErr := r.progress.read(r.dir, final.AgentTotal)
	if readErr != nil && final.Status == swebench.StateSucceeded {
		final.Status, final.Result = swebench.StateFailed, nil
		final.Error = ptr(r.redact("finalization failed: " + readErr.Error()))
	}
	if readErr == nil {
		reading.apply(&final)
	}
	final.Phase = swebench.Phase(final.Status)
	final.Message = ptr(string(final.Phase))
	final.Artifacts = artifacts(r.id, r.dir)
	t := now()
	final.UpdatedAt, final.FinishedAt = t, &t

	s.mu.Lock()
	r.final = &final
	s.mu.Unlock()
	if err := s.save(r); err != nil {
		s.cfg.Logger.Error("the status cannot be stored", "run", r.id, "error", r.redact(err.Error()))
	}

	s.mu.Lock()
	r.status, r.encoded, r.request, r.waiting = final, nil, nil, false
	close(r.settled)
	s.mu.Unlock()
	s.cfg.Logger.Info("run ended", "run", r.id, "status", final.Status)
	s.wakePruner()
}

// artifacts lists the files of a run that can be fetched.
func artifacts(id, dir string) []swebench.Artifact {
	list := []swebench.Artifact{}
	for _, name := range swebench.ArtifactNames() {
		if f, err := atomicfile.Open(filepath.Join(dir, name)); err == nil {
			_ = f.Close()
			list = append(list, swebench.Artifact{Name: name, URL: swebench.ArtifactPath(id, name)})
		}
	}
	return list
}

// newestFirst sorts runs by the time of their submission.
func newestFirst(a, b *run) int {
	switch {
	case a.status.CreatedAt > b.status.CreatedAt:
		return -1
	case a.status.CreatedAt < b.status.CreatedAt:
		return 1
	}
	return slices.Compare([]byte(a.id), []byte(b.id))
}
