package model

import (
	"context"
)

// A Client sends turns of agent trajectories to a model. Implementations are safe
// for concurrent use and send the session of the context on every request; with
// neither a session nor [routing.Without] in it they fail with
// [routing.ErrNoSession] and send nothing.
//
// To write one from scratch, take the bytes of a request from [Snapshot.JSON] and
// [OpenAI], read answers by the [Reader] of OpenAI, and send by a [routing.Transport];
// modeltest.Conformance tells what is missing.
type Client interface {
	// Generate sends one turn and returns the whole answer.
	Generate(ctx context.Context, req *Request) (*Response, error)
	// Stream is Generate with the answer as it comes. Nothing is sent before the
	// stream is used, so there is no error to check here.
	Stream(ctx context.Context, req *Request) *Stream
}
