package scorer_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A pyService answers as the Python service does: it takes the keys of the protocol and no
// others, exactly as they are spelled, and says nothing that the protocol does not.
type pyService struct {
	t            *testing.T
	token        string
	capabilities []string
	// health, submit, poll, cancel and artifact answer instead of the service if they are
	// not nil and return true. n counts the requests of that kind from 1.
	health, submit, poll, cancel, artifact func(w http.ResponseWriter, r *http.Request, n int) bool
	// statuses are answered by one poll after the other, the last one again and again.
	statuses []string
	// artifacts are what GET finds, by name.
	artifacts map[string]string

	mu       sync.Mutex
	requests []request
}

type request struct {
	method, path string
	header       http.Header
	body         []byte
}

const (
	runID  = "0123456789abcdef0123456789abcdef"
	queued = "queued"
)

func oldCapabilities() []string {
	return []string{"swebench.run", "swebench.cancel", "artifacts.download", "swebench.progress"}
}

func capable() []string { return append(oldCapabilities(), "swebench.routing_headers") }

// status is an answer with every key of the protocol; more are members that replace those.
func status(state string, more ...string) string {
	m := map[string]string{
		"run_id": `"` + runID + `"`, "status": `"` + state + `"`, "created_at": "1.5", "updated_at": "1.5", "finished_at": "null", "phase": `"` + state + `"`,
		"agent_total": "3", "agent_completed": "0", "eval_total": "0", "eval_completed": "0", "message": "null", "error": "null", "result": "null", "artifacts": "[]",
	}
	for i := 0; i < len(more); i += 2 {
		if m[more[i]] = more[i+1]; more[i+1] == "" {
			delete(m, more[i])
		}
	}
	var members []string
	for k, v := range m {
		members = append(members, fmt.Sprintf("%q:%s", k, v))
	}
	return "{" + strings.Join(members, ",") + "}"
}

func succeeded(submitted, resolved int) string {
	return status("succeeded", "result", fmt.Sprintf(`{"submitted_instances":%d,"resolved_instances":%d}`, submitted, resolved))
}

func (s *pyService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.requests = append(s.requests, request{r.Method, r.URL.Path, r.Header.Clone(), body})
	s.mu.Unlock()
	if r.URL.Path == "/health" {
		s.answer(w, r, s.health, s.count("GET", "/health"), func() {
			s.json(w, 200, fmt.Sprintf(`{"api_version":"v1","capabilities":%s,"status":"ok"}`, must(json.Marshal(s.capabilities))))
		})
		return
	}
	if s.token != "" && r.Header.Get("Authorization") != "Bearer "+s.token {
		http.Error(w, "unauthorized", http.StatusUnauthorized)
		return
	}
	run := "/v1/runs/" + runID
	switch {
	case r.Method == "POST" && r.URL.Path == "/v1/runs":
		s.answer(w, r, s.submit, s.count("POST", "/v1/runs"), func() {
			if fault := s.schema(body); fault != "" {
				http.Error(w, fault, http.StatusBadRequest)
				return
			}
			s.json(w, 202, status(queued))
		})
	case r.Method == "GET" && r.URL.Path == run:
		n := s.count("GET", run)
		s.answer(w, r, s.poll, n, func() { s.json(w, 200, s.statuses[min(n, len(s.statuses))-1]) })
	case r.Method == "POST" && r.URL.Path == run+"/cancel":
		s.answer(w, r, s.cancel, s.count("POST", run+"/cancel"), func() { s.json(w, 200, status("cancelled")) })
	case r.Method == "GET" && strings.HasPrefix(r.URL.Path, run+"/artifacts/"):
		s.answer(w, r, s.artifact, s.count("GET", r.URL.Path), func() {
			text, ok := s.artifacts[strings.TrimPrefix(r.URL.Path, run+"/artifacts/")]
			if !ok {
				http.Error(w, "not found", http.StatusNotFound)
				return
			}
			_, _ = io.WriteString(w, text)
		})
	default:
		http.NotFound(w, r)
	}
}

