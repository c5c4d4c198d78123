package runner

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"
)

// The waits between two looks at an endpoint that is away. They double.
const (
	firstLook = 500 * time.Millisecond
	lastLook  = 10 * time.Second
)

// A patience is a transport whose requests wait while the endpoint is away, after it has been
// there: nobody takes connections, or the gateway in front says that it has nobody behind it.
// All requests share one clock, so an endpoint that does not come back costs its time once.
type patience struct {
	base   http.RoundTripper
	limit  time.Duration
	logger *slog.Logger

	mu    sync.Mutex
	known bool      // it has answered
	since time.Time // it is away; zero while it is there
}

// RoundTrip implements [http.RoundTripper].
func (p *patience) RoundTrip(req *http.Request) (*http.Response, error) {
	for look := firstLook; ; look = min(2*look, lastLook) {
		res, err := p.base.RoundTrip(req)
		if !isAway(res, err) {
			if err == nil {
				p.back()
			}
			return res, err
		}
		left := p.away()
		if left <= 0 || req.Context().Err() != nil {
			return res, err
		}
		again, ok := another(req)
		if !ok {
			return res, err
		}
		if res != nil {
			_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<16))
			_ = res.Body.Close()
		}
		if err := wait(req.Context(), min(left, look/2+rand.N(look/2))); err != nil { //nolint:gosec // jitter needs no secrecy
			return nil, err
		}
		req = again
	}
}

// CloseIdleConnections is forwarded.
func (p *patience) CloseIdleConnections() {
	if c, ok := p.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// isAway tells what a restart looks like. A server that asks to wait is there.
func isAway(res *http.Response, err error) bool {
	if err != nil {
		var failed *net.OpError
		return errors.As(err, &failed) && failed.Op == "dial" && !errors.Is(err, context.Canceled)
	}
	switch res.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return res.Header.Get("Retry-After") == "" && res.Header.Get("Retry-After-Ms") == ""
	}
	return false
}

// away notes that the endpoint is away, and returns how long requests still wait for it.
func (p *patience) away() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.known {
		return 0
	}
	if p.since.IsZero() {
		p.since = time.Now()
		p.logger.Warn("the endpoint is away; requests wait for it", "at_most", p.limit)
	}
	return p.limit - time.Since(p.since)
}

// back notes that the endpoint has answered.
func (p *patience) back() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known = true; !p.since.IsZero() {
		p.logger.Info("the endpoint is back", "after", time.Since(p.since).Round(time.Second))
		p.since = time.Time{}
	}
}

// another is a request to be sent again; false if its body can be read only once.
func another(req *http.Request) (*http.Request, bool) {
	again := req.Clone(req.Context())
	if req.Body == nil || req.Body == http.NoBody {
		return again, true
	}
	if req.GetBody == nil {
		return nil, false
	}
	var err error
	again.Body, err = req.GetBody()
	return again, err == nil
}
