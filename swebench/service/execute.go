package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/swebench"
)

// execute brings a run from queued to its end.
func (s *Service) execute(ctx context.Context, r *run, resume bool) {
	defer func() {
		s.mu.Lock()
		r.over = true
		cancel := r.cancel
		s.mu.Unlock()
		cancel()
		s.wakePruner()
	}()
	if resume && !s.awaitKey(ctx, r) {
		return
	}
	if !s.awaitSlot(ctx, r) {
		s.finish(r, outcome{state: swebench.StateCancelled})
		return
	}
	defer s.freeSlot()
	job, ok := s.begin(r, resume)
	if !ok {
		s.finish(r, outcome{state: swebench.StateCancelled})
		return
	}
	result, err := s.call(ctx, job)
	if err != nil {
		s.finish(r, outcome{state: swebench.StateFailed, err: err.Error()})
		return
	}
	object, err := rawjson.Only(result)
	if err == nil && rawjson.Kind(object) != '{' {
		err = errors.New("it is not an object")
	}
	if err != nil {
		s.finish(r, outcome{state: swebench.StateFailed, err: "finalization failed: result: " + err.Error()})
		return
	}
	s.finish(r, outcome{state: swebench.StateSucceeded, result: r.secrets.Load().JSON(object)})
}

// begin moves a run from queued to running, unless it was cancelled.
func (s *Service) begin(r *run, resume bool) (Job, bool) {
	s.mu.Lock()
	if r.cancelled {
		s.mu.Unlock()
		return Job{}, false
	}
	request := *r.request
	r.set(func(status *swebench.RunStatus) {
		status.Status, status.Phase, status.Message = swebench.StateRunning, swebench.PhaseAgent, ptr(string(swebench.PhaseAgent))
	})
	s.mu.Unlock()
	if err := s.save(r); err != nil {
		s.cfg.Logger.Error("the status cannot be stored", "run", r.id, "error", r.redact(err.Error()))
	}
	job := Job{RunID: r.id, Request: request, Dir: r.dir, Resume: resume, Redact: r.secrets.Load(), Logger: s.cfg.Logger, hold: func() func() { return s.hold(r) }}
	if request.EndpointAPIKey != nil {
		job.EndpointAPIKey, job.Request.EndpointAPIKey = *request.EndpointAPIKey, nil
	}
	return job, true
}

// call calls the runner. That it panics is its failure, not that of the service.
func (s *Service) call(ctx context.Context, job Job) (result json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.cfg.Logger.Error("the runner panicked", "run", job.RunID, "panic", job.Redact.Text(fmt.Sprint(p)), "stack", job.Redact.Text(string(debug.Stack())))
			err = fmt.Errorf("the runner panicked: %v", p)
		}
	}()
	return s.cfg.Runner.Run(ctx, job)
}

// hold counts a child process of a run.
func (s *Service) hold(r *run) (release func()) {
	marker := filepath.Join(r.dir, fileChildren)
	_ = os.WriteFile(marker, nil, 0o644) //nolint:gosec // nothing is in it; without it a restart looks for no children
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.holds++; r.holds == 1 {
		r.idle = make(chan struct{})
	}
	released := false
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if released {
			return
		}
		released = true
		if r.holds--; r.holds == 0 {
			_ = os.Remove(marker)
			close(r.idle)
		}
	}
}
