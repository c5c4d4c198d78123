package model

import "context"

// A GenerateFunc is the plain kind of call of a [Client].
type GenerateFunc func(ctx context.Context, req *Request) (*Response, error)

// A StreamFunc is the streamed kind of call of a [Client].
type StreamFunc func(ctx context.Context, req *Request) *Stream

// An Interceptor wraps both kinds of call. There is one method for each, so that streams
// cannot be forgotten; a stream is wrapped by a [NewStream] that ranges over the one of
// next. What an interceptor returns must be safe for concurrent use.
type Interceptor interface {
	WrapGenerate(next GenerateFunc) GenerateFunc
	WrapStream(next StreamFunc) StreamFunc
}

// Chain returns a client that calls c through the interceptors, the first outermost. The
// chain is built once. [Trajectory.End] reaches c.
func Chain(c Client, is ...Interceptor) Client {
	chain := &chained{Client: c, generate: c.Generate, stream: c.Stream}
	for i := len(is) - 1; i >= 0; i-- {
		chain.generate = is[i].WrapGenerate(chain.generate)
		chain.stream = is[i].WrapStream(chain.stream)
	}
	return chain
}

type chained struct {
	Client
	generate GenerateFunc
	stream   StreamFunc
}

func (c *chained) Generate(ctx context.Context, req *Request) (*Response, error) {
	return c.generate(ctx, req)
}

func (c *chained) Stream(ctx context.Context, req *Request) *Stream { return c.stream(ctx, req) }

// End implements [Ender].
func (c *chained) End(ctx context.Context) error {
	if ender, ok := c.Client.(Ender); ok {
		return ender.End(ctx)
	}
	return nil
}
