package routingtest

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/homing-go/homing/internal/rawjson"
)

// BackendConfig configures a [Backend]. The zero value works.
type BackendConfig struct {
	// Name is what the backend calls itself; empty means "backend".
	Name string
	// ServedBy is the response header that carries Name; empty means
	// X-Served-By, "-" means none.
	ServedBy string
	// Models are listed at /v1/models; none means "routingtest". A request may
	// name any model, and without one gets the first.
	Models []string
	// Reply decides the answers; nil means Echo.
	Reply Reply
	// ReasoningField names the member for Answer.Reasoning; empty means
	// "reasoning_content". Newer vLLM says "reasoning".
	ReasoningField string
	// ChunkBytes is the size of the pieces of a stream; 0 means 16. A character
	// is never split.
	ChunkBytes int
	// MaxBodyBytes limits a request body; 0 means 64 MiB.
	MaxBodyBytes int64
	// CacheEntries limits the prefix cache, at about 100 bytes each; 0 means
	// 131,072, less than 0 means no cache. A history takes one entry for each
	// message.
	CacheEntries int
	// PrefillPerToken passes for each prompt token that is not cached before
	// the response begins.
	PrefillPerToken time.Duration
	// DecodePerToken passes for each token of the answer before the piece, or
	// the plain body, that carries it.
	DecodePerToken time.Duration
	// Faults decides what goes wrong; nil means an own one. Backends may share
	// one: then the next n requests are the next to any of them.
	Faults *Faults
	// Record is how many of the latest requests to keep, bodies and all, for
	// Records; 0 means none.
	Record int
}

// Backend is an http.Handler that stands for one replica of an OpenAI-compatible
// server: POST chat/completions and GET models, with or without /v1 before them.
// It is safe for concurrent use and owns no goroutine. Make one with
// [NewBackend].
type Backend struct {
	cfg   BackendConfig
	cache *prefixCache
	meter meter
	ids   atomic.Int64
}

// NewBackend returns a backend that has cached nothing yet.
func NewBackend(cfg BackendConfig) *Backend {
	or(&cfg.Name, "backend")
	or(&cfg.ServedBy, "X-Served-By")
	or(&cfg.ReasoningField, "reasoning_content")
	or(&cfg.ChunkBytes, 16)
	or(&cfg.MaxBodyBytes, 64<<20)
	or(&cfg.CacheEntries, 1<<17)
	cfg.ChunkBytes = max(cfg.ChunkBytes, 1)
	cfg.Models = slices.Clone(cfg.Models)
	if len(cfg.Models) == 0 {
		cfg.Models = []string{"routingtest"}
	}
	if cfg.Reply == nil {
		cfg.Reply = Echo()
	}
	if cfg.Faults == nil {
		cfg.Faults = new(Faults)
	}
	return &Backend{cfg: cfg, cache: newPrefixCache(cfg.CacheEntries), meter: meter{limit: cfg.Record}}
}

// or sets a zero value to its meaning.
func or[T comparable](v *T, meaning T) {
	var zero T
	if *v == zero {
		*v = meaning
	}
}

// Name returns the configured name.
func (b *Backend) Name() string { return b.cfg.Name }

// Faults returns what decides on faults, to be changed at any time.
func (b *Backend) Faults() *Faults { return b.cfg.Faults }

// Forget empties the prefix cache, as a restart would.
func (b *Backend) Forget() { b.cache.clear() }

// Stats returns the counts up to now.
func (b *Backend) Stats() BackendStats {
	b.meter.mu.Lock()
	defer b.meter.mu.Unlock()
	return b.meter.stats
}

// Records returns the kept requests, oldest first, in the order in which their
// bodies had arrived.
func (b *Backend) Records() []Record { return b.meter.snapshot() }

// ServeHTTP implements http.Handler.
func (b *Backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.meter.enter()
	defer b.meter.leave()
	if b.cfg.ServedBy != "-" {
		w.Header().Set(b.cfg.ServedBy, b.cfg.Name)
	}
	body, err := readBody(w, r, b.cfg.MaxBodyBytes)
	b.meter.record(r, body)
	switch {
	case err != nil:
		b.fail(w, r, err)
	case r.Method == http.MethodPost && (r.URL.Path == "/v1/chat/completions" || r.URL.Path == "/chat/completions"):
		b.chat(w, &Request{HTTP: r, Body: body}) //nolint:contextcheck // it is the request's, which a Request carries
	case r.Method == http.MethodGet && (r.URL.Path == "/v1/models" || r.URL.Path == "/models"):
		writeJSON(w, http.StatusOK, b.models())
	default:
		refuse(w, &requestError{status: http.StatusNotFound, message: "no such endpoint: " + r.Method + " " + r.URL.Path})
	}
}

// fail answers a request that could not be read.
func (b *Backend) fail(w http.ResponseWriter, r *http.Request, err error) {
	if e, ok := errors.AsType[*requestError](err); ok {
		refuse(w, e)
		return
	}
	abort(r) // the body did not arrive
}

func (b *Backend) models() []byte {
	j := []byte(`{"object":"list","data":[`)
	for i, m := range b.cfg.Models {
		if i > 0 {
			j = append(j, ',')
		}
		j = append(j, `{"id":`...)
		j = rawjson.AppendQuoted(j, m)
		j = append(j, `,"object":"model","created":0,"owned_by":"routingtest"}`...)
	}
	return append(j, "]}"...)
}

// nextID returns the ID of a response.
func (b *Backend) nextID() string {
	return "chatcmpl-" + b.cfg.Name + "-" + strconv.FormatInt(b.ids.Add(1), 10)
}
