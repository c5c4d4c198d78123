package model

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/homing-go/homing/routing"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"golang.org/x/sync/semaphore"
)

// Base is the client for OpenAI-compatible servers. It sends the session of the
// context on every request, on each attempt, and encodes of a history only what is
// new. It is safe for concurrent use. Embed *Base to make a client type of your own;
// what differs in the wire format goes into a [Dialect].
type Base struct {
	cfg   Config
	api   openai.Client // made of options only: it reads no environment
	route *routing.Transport
	// ownOptions tells that New chose all options of api.
	ownOptions bool
	baseURL    *url.URL
	seenURL    atomic.Pointer[url.URL] // a target of the last request, where the base URL is not known
	idle       func()
	budget     *bucket
	retry      *retrier
	slots      *semaphore.Weighted // nil: no limit
}

var _ Client = (*Base)(nil)

// errNotMade is the error of a Base that is nil or zero.
var errNotMade = &ConfigError{Field: "Base", Reason: "it is empty; make it with New or Wrap"}

// New returns a client. The layers, outermost first: the SDK with authentication and
// origin check, an http.Client with the redirect policy, the one retry layer, the
// session, the connection pool. The error is a *[ConfigError].
func New(cfg Config) (*Base, error) {
	u, err := parseBaseURL(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	if cfg, err = cfg.withDefaults(); err != nil {
		return nil, err
	}
	b := newBase(cfg)
	b.ownOptions, b.baseURL = true, u
	client := new(http.Client)
	if cfg.HTTPClient != nil {
		*client = *cfg.HTTPClient
	}
	if client.Transport == nil {
		client.Transport = NewTransport()
	}
	b.route = b.newRoute(client.Transport)
	b.idle = b.route.CloseIdleConnections
	b.retry = newRetrier(b, func(req *http.Request, _ nextFunc) (*http.Response, error) { return b.route.RoundTrip(req) })
	client.Transport = b.retry
	client.CheckRedirect = keepMethod(client.CheckRedirect)
	opts := []option.RequestOption{
		option.WithMiddleware(b.enter), option.WithBaseURL(cfg.BaseURL), option.WithHTTPClient(client), option.WithMaxRetries(0),
	}
	if cfg.APIKey != "" {
		opts = append(opts, option.WithAPIKey(cfg.APIKey))
	}
	b.api = openai.Client{Options: opts}
	return b, nil
}

func newBase(cfg Config) *Base {
	b := &Base{cfg: cfg, budget: newBucket(cfg.Retry.ClientBudget, 0.1, 1)}
	if n := cfg.Limits.InFlight; n > 0 {
		b.slots = semaphore.NewWeighted(int64(n)) // first come, first served
	}
	return b
}

func (b *Base) newRoute(base http.RoundTripper) *routing.Transport {
	return &routing.Transport{
		Base: base, Carrier: b.cfg.Carrier, Missing: routing.MissingRefuse, Audit: b.cfg.Audit, Conflict: conflict,
	}
}

// Generate implements [Client]. The error is an *[Error]; before anything was sent
// also [routing.ErrNoSession], an *[routing.IDError], a *[routing.CarrierError], a
// *[RequestError] or a *[ConfigError].
func (b *Base) Generate(ctx context.Context, req *Request) (*Response, error) {
	c, err := b.newCall(ctx, req, false)
	if err != nil {
		return nil, err
	}
	return c.told(c.generate)
}

// told makes the call and tells the observers what came of it, even of one that ended in
// a panic.
func (c *call) told(run func() (*Response, error)) (answer *Response, err error) {
	err = ErrAbandoned
	defer func() { c.base.done(c, answer, err) }()
	return run()
}

func (c *call) generate() (*Response, error) {
	res, err := c.post()
	if err != nil {
		return nil, err
	}
	return c.outcome(res)
}

// Stream implements [Client]. Errors are those of Generate, and one that is
// [ErrTruncated] when the stream was cut after its first event was handed out; before
// that it is sent again like any other failure.
func (b *Base) Stream(ctx context.Context, req *Request) *Stream {
	return NewStream(func(yield func(Event) bool) (*Response, error) {
		c, err := b.newCall(ctx, req, true)
		if err != nil {
			return nil, err
		}
		return c.told(func() (*Response, error) { return c.stream(yield) })
	})
}

// post sends the call through the SDK.
func (c *call) post() (*http.Response, error) {
	var res *http.Response
	c.entered.Store(false)
	err := c.base.api.Post(c.ctx, "chat/completions", nil, &res)
	if err == nil {
		return res, nil
	}
	if res != nil && res.Body != nil {
		defer res.Body.Close() //nolint:errcheck // nothing more is read
	}
	if res != nil && c.failure == nil && res.StatusCode >= 400 { // by a middleware
		text, _ := io.ReadAll(io.LimitReader(res.Body, maxFailureBody))
		c.failure = statusFailure(res, text)
	}
	var sdk *openai.Error
	if res != nil && c.failure != nil && c.failure.StatusCode >= 400 && !errors.As(err, &sdk) {
		err = sdkError(res, c.failure) // the SDK knows one envelope only
	}
	return nil, c.fail(err)
}

// done tells the observers, and the audit what the prefix cache gave.
func (b *Base) done(c *call, answer *Response, err error) {
	if err == nil {
		b.budget.give()
		budgetFrom(c.ctx, b.cfg.Retry).give()
	}
	if hook := b.cfg.Hooks.Done; hook != nil {
		info := CallInfo{Err: err, Timing: c.timing()}
		switch {
		case err == nil:
			info.Finish, info.Usage, info.Timing = answer.Finish, answer.Usage, answer.Timing
			info.Header, info.Trailer = answer.Header, answer.Trailer
		case c.reading != nil:
			info.Usage = readUsage(c.reading.usage)
		}
		hook(c.ctx, info)
	}
	s, routed := routing.FromContext(c.ctx)
	if err != nil || b.cfg.Audit == nil || !routed {
		return
	}
	if len(answer.Trailer) > 0 {
		b.cfg.Audit.Trailer(s, answer.Header, answer.Trailer)
	}
	if answer.Usage.HasCached {
		b.cfg.Audit.Tokens(s, routing.TurnFrom(c.ctx).Index, answer.Usage.PromptTokens, answer.Usage.CachedTokens)
	}
}

// End tells the carrier that the trajectory of ctx is over.
func (b *Base) End(ctx context.Context) error {
	if b == nil || b.route == nil {
		return errNotMade
	}
	if err := routing.Check(ctx); err != nil {
		return err
	}
	u := b.baseURL
	if u == nil {
		if u = b.seenURL.Load(); u == nil {
			return nil // nothing was sent, so no router knows the session
		}
	}
	turn := routing.TurnFrom(ctx)
	if turn.Model == "" {
		turn.Model = b.cfg.Model
	}
	return b.route.End(routing.WithTurn(ctx, turn), u)
}

// CloseIdleConnections closes the connections that no request uses. After it no
// goroutine of the client is left once the calls are over. A client made by [Wrap]
// leaves the connections to the wrapped client.
func (b *Base) CloseIdleConnections() {
	if b != nil && b.idle != nil {
		b.idle()
	}
}
