package modeltest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/routing"
)

// moreFaults break what has little to do with the session itself; for each the one
// promise that is its own is asked for.
var moreFaults = map[string]fault{
	"no session is let through": {
		wrap: func(c model.Client) model.Client {
			return funcs{inner: c, generate: func(ctx context.Context, req *model.Request) (*model.Response, error) {
				return c.Generate(routing.Without(ctx), req)
			}}
		},
		broken:  []string{"no session is an error"},
		message: "a plain call without a session must send nothing, but 1 requests came",
	},
	"unusable ID is replaced": {
		session: func(context.Context) context.Context {
			return routing.NewContext(context.Background(), routing.NewSession(routing.NewID()))
		},
		broken:  []string{"an unusable ID is an error"},
		message: "a plain call with an ID that no header can carry must send nothing, but 1 requests came",
	},
	"header beside an empty list": {
		wire: func(req *http.Request) {
			if s, ok := routing.FromContext(req.Context()); ok {
				req.Header["X-Trace"] = []string{string(s.ID)}
			}
		},
		broken:  []string{"nothing without headers"},
		message: "an empty list of headers must send nothing, but the ID is in the plain call",
	},
	"default beside an empty list": {
		wire: func(req *http.Request) {
			if _, ok := routing.FromContext(req.Context()); ok {
				req.Header["X-Session-Lane"] = []string{"1"}
			}
		},
		broken:  []string{"nothing without headers"},
		message: "an empty list of headers must leave the plain call unchanged: header names",
	},
	"session under Without": {
		wire:    func(req *http.Request) { req.Header[header] = []string{"none"} },
		broken:  []string{"nothing after Without"},
		message: `a plain call after Without must not touch the session, but the wire shows ["X-Session-ID: none"]`,
	},
	"no retry": {
		retry:   model.Retry{Max: -1},
		broken:  []string{"session on a retry after status 500"},
		message: "the plain call fails: model: server failure",
	},
	"stream is eager": {
		wrap: func(c model.Client) model.Client {
			return funcs{inner: c, stream: func(ctx context.Context, req *model.Request) *model.Stream {
				res, err := c.Generate(ctx, req)
				return model.NewStream(func(func(model.Event) bool) (*model.Response, error) { return res, err })
			}}
		},
		broken:  []string{"a stream is lazy"},
		message: "a stream that is not used sends a request: POST /v1/chat/completions",
	},
	"cut stream is whole": {
		wrap: func(c model.Client) model.Client {
			return streams(c, func(ctx context.Context, req *model.Request, yield func(model.Event) bool) (*model.Response, error) {
				res, err := forward(c.Stream(ctx, req), yield)
				if errors.Is(err, model.ErrTruncated) {
					return &model.Response{Message: model.Assistant("")}, nil
				}
				return res, err
			})
		},
		broken:  []string{"a stream cut later is truncated"},
		message: "a cut stream ends as if it were whole (stream cut after 4 events)",
	},
	"cut stream is sent again": {
		wrap: func(c model.Client) model.Client {
			return streams(c, func(ctx context.Context, req *model.Request, yield func(model.Event) bool) (*model.Response, error) {
				res, err := forward(c.Stream(ctx, req), yield)
				if errors.Is(err, model.ErrTruncated) {
					return forward(c.Stream(ctx, req), yield)
				}
				return res, err
			})
		},
		broken:  []string{"a stream cut later is truncated"},
		message: "a stream that was cut after events were handed out is sent again (stream cut after 4 events)",
	},
	"events are held back": {
		wrap: func(c model.Client) model.Client {
			return streams(c, func(ctx context.Context, req *model.Request, yield func(model.Event) bool) (*model.Response, error) {
				var list []model.Event
				res, err := forward(c.Stream(ctx, req), func(e model.Event) bool { list = append(list, e); return true })
				for _, e := range list {
					if err == nil && !yield(e) {
						return nil, model.ErrAbandoned
					}
				}
				return res, err
			})
		},
		broken:  []string{"a stream cut later is truncated"},
		message: "no event of the stream came before it was cut (stream cut after 4 events)",
	},
	"connections are kept": {
		wrap: func(c model.Client) model.Client {
			return streams(c, func(ctx context.Context, req *model.Request, yield func(model.Event) bool) (*model.Response, error) {
				ctx, cancel := context.WithCancel(ctx)
				events := make(chan model.Event)
				go func() {
					defer cancel()
					_, _ = forward(c.Stream(ctx, req), func(e model.Event) bool {
						select {
						case events <- e:
						case <-ctx.Done():
						}
						return true
					})
				}()
				for {
					select {
					case e := <-events:
						if !yield(e) {
							return nil, model.ErrAbandoned // the other goroutine goes on
						}
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				}
			})
		},
		broken:  []string{"early breaks leave no connections"},
		message: "20 loops that ended early hold 20 connections",
	},
	"cancellation is ignored": {
		session: context.WithoutCancel,
		broken:  []string{"cancel of a plain call"},
		message: "a canceled plain call: still running after 5s",
	},
	"history is rewritten": {
		wrap: func(c model.Client) model.Client {
			return funcs{inner: c, generate: func(ctx context.Context, req *model.Request) (*model.Response, error) {
				changed := *req
				ms := []model.Message{model.System(fmt.Sprintf("This is message %d.", req.Messages.Len()))}
				for i, m := range req.Messages.Messages() {
					if i > 0 {
						ms = append(ms, m)
					}
				}
				changed.Messages = model.NewTranscript(ms...).Snapshot()
				return c.Generate(ctx, &changed)
			}}
		},
		broken:  []string{"history grows at its end"},
		message: "the history of turn 2 is not that of turn 1 with more behind it; from byte 45 on it is ",
	},
	"messages are encoded anew": {
		wrap: func(c model.Client) model.Client {
			return funcs{inner: c, generate: func(ctx context.Context, req *model.Request) (*model.Response, error) {
				changed := *req
				var ms []model.Message
				for i, m := range req.Messages.Messages() {
					if i < req.Messages.Len()-1 { // all but the newest
						var v any
						_ = json.Unmarshal(m.JSON(), &v)
						text, _ := json.Marshal(v)
						m, _ = model.Raw(text)
					}
					ms = append(ms, m)
				}
				changed.Messages = model.NewTranscript(ms...).Snapshot()
				return c.Generate(ctx, &changed)
			}}
		},
		broken:  []string{"history grows at its end"},
		message: "so that no prefix cache can help",
	},
	"session leaks by a redirect": {
		build: func(url string, pool http.RoundTripper) model.Client {
			return &simple{url, &http.Client{Transport: onAll{pool}}}
		},
		broken:  []string{"no session on a redirect to another origin"},
		message: "the session leaks by a redirect to another port: POST /v1/foreign/chat/completions of a plain call carries it",
	},
	"Retry-After is ignored": {
		answer:  func(res *http.Response) { res.Header.Del("Retry-After") },
		broken:  []string{"session on a retry after status 429"},
		message: "Retry-After is ignored on a plain call: the server asked for 1s, the next attempt came after ",
	},
	"carrier's members are dropped": {
		wire:    func(req *http.Request) { req.Body, req.ContentLength = http.NoBody, 0 },
		broken:  []string{"session in the body"},
		message: `request 1: the carrier's body member is "", want the ID`,
	},
}

// onAll writes the session on all requests, wherever they go.
type onAll struct{ base http.RoundTripper }

func (o onAll) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	if s, ok := routing.FromContext(req.Context()); ok {
		req.Header[header] = []string{string(s.ID)}
	}
	return o.base.RoundTrip(req)
}

