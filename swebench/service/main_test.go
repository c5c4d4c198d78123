package service_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/service"
	"github.com/homing-go/homing/swebench/service/scripted"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "tk-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXY"

// A world is a service on a loopback socket and a client of it.
type world struct {
	*testing.T
	*service.Service
	root string
	url  string
	log  *locked
}

// locked is a buffer that goroutines share.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start starts a service with a token; set changes its configuration.
func start(t *testing.T, runner service.Runner, set ...func(*service.Config)) *world {
	t.Helper()
	w := &world{T: t, root: t.TempDir(), log: &locked{}}
	w.open(runner, set...)
	return w
}

func (w *world) open(runner service.Runner, set ...func(*service.Config)) {
	w.Helper()
	cfg := service.Config{
		ArtifactRoot: w.root, Runner: runner, AuthToken: token,
		Logger: slog.New(slog.NewTextHandler(w.log, nil)),
	}
	for _, s := range set {
		s(&cfg)
	}
	s, err := service.New(cfg)
	require.NoError(w, err)
	server := httptest.NewUnstartedServer(s)
	server.Config.DisableGeneralOptionsHandler = true // as Serve does
	server.Start()
	w.Service, w.url = s, server.URL
	w.Cleanup(func() {
		server.Close()
		if w.Service != s {
			return // it was killed
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		require.NoError(w, s.Close(ctx))
	})
}

// script is a runner that plays a script.
func script(t testing.TB, text string) service.Runner {
	t.Helper()
	s, err := scripted.Parse([]byte(text))
	require.NoError(t, err)
	return &scripted.Runner{Script: s}
}

// gate is a runner that succeeds when its channel is closed, and tells when it starts.
type gate struct {
	started chan service.Job
	open    chan struct{}
}

func newGate() *gate {
	return &gate{started: make(chan service.Job, 100), open: make(chan struct{})}
}

func (g *gate) Run(ctx context.Context, job service.Job) (json.RawMessage, error) {
	g.started <- job
	select {
	case <-g.open:
		return json.RawMessage(`{"submitted_instances":1,"resolved_instances":1}`), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type answer struct {
	*http.Response
	body string
}

func (w *world) do(req *http.Request) answer {
	w.Helper()
	res, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(w, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(w, err)
	return answer{res, string(body)}
}

func (w *world) request(method, path, body string) *http.Request {
	w.Helper()
	req, err := http.NewRequest(method, w.url+path, strings.NewReader(body))
	require.NoError(w, err)
	req.Header.Set("Authorization", "Bearer "+token)
	return req
}

func (w *world) call(method, path, body string) answer {
	w.Helper()
	return w.do(w.request(method, path, body))
}

// body is a submission for these instances, with more members.
func body(more string, ids ...string) string {
	if len(ids) == 0 {
		ids = []string{"a-1"}
	}
	list, _ := json.Marshal(ids)
	n, _ := json.Marshal(len(ids))
	if more != "" {
		more = "," + more
	}
	if !strings.Contains(more, `"model_name"`) {
		more += `,"model_name":"m"`
	}
	return `{"endpoint_urls":["http://127.0.0.1:9/v1"],"num_instances":` + string(n) +
		`,"workers":1,"max_eval_workers":1,"evaluated_instance_ids":` + string(list) + more + `}`
}

func (w *world) submit(text string) swebench.StatusView {
	w.Helper()
	res := w.call("POST", "/v1/runs", text)
	require.Equal(w, 202, res.StatusCode, res.body)
	return parse(w, res.body)
}

func parse(t testing.TB, text string) swebench.StatusView {
	t.Helper()
	v, err := swebench.ParseStatus([]byte(text))
	require.NoError(t, err)
	return v
}

func (w *world) status(id string) swebench.StatusView {
	w.Helper()
	res := w.call("GET", "/v1/runs/"+id, "")
	require.Equal(w, 200, res.StatusCode, res.body)
	return parse(w, res.body)
}

// until polls until the run has this state.
func (w *world) until(id string, want swebench.State) swebench.StatusView {
	w.Helper()
	var v swebench.StatusView
	require.Eventually(w, func() bool {
		v = w.status(id)
		return v.Status == want
	}, 10*time.Second, 2*time.Millisecond, "run is not %s", want)
	return v
}

func (w *world) cancel(id string) swebench.StatusView {
	w.Helper()
	res := w.call("POST", "/v1/runs/"+id+"/cancel", "")
	require.Equal(w, 200, res.StatusCode, res.body)
	return parse(w, res.body)
}

func (w *world) artifact(id, name string) answer {
	w.Helper()
	return w.call("GET", swebench.ArtifactPath(id, name), "")
}

func (w *world) path(elem ...string) string {
	return filepath.Join(append([]string{w.root}, elem...)...)
}

func (w *world) write(name, text string) {
	w.Helper()
	require.NoError(w, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(w, os.WriteFile(name, []byte(text), 0o644))
}

func names(list []swebench.Artifact) []string {
	got := []string{}
	for _, a := range list {
		got = append(got, a.Name)
	}
	return got
}

// restart kills the service and starts another one in its folder.
func (w *world) restart(runner service.Runner, set ...func(*service.Config)) {
	w.Helper()
	w.Abandon()
	w.open(runner, set...)
}
