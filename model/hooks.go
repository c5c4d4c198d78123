package model

import (
	"context"
	"time"
)

// Hooks let an observer follow calls. Each may be nil; they are called in the
// goroutine of the call and must be quick and safe for concurrent use. They see
// nothing of the content.
type Hooks struct {
	// Attempt is called after each attempt, as soon as its response header or its
	// failure is there.
	Attempt func(ctx context.Context, a AttemptInfo)
}

// AttemptInfo is what a hook is told of one attempt.
type AttemptInfo struct {
	// Attempt numbers the attempts of a call from 1.
	Attempt int
	// StatusCode is 0 if no response came; then Err is set.
	StatusCode int
	Err        error
	// FirstByte is the time from the start of the attempt to the response header.
	FirstByte time.Duration
}
