package runner_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/homing-go/homing/internal/need"
	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/swebench/agent"
	"github.com/homing-go/homing/swebench/runner"
	"github.com/homing-go/homing/swebench/runner/runnertest"
	"github.com/stretchr/testify/require"
)

// hears is a log handler that calls back for a message.
type hears struct {
	slog.Handler
	message string
	do      func()
}

func (h *hears) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, h.message) {
		h.do()
	}
	return nil
}
func (h *hears) Enabled(context.Context, slog.Level) bool { return true }

// A server that is restarted in the middle of a run fails no instance: requests wait for it,
// and each trajectory goes on under its session.
func TestEndpointIsRestarted(t *testing.T) {
	w := newWorld(t, 3)
	need.Programs(t, "bash")
	target, err := url.Parse(strings.TrimSuffix(w.cluster.URL(), "/v1"))
	require.NoError(t, err)
	front := httputil.NewSingleHostReverseProxy(target)
	transport := &http.Transport{}
	front.Transport = transport
	t.Cleanup(transport.CloseIdleConnections)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	var answered atomic.Int64
	var server *http.Server
	begin := func(l net.Listener) {
		server = &http.Server{ReadHeaderTimeout: time.Minute}
		current := server
		current.Handler = http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
			front.ServeHTTP(rw, req)
			if answered.Add(1) == 5 {
				go current.Shutdown(context.Background()) // what is under way is answered
			}
		})
		go func() { _ = current.Serve(l) }()
	}
	begin(listener)
	t.Cleanup(func() { _ = server.Close() })
	back := make(chan struct{})
	logger := slog.New(&hears{message: "the endpoint is away", do: func() {
		l, err := net.Listen("tcp", address) // not before somebody was refused
		if err != nil {
			t.Error(err)
			return
		}
		begin(l)
		close(back)
	}})
	setup := runner.Setup{
		Dataset: w.set.Dataset, BaseURL: "http://" + address + "/v1", Model: "org/tiny", Templates: []string{"qwen_tools"}, Sandbox: "local", Harness: "none",
		Workers: 3, Out: filepath.Join(w.dir, "restarted"), Logger: logger, Retry: model.Retry{Max: -1},
	}
	cfg, endpoint, err := setup.Open(t.Context())
	require.NoError(t, err)
	defer endpoint.CloseIdleConnections()
	res := w.run(cfg)
	<-back
	require.Len(t, res.Statuses[string(agent.Submitted)], 3, "%+v", res.Reasons)
	for _, values := range w.sessions("X-Session-ID") {
		require.GreaterOrEqual(t, len(values), runnertest.Turns)
		for _, v := range values {
			require.Equal(t, values[0], v)
		}
	}

	// Without patience they fail.
	setup.Outage, setup.Out, setup.Logger = -1, filepath.Join(w.dir, "impatient"), nil
	answered.Store(0)
	cfg, endpoint, err = setup.Open(t.Context())
	require.NoError(t, err)
	defer endpoint.CloseIdleConnections()
	require.NotEmpty(t, w.run(cfg).Statuses[string(agent.EndpointFailed)])
}
