package model

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/routing"
)

// call is the state of one call on its way through the layers. It travels in the
// context and is used by one goroutine at a time.
type call struct {
	base *Base
	ctx  context.Context //nolint:containedctx // a call lives inside one method call
	// req and body are nil for a call through [Base.API].
	req     *Request
	body    *body
	streams bool
	start   time.Time
	origin  string
	target  string          // origin and path
	static  map[string]bool // headers that were set as options

	entered   atomic.Bool // the request is past the outermost middleware
	sending   atomic.Bool // the retry layer has it
	once      bool        // the body cannot be sent twice
	spent     bool        // a budget of retries is used up
	attempts  int
	firstByte time.Duration
	failure   *Error // what the last attempt's response or body said
	answer    *Response
	reading   *streaming
	handed    *replay // the body that answer or reading stands for
}

type callKey struct{}

func callFrom(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// newCall checks the request and encodes what is new of it.
func (b *Base) newCall(ctx context.Context, req *Request, stream bool) (*call, error) {
	if b == nil || b.cfg.Dialect == nil {
		return nil, errNotMade
	}
	if err := routing.Check(ctx); err != nil {
		return nil, err
	}
	if req == nil {
		return nil, &RequestError{Field: "Request", Reason: "it is nil"}
	}
	if req.Messages.Len() == 0 {
		return nil, &RequestError{Field: "Messages", Reason: "there is none; begin with a system or a user message"}
	}
	c := &call{base: b, req: req, streams: stream, start: time.Now()}
	turn := routing.TurnFrom(ctx)
	if turn.Model == "" {
		turn.Model = b.cfg.Model
	}
	ctx = routing.WithTurn(ctx, turn)
	tail, err := c.tail()
	if err != nil {
		return nil, err
	}
	ctx, tail = routing.InBody(ctx, b.cfg.Carrier, tail)
	c.ctx = context.WithValue(ctx, callKey{}, c)
	// The messages come first, so that the long part never moves.
	segments := append(make([][]byte, 0, 16), bodyHead)
	segments = req.Messages.appendSegments(segments)
	c.body = newBody(append(segments, bodyJoint, tail[1:]))
	return c, nil
}

var (
	bodyHead  = []byte(`{"messages":[`)
	bodyJoint = []byte(`],`)
)

// tail returns an object of all members but the messages.
func (c *call) tail() ([]byte, error) {
	b := make([]byte, 0, 512+len(c.req.Tools.JSON()))
	b = append(b, `{"model":`...)
	b = rawjson.AppendQuoted(b, c.base.cfg.Model)
	if c.streams {
		b = append(b, `,"stream":true`...)
		if _, ok := c.req.Extra["stream_options"]; !ok {
			b = append(b, `,"stream_options":{"include_usage":true}`...)
		}
	}
	written := len(b)
	b, err := c.base.cfg.Dialect.AppendTail(b, c.req)
	if err != nil {
		return nil, err
	}
	return closeTail(b, written)
}

// closeTail closes the object behind what a dialect appended at written, with or
// without the comma before it.
func closeTail(b []byte, written int) ([]byte, error) {
	if len(b) < written {
		return nil, &ConfigError{Field: "Dialect", Reason: "AppendTail returned less than it was given"}
	}
	if len(b) > written && b[written] != ',' {
		b = append(b[:written:written], append([]byte{','}, b[written:]...)...)
	}
	for len(b) > written && b[len(b)-1] == ',' {
		b = b[:len(b)-1]
	}
	return append(b, '}'), nil
}

// enter is the outermost middleware: it installs the body, and checks the session of
// calls that come through [Base.API].
func (b *Base) enter(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	c := callFrom(req.Context())
	// A hook or a middleware may use the context of a call for another one.
	if c == nil || c.base != b || c.req == nil || c.entered.Swap(true) {
		return b.enterAPI(req, next)
	}
	c.note(req)
	b.dropTelemetry(req)
	req.Header.Set("Content-Type", "application/json")
	if c.streams {
		req.Header.Set("Accept", "text/event-stream")
	}
	c.body.install(req)
	before := c.attempts
	res, err := either(next(req))
	if err == nil && c.attempts == before {
		_ = res.Body.Close()
		return nil, &ConfigError{
			Field: "api", Reason: "a middleware of the wrapped client answered by itself, so that nothing carried the session; what answers in the place of a server belongs into the transport of its HTTP client",
		}
	}
	return res, err
}

// dropTelemetry removes what the SDK tells its maker's servers of this machine: eight headers
// that the layers below would copy three times.
func (b *Base) dropTelemetry(req *http.Request) {
	if !b.ownOptions {
		return
	}
	for name := range req.Header {
		if strings.HasPrefix(name, "X-Stainless-") {
			delete(req.Header, name)
		}
	}
}

// note remembers what the request looked like before any other middleware.
func (c *call) note(req *http.Request) {
	c.origin = req.URL.Scheme + "://" + req.URL.Host
	c.target = c.origin + req.URL.Path
	if !c.base.ownOptions || c.body == nil {
		c.base.seenURL.Store(req.URL)
		c.static = make(map[string]bool, len(req.Header))
		for name := range req.Header {
			c.static[name] = true
		}
	}
}

// conflict lets the session win over a header that a middleware set, and refuses
// one that was configured: a fixed value would send all trajectories to one backend.
func conflict(ctx context.Context, name string) error {
	if c := callFrom(ctx); c != nil && c.static[name] {
		return &ConfigError{Field: name, Reason: "this header carries the session and is also set as a fixed header; remove it from the client's options"}
	}
	return nil
}
