package scorer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/homing-go/homing/swebench"
)

// Limits of each step of a request: connecting, waiting for the answer, each read.
const (
	healthLimit   = 10 * time.Second
	submitLimit   = 30 * time.Second
	pollLimit     = 30 * time.Second
	cancelLimit   = 10 * time.Second
	artifactLimit = 60 * time.Second

	// wholeFactor bounds an answer that comes in drops: so many times the limit of a step.
	wholeFactor = 4

	maxAnswer = 64 << 20
	maxDetail = 64 << 10 // of an answer that is an error
)

var errStalled = errors.New("timed out")

// client sends requests to one service.
type client struct {
	base, token string
	http        *http.Client
	secrets     redactor
}

func newClient(base, token string, transport http.RoundTripper, secrets redactor) *client {
	if transport == nil {
		// A connection for each request: net/http sends a request again by itself when a
		// connection that was kept turns out to be closed.
		transport = &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, DisableCompression: true}
	}
	return &client{base: base, token: token, secrets: secrets, http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// call is one request.
type call struct {
	op, method, path string
	accept           string
	body             []byte // nil sends none
	key              string // Idempotency-Key
	limit            time.Duration
	whole            time.Duration // for the whole call; 0 means wholeFactor times limit
}

// json sends c and returns the body of a 2xx answer. The error is a *[SetupError]; its Err
// wraps the cause of ctx if that is what ended the call.
func (c *client) json(ctx context.Context, k call) ([]byte, error) {
	k.accept = "application/json"
	var body []byte
	err := c.do(ctx, k, func(r io.Reader) error {
		var err error
		if body, err = io.ReadAll(io.LimitReader(r, maxAnswer+1)); err == nil && len(body) > maxAnswer {
			return &SetupError{Op: k.op, Reason: fmt.Sprintf("the answer has more than %d bytes", maxAnswer)}
		}
		return err
	})
	return body, err
}

// do sends c and gives the body of a 2xx answer to read.
func (c *client) do(parent context.Context, k call, read func(io.Reader) error) error {
	if k.whole == 0 {
		k.whole = wholeFactor * k.limit
	}
	whole, stop := context.WithTimeoutCause(parent, k.whole, errStalled)
	defer stop()
	ctx, cancel := context.WithCancelCause(whole)
	defer cancel(nil)
	step := time.AfterFunc(k.limit, func() { cancel(errStalled) })
	defer step.Stop()

	req, err := c.request(ctx, k)
	if err != nil {
		return &SetupError{Op: k.op, Reason: err.Error()}
	}
	res, err := c.http.Do(req)
	if err != nil {
		return c.failure(ctx, k, err)
	}
	defer res.Body.Close() //nolint:errcheck // read or given up
	body := &stepReader{r: res.Body, step: step, limit: k.limit}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		step.Reset(k.limit)
		detail, err := io.ReadAll(io.LimitReader(body, maxDetail)) // what there is of it
		text := string(detail)
		if err != nil || len(detail) == maxDetail {
			text = c.secrets.cut(text)
		}
		return &SetupError{Op: k.op, StatusCode: res.StatusCode, Reason: c.secrets.excerpt(text), retryAfter: res.Header.Get("Retry-After")}
	}
	step.Reset(k.limit)
	if err := read(body); err != nil {
		return c.failure(ctx, k, err)
	}
	return nil
}

func (c *client) request(ctx context.Context, k call) (*http.Request, error) {
	var body io.Reader
	if k.body != nil {
		body = bytes.NewReader(k.body)
	}
	req, err := http.NewRequestWithContext(ctx, k.method, c.base+k.path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", k.accept)
	if k.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if k.key != "" {
		req.Header.Set(swebench.IdempotencyHeader, k.key)
	}
	return req, nil
}

// failure makes a SetupError of what went wrong below HTTP.
func (c *client) failure(ctx context.Context, k call, err error) error {
	var setup *SetupError
	if errors.As(err, &setup) {
		return setup
	}
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err // without the URL
	}
	switch cause := context.Cause(ctx); {
	case cause == nil:
	case errors.Is(cause, errStalled):
		err = fmt.Errorf("%w: nothing came for %v, or not all within %v", errStalled, k.limit, k.whole)
	default:
		err = cause
	}
	return &SetupError{Op: k.op, Reason: c.secrets.excerpt(err.Error()), Err: err}
}

// stepReader restarts the clock with each read.
type stepReader struct {
	r     io.Reader
	step  *time.Timer
	limit time.Duration
}

func (s *stepReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if n > 0 {
		s.step.Reset(s.limit)
	}
	return n, err
}

func (c *client) health(ctx context.Context) (swebench.Health, error) {
	const op = "GET health"
	body, err := c.json(ctx, call{op: op, method: http.MethodGet, path: "health", limit: healthLimit})
	if err != nil {
		return swebench.Health{}, err
	}
	h, err := swebench.ParseHealth(body)
	if err != nil {
		return h, &SetupError{Op: op, Reason: c.secrets.excerpt(err.Error())}
	}
	if missing := h.Missing(swebench.CapRun, swebench.CapCancel, swebench.CapArtifacts); missing != nil {
		return h, &SetupError{Op: op, Reason: fmt.Sprintf("the service lacks the capabilities %v; use another one", missing)}
	}
	return h, nil
}

func (c *client) submit(ctx context.Context, body []byte, key string) (swebench.StatusView, error) {
	return c.status(ctx, call{op: "POST v1/runs", method: http.MethodPost, path: "v1/runs", body: body, key: key, limit: submitLimit})
}

func (c *client) poll(ctx context.Context, runID string) (swebench.StatusView, error) {
	return c.status(ctx, call{op: "GET v1/runs/" + runID, method: http.MethodGet, path: "v1/runs/" + runID, limit: pollLimit})
}

func (c *client) status(ctx context.Context, k call) (swebench.StatusView, error) {
	body, err := c.json(ctx, k)
	if err != nil {
		return swebench.StatusView{}, err
	}
	view, err := swebench.ParseStatus(body)
	if err != nil {
		return view, &SetupError{Op: k.op, Reason: c.secrets.excerpt(err.Error())}
	}
	return view, nil
}

// cancel asks the service to end the run, whatever has become of ctx.
func (c *client) cancel(ctx context.Context, runID string) error {
	_, err := c.json(context.WithoutCancel(ctx), call{
		op: "POST v1/runs/" + runID + "/cancel", method: http.MethodPost, path: "v1/runs/" + runID + "/cancel",
		limit: cancelLimit, whole: cancelLimit,
	})
	return err
}