// funcs is a decorator whose methods can be replaced.
type funcs struct {
	inner    model.Client
	generate func(ctx context.Context, req *model.Request) (*model.Response, error)
	stream   func(ctx context.Context, req *model.Request) *model.Stream
}

func (f funcs) Generate(ctx context.Context, req *model.Request) (*model.Response, error) {
	if f.generate == nil {
		return f.inner.Generate(ctx, req)
	}
	return f.generate(ctx, req)
}

func (f funcs) Stream(ctx context.Context, req *model.Request) *model.Stream {
	if f.stream == nil {
		return f.inner.Stream(ctx, req)
	}
	return f.stream(ctx, req)
}

// streams is c with other streams.
func streams(c model.Client, run func(context.Context, *model.Request, func(model.Event) bool) (*model.Response, error)) model.Client {
	return funcs{inner: c, stream: func(ctx context.Context, req *model.Request) *model.Stream {
		return model.NewStream(func(yield func(model.Event) bool) (*model.Response, error) { return run(ctx, req, yield) })
	}}
}

// forward hands the events of one stream to another.
func forward(s *model.Stream, yield func(model.Event) bool) (*model.Response, error) {
	for event, err := range s.Events() {
		if err != nil {
			return nil, err
		}
		if !yield(event) {
			return nil, model.ErrAbandoned
		}
	}
	return s.Response()
}

func TestMoreFaults(t *testing.T) {
	t.Parallel()
	for name, f := range moreFaults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			promise := strings.ReplaceAll(f.broken[0], " ", "_")
			out := suite(t, name, "^TestFaultyClient$/^promise$/^"+promise+"$")
			require.Contains(t, out, f.message)
		})
	}
}
