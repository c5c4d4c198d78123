package model

import (
	"context"
	"net/http"
	"time"
)

// Hooks let an observer follow calls. Each may be nil. They are called in the goroutine
// of the call, must be quick and safe for concurrent use, and see nothing of the
// content. [routing.FromContext] tells the session.
type Hooks struct {
	// AttemptStart is called before each attempt, with its number from 1.
	AttemptStart func(ctx context.Context, attempt int)
	// AttemptEnd is called as soon as the response header or the failure is there.
	AttemptEnd func(ctx context.Context, a AttemptInfo)
	// Retry is called when an attempt failed and another follows.
	Retry func(ctx context.Context, r RetryInfo)
	// Done is called once at the end of each call.
	Done func(ctx context.Context, c CallInfo)
}

// AttemptInfo is what a hook is told of one attempt.
type AttemptInfo struct {
	Attempt int
	// StatusCode is 0 if no response came; then Err is set.
	StatusCode int
	Err        error
	// FirstByte is the time from the start of the attempt to the response header.
	FirstByte time.Duration
	// Header is that of the response, with what it reveals of the backend. It must not be
	// changed.
	Header http.Header
}

// RetryInfo is why an attempt failed.
type RetryInfo struct {
	Attempt    int
	Kind       Kind
	StatusCode int
	// RetryAfter is what the server asked for; 0 means nothing.
	RetryAfter time.Duration
}

// CallInfo is the outcome of a call.
type CallInfo struct {
	// Err is nil for a whole answer, and [ErrAbandoned] for one that nobody waited for.
	Err error
	// Finish is set for a whole answer.
	Finish Finish
	// Usage is what the server had reported by the end of the call. An answer that was cut
	// or left is billed too.
	Usage  Usage
	Timing Timing
	// Header and Trailer are those of a whole answer, with what they reveal of the backend.
	// They must not be changed.
	Header, Trailer http.Header
}
