package model_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/homing-go/homing/model"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// roundTrip is a transport in process.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// through returns a client whose requests end in f. It does not wait long between attempts.
func through(t *testing.T, cfg model.Config, f roundTrip) *model.Base {
	t.Helper()
	cfg.BaseURL, cfg.Model, cfg.HTTPClient = "http://model.test/v1", "m", &http.Client{Transport: f}
	if cfg.Retry.MinWait == 0 {
		cfg.Retry.MinWait, cfg.Retry.MaxWait = quick.MinWait, quick.MaxWait
	}
	b, err := model.New(cfg)
	require.NoError(t, err)
	return b
}

// response has no more than a transport must fill in.
func response(contentType, body string) *http.Response {
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: -1,
	}
}

// raw serves every connection with bytes that speak writes behind one request; then the
// connection ends. What speak writes fails once the client has gone.
func raw(t *testing.T, speak func(c net.Conn)) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var (
		mu    sync.Mutex
		open  []net.Conn
		group sync.WaitGroup
	)
	group.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			group.Go(func() {
				defer c.Close()
				req, err := http.ReadRequest(bufio.NewReader(c))
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, req.Body)
				speak(c)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for _, c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		group.Wait()
	})
	return "http://" + l.Addr().String() + "/v1"
}

// flood writes text over and over until the client has gone.
func flood(c net.Conn, text string) {
	block := []byte(strings.Repeat(text, 1+(64<<10)/len(text)))
	for {
		if _, err := c.Write(block); err != nil {
			return
		}
	}
}

// drip writes text byte by byte, over and over, until the client has gone.
func drip(c net.Conn, text string, each time.Duration) {
	for i := 0; ; i++ {
		if _, err := io.WriteString(c, text[i%len(text):][:1]); err != nil {
			return
		}
		time.Sleep(each)
	}
}

// held keeps the connection open until the client has gone.
func held(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

// calm fails the test if a goroutine is left at its end. It must come first, so that what
// the test cleans up is gone by then, and does not work beside parallel tests.
func calm(t *testing.T) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
}

// allocated returns how many bytes were allocated while call ran, in sum: a bound on what
// it ever held.
func allocated(call func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// connections counts those of a server.
type connections struct {
	mu      sync.Mutex
	changed chan struct{} // closed at the next change
	opened  int
	now     map[net.Conn]http.ConnState
}

// counted starts a server that counts its connections.
func counted(t *testing.T, h http.Handler) (*connections, string) {
	t.Helper()
	c := &connections{changed: make(chan struct{}), now: map[net.Conn]http.ConnState{}}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else a server does not see its client go
		h.ServeHTTP(w, r)
	}))
	server.Config.ConnState = c.note
	server.Start()
	t.Cleanup(server.Close)
	return c, server.URL + "/v1"
}

func (c *connections) note(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		c.opened++
		c.now[conn] = state
	case http.StateClosed, http.StateHijacked:
		delete(c.now, conn)
	default:
		c.now[conn] = state
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *connections) all() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.opened
}

// await waits until as many connections are open as wanted, idle ones included.
func (c *connections) await(t *testing.T, want int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for {
		c.mu.Lock()
		n, changed := len(c.now), c.changed
		c.mu.Unlock()
		if n == want {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("%d connections are open, want %d", n, want)
		}
	}
}
