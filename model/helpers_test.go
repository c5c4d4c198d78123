package model_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/homing-go/homing/internal/memhttp"
	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/routing"
	"github.com/stretchr/testify/require"
)

const (
	okAnswer = `{"choices":[{"index":0,"message":{"role":"assistant","content":"fine"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1}}`
	testID   = routing.ID("0123456789abcdef0123456789abcdef")
)

// seen is one request as a server saw it.
type seen struct {
	method, path string
	header       http.Header
	body         string
	at           time.Time
}

// script answers the n-th request with the n-th handler, the last one from then on.
type script struct {
	mu    sync.Mutex
	steps []http.HandlerFunc
	seen  []seen
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	n := min(len(s.seen), len(s.steps)-1)
	s.seen = append(s.seen, seen{r.Method, r.URL.RequestURI(), r.Header.Clone(), string(body), time.Now()})
	step := s.steps[n]
	s.mu.Unlock()
	step(w, r)
}

func (s *script) requests() []seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]seen(nil), s.seen...)
}

func serve(t *testing.T, steps ...http.HandlerFunc) (*script, string) {
	t.Helper()
	s := &script{steps: steps}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, server.URL
}

func answer(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, text)
	}
}

func status(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, `{"error":{"message":"secret words of the prompt","type":"some_type","code":"some_code"}}`)
	}
}

func events(lines ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, line := range lines {
			_, _ = io.WriteString(w, "data: "+line+"\n\n")
		}
	}
}

// inMemory returns a client of a server in memory, to be used inside of a bubble.
func inMemory(t *testing.T, cfg model.Config, steps ...http.HandlerFunc) (*model.Base, *script) {
	t.Helper()
	s := &script{steps: steps}
	server := memhttp.Serve(s)
	transport := server.Transport()
	cfg.BaseURL, cfg.HTTPClient = server.URL()+"/v1", &http.Client{Transport: transport}
	if cfg.Model == "" {
		cfg.Model = "m"
	}
	b, err := model.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		b.CloseIdleConnections()
		server.Close()
	})
	return b, s
}

func routed() context.Context {
	return routing.NewContext(context.Background(), routing.NewSession(testID))
}

func ask(text string) *model.Request {
	return &model.Request{Messages: model.NewTranscript(model.User(text)).Snapshot()}
}

// quick is a retry policy for real sockets.
var quick = model.Retry{MinWait: time.Millisecond, MaxWait: 2 * time.Millisecond}
