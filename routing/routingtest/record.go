package routingtest

import (
	"net/http"
	"net/url"
	"sync"
	"time"
)

// BackendStats counts what a backend has done. An answer is counted before its
// first byte goes out.
type BackendStats struct {
	Requests    int // all requests, whatever path and outcome
	Completions int // answers made, cut ones included
	Faults      int // chat completions that a Fault other than the zero one met
	InFlight    int // requests being served now
	MaxInFlight int // the most at one time

	PromptTokens, CachedTokens, CompletionTokens int // of all Completions
}

// Record is a request as a backend received it, header names in the spelling of
// net/http. It is shared; do not modify it.
type Record struct {
	Time   time.Time // when its body had arrived
	Method string
	URL    *url.URL
	Header http.Header
	Body   []byte // whole, unless the backend refused it as too large
}

// A meter keeps counts and the latest records of a backend.
type meter struct {
	mu      sync.Mutex
	stats   BackendStats
	records []Record // a ring once it is full
	oldest  int
	limit   int
}

func (m *meter) enter() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stats.Requests++
	m.stats.InFlight++
	m.stats.MaxInFlight = max(m.stats.MaxInFlight, m.stats.InFlight)
}

func (m *meter) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stats.InFlight--
}

func (m *meter) fault() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stats.Faults++
}

func (m *meter) completion(u usage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stats.Completions++
	m.stats.PromptTokens += u.prompt
	m.stats.CachedTokens += u.cached
	m.stats.CompletionTokens += u.completion
}

func (m *meter) record(r *http.Request, body []byte) {
	if m.limit <= 0 {
		return
	}
	rec := Record{time.Now(), r.Method, r.URL, r.Header.Clone(), body}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.records) < m.limit {
		m.records = append(m.records, rec)
		return
	}
	m.records[m.oldest] = rec
	m.oldest = (m.oldest + 1) % m.limit
}

// snapshot returns the records, oldest first.
func (m *meter) snapshot() []Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([]Record, 0, len(m.records))
	list = append(list, m.records[m.oldest:]...)
	return append(list, m.records[:m.oldest]...)
}
