package service

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/internal/atomicfile"
	"github.com/homing-go/homing/swebench/phase"
	"github.com/homing-go/homing/swebench/redact"
)

// fileChildren exists while a run has, or an interrupted run had, child processes.
const fileChildren = ".children"

// keyLost is the reason of a run that waited for its key in vain.
const keyLost = "endpoint_key_lost"

// load finds the runs of earlier processes in the artifact root.
func (s *Service) load() error {
	entries, err := os.ReadDir(s.cfg.ArtifactRoot)
	if err != nil {
		return fmt.Errorf("service: artifact root: %w", err)
	}
	var ids, children []string
	for _, entry := range entries {
		id := entry.Name()
		dir := filepath.Join(s.cfg.ArtifactRoot, id)
		if !entry.IsDir() || !swebench.ValidRunID(id) {
			continue
		}
		if neverAccepted(id, dir) {
			// Its scorer has no answer: it sends the submission again, or gives up.
			if err := os.RemoveAll(dir); err != nil {
				s.cfg.Logger.Warn("a half-made submission cannot be removed", "run", id, "error", err)
			}
			continue
		}
		if !isRunFolder(dir) {
			continue
		}
		ids = append(ids, id)
		if _, err := os.Lstat(filepath.Join(dir, fileChildren)); err == nil {
			children = append(children, id)
		}
	}
	if n := phase.Sweep(children...); n > 0 {
		s.cfg.Logger.Warn("child processes had outlived the service and were killed", "processes", n)
	}
	var interrupted []*run
	for _, id := range ids {
		if r := s.loadRun(id, filepath.Join(s.cfg.ArtifactRoot, id)); r != nil {
			interrupted = append(interrupted, r)
		}
	}
	slices.SortFunc(interrupted, func(a, b *run) int { return newestFirst(b, a) })
	for _, r := range interrupted {
		ctx, cancel := context.WithCancel(context.Background())
		r.cancel = cancel
		if !r.waiting {
			s.enqueue(r)
		}
		s.work.Go(func() { s.execute(ctx, r, true) })
	}
	if sweeper, ok := s.cfg.Runner.(Sweeper); ok && len(ids) > 0 {
		s.work.Go(func() { s.sweep(sweeper) })
	}
	return nil
}

// sweepTime bounds the look for what killed processes have left. A stop waits for it.
const sweepTime = time.Minute

func (s *Service) sweep(sweeper Sweeper) {
	ctx, cancel := context.WithTimeout(context.Background(), sweepTime)
	defer cancel()
	if err := sweeper.Sweep(ctx, s.cfg.ArtifactRoot); err != nil {
		s.cfg.Logger.Warn("what runs that are over have left cannot be removed", "error", redact.New(s.cfg.AuthToken).Text(err.Error()))
	}
}

// neverAccepted reports whether the process was killed while it stored the submission:
// there is no status yet, and nothing else that a run leaves.
func neverAccepted(id, dir string) bool {
	if raw, err := hex.DecodeString(id); err != nil || len(raw) != 16 {
		return false
	}
	entries, err := os.ReadDir(dir)
	return err == nil && !slices.ContainsFunc(entries, func(entry os.DirEntry) bool {
		name := entry.Name()
		return name != swebench.FileRequest && name != fileRecord && !atomicfile.IsTemp(name)
	})
}

