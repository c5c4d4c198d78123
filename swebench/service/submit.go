package service

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/redact"
)

// maxDrain is how much of a body that is too long is read, so that the client gets to
// read the answer.
const maxDrain = 16 << 20

// Limits of what a submission brings: no server takes a longer key in a header.
const (
	maxIdempotencyKey = 255
	maxEndpointKey    = 8 << 10
)

// postRun answers POST /v1/runs.
func (s *Service) postRun(w http.ResponseWriter, req *http.Request) {
	if req.ContentLength > swebench.MaxRequestBytes {
		tooLong(w, req)
		return
	}
	body, err := io.ReadAll(io.LimitReader(req.Body, swebench.MaxRequestBytes+1))
	if err != nil {
		refuse(w, http.StatusBadRequest, "the body cannot be read")
		return
	}
	if len(body) > swebench.MaxRequestBytes {
		tooLong(w, req)
		return
	}
	request, err := swebench.ParseRunRequest(body)
	if err != nil {
		refuse(w, http.StatusBadRequest, forErrors(s.cfg.AuthToken, keyIn(body)).Text(err.Error()))
		return
	}
	if key := request.EndpointAPIKey; key != nil && len(*key) > maxEndpointKey {
		refuse(w, http.StatusBadRequest, fmt.Sprintf("endpoint_api_key: it has %d bytes, the limit is %d", len(*key), maxEndpointKey))
		return
	}
	keyHash := ""
	if values := req.Header.Values(swebench.IdempotencyHeader); len(values) > 0 {
		key := values[0]
		if len(values) > 1 || key == "" || len(key) > maxIdempotencyKey || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) {
			refuse(w, http.StatusBadRequest, fmt.Sprintf("%s must be one value of 1 to %d visible ASCII characters", swebench.IdempotencyHeader, maxIdempotencyKey))
			return
		}
		keyHash = hash([]byte(key))
	}
	status, err := s.submit(request, keyHash) //nolint:contextcheck // a run outlives its submission
	var refused *refusal
	switch {
	case errors.As(err, &refused):
		refuse(w, refused.code, refused.text)
	case err != nil:
		refuse(w, http.StatusInternalServerError, "the run cannot be stored")
	default:
		s.answer(w, req, http.StatusAccepted, status)
	}
}

// tooLong answers first and then takes what comes: a client that waits gets its answer, and
// one that sends on is not cut off before it reads.
func tooLong(w http.ResponseWriter, req *http.Request) {
	control := http.NewResponseController(w)
	_ = control.EnableFullDuplex() // where it is not known the answer comes after the body
	w.Header().Set("Connection", "close")
	refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body has more than %d bytes", swebench.MaxRequestBytes))
	_ = control.Flush()
	if req.Header.Get("Expect") == "" {
		_, _ = io.CopyN(io.Discard, req.Body, maxDrain)
	}
}

// keyIn finds the endpoint key in a body that may be anything.
func keyIn(body []byte) string {
	if rawjson.Valid(body) != nil || rawjson.Kind(body) != '{' {
		return ""
	}
	return rawjson.Text(rawjson.Get(body, "endpoint_api_key"))
}

// forErrors also finds the beginnings of secrets, because errors cut long values.
func forErrors(secrets ...string) *redact.Redactor {
	const shortest, longest = 8, 100
	for _, s := range secrets {
		for n := shortest; n < min(len(s), longest); n++ {
			secrets = append(secrets, s[:n])
		}
	}
	return redact.New(secrets...)
}

// A refusal is an answer other than 202 to a submission.
type refusal struct {
	code int
	text string
}

func (e *refusal) Error() string { return e.text }

// submit registers a run, stores it and starts it. It returns the run's status from before
// the start; instead of a second run of the same key that of the first as it is now.
func (s *Service) submit(request *swebench.RunRequest, keyHash string) (status []byte, err error) {
	record, stored := s.describe(request, keyHash)
	s.mu.Lock()
	if old := s.keys[keyHash]; keyHash != "" && old != nil {
		s.mu.Unlock()
		return s.again(old, request, record)
	}
	active := 0
	for _, r := range s.runs {
		if r.active() {
			active++
		}
	}
	switch {
	case s.closing:
		s.mu.Unlock()
		return nil, &refusal{http.StatusServiceUnavailable, "the service is stopping"}
	case active >= s.cfg.MaxConcurrentRuns:
		s.mu.Unlock()
		return nil, &refusal{http.StatusTooManyRequests, fmt.Sprintf("no capacity: %d runs are active, the limit is %d", active, s.cfg.MaxConcurrentRuns)}
	}
	id := newRunID()
	r := newRun(id, filepath.Join(s.cfg.ArtifactRoot, id), record.redact)
	r.keyHash, r.requestHash = keyHash, hash(stored)
	r.request, r.model = request, record.request.ModelName
	t := now()
	r.status = swebench.RunStatus{
		RunID: id, Status: swebench.StateQueued, Phase: swebench.PhaseQueued, Message: ptr(string(swebench.PhaseQueued)),
		CreatedAt: t, UpdatedAt: t, AgentTotal: len(request.EvaluatedInstanceIDs), Artifacts: []swebench.Artifact{},
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	s.runs[id] = r
	if keyHash != "" {
		s.keys[keyHash] = r
	}
	s.work.Add(1) // before Close can wait
	s.mu.Unlock()

	if err := s.store(r, record, stored); err != nil {
		cancel()
		s.cfg.Logger.Error("a run cannot be stored", "run", id, "error", r.redact(err.Error()))
		s.discard(r, err)
		s.work.Done()
		return nil, err
	}
	close(r.accepted)
	s.cfg.Logger.Info("run accepted", "run", id, "model", record.request.ModelName, "instances", request.NumInstances)
	if redact.New(record.key).Weak() {
		s.cfg.Logger.Warn("the endpoint key has one character: free text, such as logs and errors, cannot be protected from showing it", "run", id)
	}
	status = s.json(r)
	s.enqueue(r)
	go func() {
		defer s.work.Done()
		s.execute(ctx, r, false)
	}()
	return status, nil
}

// discard forgets a run whose submission failed.
func (s *Service) discard(r *run, err error) {
	s.mu.Lock()
	delete(s.runs, r.id)
	if s.keys[r.keyHash] == r {
		delete(s.keys, r.keyHash)
	}
	r.refused = err
	s.mu.Unlock()
	close(r.accepted)
	_ = os.RemoveAll(r.dir)
}

// again answers a submission whose key has started a run already.
func (s *Service) again(old *run, request *swebench.RunRequest, record record) ([]byte, error) {
	<-old.accepted
	s.mu.Lock()
	defer s.mu.Unlock()
	if old.refused != nil {
		return nil, old.refused
	}
	if stored := record.stored(); old.requestHash != hash(stored) {
		return nil, &refusal{http.StatusUnprocessableEntity, swebench.IdempotencyHeader + " was used with another request; use a new one"}
	}
	if old.waiting && (!old.hasKey || record.note.HasKey) {
		select {
		case old.resubmitted <- request:
		default: // it has it already
		}
	}
	return old.json(), nil
}

func newRunID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return hex.EncodeToString(b[:])
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