func (s *pyService) answer(w http.ResponseWriter, r *http.Request, first func(http.ResponseWriter, *http.Request, int) bool, n int, then func()) {
	if first == nil || !first(w, r, n) {
		then()
	}
}

func (s *pyService) json(w http.ResponseWriter, code int, body string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, body)
}

// schema is the protocol's, extra keys forbidden.
func (s *pyService) schema(body []byte) string {
	var m map[string]any
	if json.Unmarshal(body, &m) != nil {
		return "bad JSON"
	}
	keys := []string{"model_name", "endpoint_urls", "endpoint_api_key", "generation_params", "subset", "split", "num_instances", "workers", "max_eval_workers", "evaluated_instance_ids", "template"}
	if slices.Contains(s.capabilities, "swebench.routing_headers") {
		keys = append(keys, "routing_headers")
	}
	for k := range m {
		if !slices.Contains(keys, k) {
			return "extra key " + k
		}
	}
	for _, k := range []string{"model_name", "endpoint_urls", "num_instances", "workers", "max_eval_workers", "evaluated_instance_ids"} {
		if m[k] == nil {
			return "missing key " + k
		}
	}
	if ids, _ := m["evaluated_instance_ids"].([]any); float64(len(ids)) != m["num_instances"] {
		return "num_instances"
	}
	return ""
}

// count returns how many requests of that kind came.
func (s *pyService) count(method, path string) int { return len(s.seen(method, path)) }

// seen returns the requests of a method, "" for any, and a path.
func (s *pyService) seen(method, path string) []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []request
	for _, r := range s.requests {
		if (method == "" || r.method == method) && r.path == path {
			found = append(found, r)
		}
	}
	return found
}

// kinds returns methods and paths of all requests in their order.
func (s *pyService) kinds() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var kinds []string
	for _, r := range s.requests {
		kinds = append(kinds, r.method+" "+strings.Replace(r.path, runID, "ID", 1))
	}
	return kinds
}

func (s *pyService) submissions() []string {
	var bodies []string
	for _, r := range s.seen("POST", "/v1/runs") {
		bodies = append(bodies, string(r.body))
	}
	return bodies
}

func (s *pyService) cancels() int { return s.count("POST", "/v1/runs/"+runID+"/cancel") }
func (s *pyService) polls() int   { return s.count("GET", "/v1/runs/"+runID) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// fail answers with a code and a text.
func fail(code int, text string) func(http.ResponseWriter, *http.Request, int) bool {
	return func(w http.ResponseWriter, _ *http.Request, _ int) bool {
		http.Error(w, text, code)
		return true
	}
}

// drop closes the connection without an answer.
func drop(http.ResponseWriter, *http.Request, int) bool { panic(http.ErrAbortHandler) }

// upTo makes the first n answers f's.
func upTo(n int, f func(http.ResponseWriter, *http.Request, int) bool) func(http.ResponseWriter, *http.Request, int) bool {
	return func(w http.ResponseWriter, r *http.Request, i int) bool { return i <= n && f(w, r, i) }
}

func reply(body string) func(http.ResponseWriter, *http.Request, int) bool {
	return func(w http.ResponseWriter, _ *http.Request, _ int) bool {
		_, _ = io.WriteString(w, body)
		return true
	}
}

func TestPyServiceIsStrict(t *testing.T) {
	t.Parallel()
	s := &pyService{capabilities: oldCapabilities()}
	sound := `{"model_name":"m","endpoint_urls":["http://h"],"num_instances":1,"workers":1,"max_eval_workers":1,"evaluated_instance_ids":["a"]}`
	require.Empty(t, s.schema([]byte(sound)))
	require.NotEmpty(t, s.schema([]byte(strings.Replace(sound, "{", `{"routing_headers":[],`, 1))))
	require.NotEmpty(t, s.schema([]byte(strings.Replace(sound, `"workers"`, `"Workers"`, 1))))
}
