package scripted

import (
	"context"
	"time"
)

// lag returns a context that ends so much later than ctx.
func lag(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d == 0 {
		return context.WithCancel(ctx)
	}
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-done:
			return
		case <-ctx.Done():
		}
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-done:
		case <-timer.C:
			cancel()
		}
	}()
	return late, func() {
		cancel()
		close(done)
		<-ended
	}
}

// wait waits for d or for the end of ctx.
func wait(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d == 0 {
		return err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
