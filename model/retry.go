package model

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/hashicorp/go-retryablehttp"
	"github.com/homing-go/homing/routing"
)

// retrier is the one retry layer: go-retryablehttp, with a policy of its own, behind
// the interface of a transport.
type retrier struct {
	base   *Base
	client *retryablehttp.Client
	// send makes one attempt. The last argument is what comes below a middleware; it
	// is nil below an http.Client.
	send func(*http.Request, nextFunc) (*http.Response, error)
}

type nextFunc = func(*http.Request) (*http.Response, error)

func newRetrier(b *Base, send func(*http.Request, nextFunc) (*http.Response, error)) *retrier {
	r := &retrier{base: b, send: send}
	r.client = &retryablehttp.Client{
		// This client follows no redirect, has no jar, and its transport hides
		// CloseIdleConnections: retryablehttp would call it on every failure and take
		// the connections of all other sessions down.
		HTTPClient: &http.Client{
			Transport:     attempts{r},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		RetryMax:     math.MaxInt, // the policy counts, over redirects too
		CheckRetry:   r.check,
		Backoff:      r.backoff,
		ErrorHandler: lastOutcome,
	}
	return r
}

type nextKey struct{}

// RoundTrip implements [http.RoundTripper].
func (r *retrier) RoundTrip(req *http.Request) (*http.Response, error) { return r.do(req, nil) }

func (r *retrier) do(req *http.Request, next nextFunc) (*http.Response, error) {
	c := callFrom(req.Context())
	if c == nil {
		return nil, errNoCall
	}
	if !c.sending.CompareAndSwap(false, true) {
		return nil, errTwice
	}
	defer c.sending.Store(false)
	if req.Response != nil && c.attempts > 0 {
		c.attempts-- // a redirect goes on with the attempt that met it
	}
	ctx := req.Context()
	if next != nil {
		ctx = context.WithValue(ctx, nextKey{}, next)
	}
	retryable := &retryablehttp.Request{Request: req.WithContext(ctx)}
	switch {
	case req.Body == nil || req.Body == http.NoBody:
	case req.GetBody == nil:
		c.once = true
	default:
		_ = req.Body.Close()
		if err := retryable.SetBody(func() (io.Reader, error) { return req.GetBody() }); err != nil {
			return nil, err
		}
		retryable.ContentLength = req.ContentLength
	}
	retryable.SetResponseHandler(c.receive)
	res, err := r.client.Do(retryable)
	if err != nil {
		return nil, err
	}
	res.Request = req
	return res, nil
}

// errNoCall marks a request that did not come through the client's own middleware.
var errNoCall = &ConfigError{Field: "API", Reason: "the request bypassed the client's middleware"}

// errTwice is for middlewares that hedge: the attempts of one call are counted together.
var errTwice = &ConfigError{Field: "api", Reason: "a middleware of the wrapped client sends one request twice at a time; one behind the other is possible"}

// check is the retry policy.
func (r *retrier) check(ctx context.Context, res *http.Response, err error) (bool, error) {
	c := callFrom(ctx)
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if err != nil {
		if permanent(err) || foreign(c, err) {
			return false, err
		}
		return r.again(ctx, c, err, res), nil // res is that of a success with the failure in it
	}
	if res.StatusCode < 400 {
		return false, nil
	}
	if c.failure == nil {
		c.readFailure(res)
	}
	if !retryableStatus(res) || c.failure.Kind == KindContextLength {
		return false, nil
	}
	return r.again(ctx, c, c.failure, res), nil
}

// again tells whether the budget has another attempt, and whether the server allows
// it in time.
func (r *retrier) again(ctx context.Context, c *call, why error, res *http.Response) bool {
	if c.once || c.attempts > r.base.cfg.Retry.Max {
		return false
	}
	wait := retryAfter(res)
	if wait > r.base.cfg.Retry.MaxRetryAfter {
		return false
	}
	info := RetryInfo{Attempt: c.attempts, Kind: KindTransport, RetryAfter: wait}
	var failure *Error
	if errors.As(why, &failure) {
		info.Kind, info.StatusCode = failure.Kind, failure.StatusCode
	}
	own := budgetFrom(ctx, r.base.cfg.Retry)
	if c.spent = !own.take(); c.spent {
		return false
	}
	// That a model wrote what its server cannot parse says nothing about the server.
	if c.spent = info.Kind != KindOutput && !r.base.budget.take(); c.spent {
		own.put()
		return false
	}
	if hook := r.base.cfg.Hooks.Retry; hook != nil {
		hook(ctx, info)
	}
	if logger := r.base.cfg.Logger; logger != nil {
		logger.LogAttrs(ctx, slog.LevelWarn, "model: attempt failed, trying again",
			slog.String("origin", c.origin), slog.Int("attempt", info.Attempt), slog.Int("status", info.StatusCode),
			slog.String("kind", info.Kind.Error()), slog.Duration("retry_after", wait))
	}
	return true
}

// backoff is how long to wait for the next attempt: what the server asked for, else
// a doubling time of which the upper half is jitter.
func (r *retrier) backoff(_, _ time.Duration, n int, res *http.Response) time.Duration {
	if wait := retryAfter(res); wait > 0 {
		return wait
	}
	policy := r.base.cfg.Retry
	wait := policy.MaxWait
	if n < 62 && policy.MinWait<<n>>n == policy.MinWait {
		wait = min(wait, policy.MinWait<<n)
	}
	return wait - rand.N(wait/2+1) //nolint:gosec // jitter needs no secrecy
}

// lastOutcome returns either the last response or the error, as a transport must.
func lastOutcome(res *http.Response, err error, _ int) (*http.Response, error) {
	if err == nil {
		return res, nil
	}
	if res != nil && res.Body != nil {
		_ = res.Body.Close()
	}
	return nil, err
}

// permanent tells that the same request can only fail in the same way.
func permanent(err error) bool {
	var carrier *routing.CarrierError
	var id *routing.IDError
	var config *ConfigError
	var request *RequestError
	var failure *Error
	switch {
	case errors.Is(err, routing.ErrNoSession), errors.As(err, &carrier), errors.As(err, &id), errors.As(err, &config), errors.As(err, &request):
		return true
	case errors.As(err, &failure):
		return !retryableKind(failure.Kind)
	}
	return broken(err)
}

// foreign tells that a request failed behind a redirect to another origin, where the
// session must not go.
func foreign(c *call, err error) bool {
	var failed *url.Error
	if c == nil || c.origin == "" || !errors.As(err, &failed) {
		return false
	}
	// The outermost is that of the retry layer's own client, which sees no redirect.
	for inner := failed; ; {
		failed = inner
		if inner = nil; !errors.As(failed.Err, &inner) {
			break
		}
	}
	u, err := url.Parse(failed.URL)
	return err == nil && u.Scheme+"://"+u.Host != c.origin
}

func retryableKind(k Kind) bool {
	switch k {
	case KindRateLimited, KindOverloaded, KindServer, KindTruncated, KindTransport, KindTimeout, KindOutput:
		return true
	}
	return false
}

// retryableStatus goes by the status, unless the server says what it wants.
func retryableStatus(res *http.Response) bool {
	switch res.Header.Get("X-Should-Retry") {
	case "true":
		return true
	case "false":
		return false
	}
	switch res.StatusCode {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented:
		return false
	}
	return res.StatusCode >= 500
}

// retryAfter reads the wait that a server asks for: milliseconds, seconds, or a date
// (RFC 9110, section 10.2.3). 0 means none.
func retryAfter(res *http.Response) time.Duration {
	if res == nil {
		return 0
	}
	for _, form := range [...]struct {
		name string
		unit time.Duration
	}{{"Retry-After-Ms", time.Millisecond}, {"Retry-After", time.Second}} {
		text := res.Header.Get(form.name)
		if text == "" {
			continue
		}
		if n, err := strconv.ParseFloat(text, 64); err == nil || errors.Is(err, strconv.ErrRange) {
			if !(n > 0) {
				return 0
			}
			const most = float64(math.MaxInt64 / 2)
			return time.Duration(min(math.Round(n*float64(form.unit)), most))
		}
		if date, err := http.ParseTime(text); err == nil {
			return max(0, time.Until(date))
		}
	}
	return 0
}
