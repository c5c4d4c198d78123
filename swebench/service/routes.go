package service

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/homing-go/homing/swebench"
)

// ServeHTTP answers one request.
func (s *Service) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	path := req.URL.EscapedPath()
	if path == "/health" {
		if allow(w, req, http.MethodGet, http.MethodHead) {
			body, _ := json.Marshal(s.Health()) // strings only
			s.answer(w, req, http.StatusOK, body)
		}
		return
	}
	if !s.authorized(req) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		refuse(w, http.StatusUnauthorized, "unauthorized")
		return
	}
	parts, ok := split(path)
	switch {
	case !ok:
		refuse(w, http.StatusNotFound, "not found")
	case len(parts) == 1 && parts[0] == "":
		if allow(w, req, http.MethodGet, http.MethodHead) {
			s.page(w, req)
		}
	case len(parts) < 2 || parts[0] != "v1" || parts[1] != "runs" || slices.Contains(parts, ""):
		refuse(w, http.StatusNotFound, "not found")
	case len(parts) == 2:
		if allow(w, req, http.MethodGet, http.MethodHead, http.MethodPost) {
			if req.Method == http.MethodPost {
				s.postRun(w, req)
			} else {
				s.list(w, req)
			}
		}
	case len(parts) == 3:
		if allow(w, req, http.MethodGet, http.MethodHead) {
			s.status(w, req, parts[2])
		}
	case len(parts) == 4 && parts[3] == "cancel":
		if allow(w, req, http.MethodPost) {
			s.cancelRun(w, req, parts[2])
		}
	case len(parts) == 5 && parts[3] == "artifacts":
		if allow(w, req, http.MethodGet, http.MethodHead) {
			s.artifact(w, req, parts[2], parts[4])
		}
	default:
		refuse(w, http.StatusNotFound, "not found")
	}
}

// split cuts a path at its slashes, before any escape is resolved: what "%2F" stands for
// is a part of a name.
func split(escaped string) (parts []string, ok bool) {
	rest, ok := strings.CutPrefix(escaped, "/")
	if !ok {
		return nil, false
	}
	for part := range strings.SplitSeq(rest, "/") {
		text, err := url.PathUnescape(part)
		if err != nil {
			return nil, false
		}
		parts = append(parts, text)
	}
	return parts, true
}

// authorized compares the whole header, without telling by its time how much is right.
func (s *Service) authorized(req *http.Request) bool {
	if s.cfg.AllowUnauthenticated {
		return true
	}
	got := sha256.Sum256([]byte(req.Header.Get("Authorization")))
	want := sha256.Sum256([]byte("Bearer " + s.cfg.AuthToken))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// allow refuses other methods.
func allow(w http.ResponseWriter, req *http.Request, methods ...string) bool {
	if slices.Contains(methods, req.Method) {
		return true
	}
	w.Header().Set("Allow", strings.Join(methods, ", "))
	refuse(w, http.StatusMethodNotAllowed, "method not allowed")
	return false
}

// refuse answers with a code and a short text, and nothing else.
func refuse(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(code)
	_, _ = io.WriteString(w, text)
}

// answer answers with JSON.
func (s *Service) answer(w http.ResponseWriter, req *http.Request, code int, body []byte) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(code)
	if req.Method != http.MethodHead {
		_, _ = w.Write(body) //nolint:gosec // JSON, and declared as such
	}
}

// status answers GET /v1/runs/{id}.
func (s *Service) status(w http.ResponseWriter, req *http.Request, id string) {
	r := s.find(id)
	if r == nil {
		refuse(w, http.StatusNotFound, "unknown run")
		return
	}
	s.refresh(r)
	s.answer(w, req, http.StatusOK, s.json(r))
}

// json returns a run's status as JSON.
func (s *Service) json(r *run) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return r.json()
}

// list answers GET /v1/runs.
func (s *Service) list(w http.ResponseWriter, req *http.Request) {
	body := []byte(`{"runs":[`)
	for i, r := range s.all() {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, s.json(r)...)
	}
	s.answer(w, req, http.StatusOK, append(body, "]}"...))
}

// all returns the runs, newest first, with their progress as it is now.
func (s *Service) all() []*run {
	s.mu.Lock()
	runs := make([]*run, 0, len(s.runs))
	active := []*run{}
	for _, r := range s.runs {
		runs = append(runs, r)
		if r.status.Status == swebench.StateRunning {
			active = append(active, r)
		}
	}
	slices.SortFunc(runs, newestFirst)
	s.mu.Unlock()
	for _, r := range active {
		s.refresh(r)
	}
	return runs
}