func isRunFolder(dir string) bool {
	for _, name := range []string{swebench.FileRequest, swebench.FileStatus} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// loadRun registers one run. It returns those that are to be resumed.
func (s *Service) loadRun(id, dir string) *run {
	r := newRun(id, dir, redact.New(s.cfg.AuthToken))
	close(r.accepted)
	request, stored, n, requestErr := recall(dir)
	status, statusErr := recallStatus(id, dir)
	r.status = status
	if requestErr == nil {
		r.model, r.requestHash = request.ModelName, hash(stored)
		if r.keyHash = n.IdempotencyHash; r.keyHash != "" {
			s.keys[r.keyHash] = r
		}
		r.status.AgentTotal = len(request.EvaluatedInstanceIDs)
	}
	s.runs[id] = r
	if statusErr == nil && status.Status.Terminal() {
		r.decided, r.over = true, true
		close(r.settled)
		return nil
	}
	atomicfile.Sweep(dir)
	atomicfile.Sweep(filepath.Join(dir, swebench.DirOutput))
	end := outcome{state: swebench.StateFailed}
	_, err := os.Lstat(filepath.Join(dir, fileCancelled))
	switch {
	case err == nil:
		end.state = swebench.StateCancelled
	case statusErr != nil:
		end.err = "interrupted: its status cannot be read: " + statusErr.Error()
	case s.cfg.NoResume:
		end.err = "interrupted: the service was restarted with -resume=false"
	case requestErr != nil:
		end.err = "interrupted: the service was restarted, and the run cannot be resumed: " + requestErr.Error()
	default:
		s.prepareResume(r, request, n)
		return r
	}
	for _, name := range []string{swebench.FileAgentLog, swebench.FileEvalLog} {
		if err := phase.PublishLeft(filepath.Join(dir, name)); err != nil {
			s.cfg.Logger.Warn("the log of an interrupted run cannot be published", "run", id, "error", err)
		}
	}
	r.over = true
	s.finish(r, end)
	return nil
}

// prepareResume puts an interrupted run into the queue again.
func (s *Service) prepareResume(r *run, request *swebench.RunRequest, n note) {
	s.cfg.Logger.Info("run is resumed", "run", r.id)
	r.request, r.hasKey = request, n.HasKey
	r.waiting = n.Altered || n.HasKey && s.cfg.EndpointAPIKey == ""
	if n.HasKey && !r.waiting {
		r.useKey(s.cfg.AuthToken, s.cfg.EndpointAPIKey)
	}
	message := string(swebench.PhaseQueued)
	if r.waiting {
		message = "queued: waiting for the endpoint key, which a restart has lost (" + keyLost + "): send the submission again with its " +
			swebench.IdempotencyHeader + ", or start the service with -endpoint-api-key-env"
		s.cfg.Logger.Warn("a run waits for its endpoint key; start the service with -endpoint-api-key-env, or let its scorer send the submission again", "run", r.id)
	}
	r.set(func(status *swebench.RunStatus) {
		status.Status, status.Phase, status.Message, status.Error, status.Result = swebench.StateQueued, swebench.PhaseQueued, &message, nil, nil
	})
}

// useKey gives a run its key again.
func (r *run) useKey(token, key string) {
	r.request.EndpointAPIKey = &key
	r.secrets.Store(redact.New(token, key))
}

// recallStatus reads the stored status. What cannot be read makes a status of what the
// folder tells.
func recallStatus(id, dir string) (swebench.RunStatus, error) {
	status := swebench.RunStatus{RunID: id, Status: swebench.StateQueued, Phase: swebench.PhaseQueued}
	if info, err := os.Stat(dir); err == nil {
		status.CreatedAt = float64(info.ModTime().UnixMicro()) / 1e6
	}
	data, err := atomicfile.Read(filepath.Join(dir, swebench.FileStatus), maxStatusFile)
	if err != nil {
		return status, err
	}
	stored := swebench.RunStatus{}
	if err := json.Unmarshal(data, &stored); err != nil {
		return status, err
	}
	switch result := stored.Result; {
	case stored.RunID != id:
		return status, errors.New("it is the status of another run")
	case !stored.Status.Terminal() && stored.Status != swebench.StateQueued && stored.Status != swebench.StateRunning:
		return status, errors.New("it has no known state")
	case rawjson.Kind(result) == 'n':
		stored.Result = nil
	}
	if stored.Status.Terminal() && stored.FinishedAt == nil {
		stored.FinishedAt = &stored.UpdatedAt
	}
	return stored, nil
}

// awaitKey waits until a resumed run has its key. It reports whether the run goes on.
func (s *Service) awaitKey(ctx context.Context, r *run) bool {
	s.mu.Lock()
	waiting := r.waiting
	s.mu.Unlock()
	if !waiting {
		return true
	}
	timer := time.NewTimer(s.cfg.EndpointKeyWait)
	defer timer.Stop()
	select {
	case request := <-r.resubmitted:
		defer s.enqueue(r)
		s.mu.Lock()
		defer s.mu.Unlock()
		r.waiting, r.request = false, request
		key := ""
		if request.EndpointAPIKey != nil {
			key = *request.EndpointAPIKey
		}
		r.secrets.Store(redact.New(s.cfg.AuthToken, key))
		r.set(func(status *swebench.RunStatus) { status.Message = ptr(string(swebench.PhaseQueued)) })
		return true
	case <-timer.C:
		s.finish(r, outcome{state: swebench.StateFailed, err: keyLost + ": the service was restarted, the endpoint key was not stored, and nobody sent it again within " + s.cfg.EndpointKeyWait.String()})
	case <-ctx.Done():
		s.finish(r, outcome{state: swebench.StateCancelled})
	case <-s.stop: // it waits on in the next process
	}
	return false
}
