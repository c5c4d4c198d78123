package runner

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// An outage is an endpoint that is away from one moment to another one.
type outage struct {
	from, to time.Time
	failure  func() (*http.Response, error)
	asked    int
}

func (o *outage) RoundTrip(req *http.Request) (*http.Response, error) {
	o.asked++
	body, err := io.ReadAll(req.Body)
	if err != nil || string(body) != "body" {
		return nil, errors.New("the body is not whole")
	}
	if now := time.Now(); !now.Before(o.from) && now.Before(o.to) {
		return o.failure()
	}
	return reply(200)
}

func reply(status int, header ...string) (*http.Response, error) {
	res := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(""))}
	if len(header) == 2 {
		res.Header.Set(header[0], header[1])
	}
	return res, nil
}

func refuse() (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
}

func TestPatience(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failure func() (*http.Response, error)
		before  bool          // it has answered before
		away    time.Duration // how long
		status  int           // in the end; 0 is an error
		within  time.Duration // from the beginning
	}{
		"restarted":         {refuse, true, 5 * time.Minute, 200, 5*time.Minute + lastLook},
		"gateway":           {func() (*http.Response, error) { return reply(502) }, true, 5 * time.Minute, 200, 5*time.Minute + lastLook},
		"does not come":     {refuse, true, 24 * time.Hour, 0, 10 * time.Minute},
		"gateway for ever":  {func() (*http.Response, error) { return reply(503) }, true, 24 * time.Hour, 503, 10 * time.Minute},
		"never there":       {refuse, false, 24 * time.Hour, 0, 0},
		"asks to wait":      {func() (*http.Response, error) { return reply(503, "Retry-After", "7") }, true, 24 * time.Hour, 503, 0},
		"fails by itself":   {func() (*http.Response, error) { return reply(500) }, true, 24 * time.Hour, 500, 0},
		"breaks in between": {func() (*http.Response, error) { return nil, io.ErrUnexpectedEOF }, true, 24 * time.Hour, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			o := &outage{failure: c.failure}
			var log bytes.Buffer
			p := &patience{base: o, limit: 10 * time.Minute, logger: slog.New(slog.NewTextHandler(&log, nil))}
			ask := func() int {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://host", strings.NewReader("body"))
				require.NoError(t, err)
				res, err := p.RoundTrip(req)
				if err != nil {
					require.NotContains(t, err.Error(), "whole")
					return 0
				}
				require.NoError(t, res.Body.Close())
				return res.StatusCode
			}
			if c.before {
				require.Equal(t, 200, ask(), name)
			}
			o.from, o.to, o.asked = time.Now(), time.Now().Add(c.away), 0
			begin := time.Now()
			require.Equal(t, c.status, ask(), name)
			took := time.Since(begin)
			require.LessOrEqual(t, took, c.within, name)
			require.GreaterOrEqual(t, took, min(c.away, c.within), name)
			require.Less(t, o.asked, 200, name)
			require.Equal(t, c.within > 0, strings.Contains(log.String(), "the endpoint is away"), name)
			require.Equal(t, c.status == 200, strings.Contains(log.String(), "the endpoint is back"), name)
			// What does not come back was waited for once.
			begin = time.Now()
			require.Equal(t, c.status, ask(), name)
			require.Zero(t, time.Since(begin), name)
		})
	}
}
