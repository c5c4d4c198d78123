package service_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/service"
	"github.com/stretchr/testify/require"
)

// When its context ends Serve cancels what runs, ends within its time, and leaves nothing.
func TestServe(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s, err := service.New(service.Config{ArtifactRoot: root, AuthToken: token, Runner: script(t, `{"runs":{"*":{"outcome":"hang"}}}`)})
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- service.Serve(ctx, l, s) }()
	w := &world{T: t, Service: s, root: root, url: "http://" + l.Addr().String()}
	require.Equal(t, 401, w.raw("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n").StatusCode)
	id := w.submit(body("")).RunID
	w.until(id, swebench.StateRunning)
	begin := time.Now()
	cancel()
	require.NoError(t, <-served)
	require.Less(t, time.Since(begin), 10*time.Second)
	require.NoError(t, s.Close(t.Context()), "again")
	w.open(newGate())
	require.Equal(t, swebench.StateCancelled, w.status(id).Status)
}

// A listener that is gone is an error, not a silence.
func TestServeFails(t *testing.T) {
	t.Parallel()
	s, err := service.New(service.Config{ArtifactRoot: t.TempDir(), AuthToken: token, Runner: newGate()})
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	require.Error(t, service.Serve(t.Context(), l, s))
}
