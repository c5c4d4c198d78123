package model

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/homing-go/homing/routing"
	"golang.org/x/sync/semaphore"
)

// attempts makes single attempts for the retry layer: it numbers them, bounds their
// time, and bounds what is read of the answer.
type attempts struct{ r *retrier }

func (a attempts) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	slots := a.r.base.slots
	if err := turnOf(ctx, slots); err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	c := callFrom(ctx)
	cfg := &a.r.base.cfg
	c.attempts++
	c.failure, c.answer, c.reading = nil, nil, nil
	began := time.Now()
	turn := routing.TurnFrom(ctx)
	turn.Attempt, turn.Last = c.attempts, c.once || c.attempts > cfg.Retry.Max
	inner, cancel := context.WithCancelCause(routing.WithTurn(ctx, turn))
	body := &attemptBody{
		rc: http.NoBody, watch: newWatch(cancel, cfg.Limits.FirstByte), slots: slots, idle: cfg.Limits.Idle, limit: cfg.Limits.ResponseBytes,
	}
	handed := false
	defer func() { // in a panic of a hook or a transport, too
		if !handed {
			_ = body.Close()
		}
	}()
	if hook := cfg.Hooks.AttemptStart; hook != nil {
		hook(ctx, c.attempts)
	}
	next, _ := inner.Value(nextKey{}).(nextFunc)
	res, err := either(a.r.send(req.WithContext(inner), next))
	body.watch.stop()
	c.firstByte = time.Since(c.start)
	info := AttemptInfo{Attempt: c.attempts, FirstByte: time.Since(began)}
	if err != nil {
		err = body.watch.explain(err)
		info.Err = err
	} else {
		body.rc = res.Body
		info.StatusCode, info.Header = res.StatusCode, res.Header
	}
	if hook := cfg.Hooks.AttemptEnd; hook != nil {
		hook(inner, info)
	}
	if err != nil {
		return nil, err
	}
	body.expect(res.StatusCode)
	handed, res.Body = true, body
	return res, nil
}

// turnOf waits until one more request may be under way.
func turnOf(ctx context.Context, slots *semaphore.Weighted) error {
	if ctx.Err() != nil { // not every transport looks
		return context.Cause(ctx)
	}
	if slots == nil {
		return nil
	}
	return slots.Acquire(ctx, 1)
}

// watch ends an attempt that takes too long.
type watch struct {
	cancel context.CancelCauseFunc
	timer  *time.Timer
	limit  time.Duration
	fired  atomic.Bool
}

func newWatch(cancel context.CancelCauseFunc, limit time.Duration) *watch {
	w := &watch{cancel: cancel, limit: limit}
	w.timer = time.AfterFunc(orForever(limit), func() {
		w.fired.Store(true)
		w.cancel(nil)
	})
	return w
}

// start lets the attempt go on for limit; a negative one means without end.
func (w *watch) start(limit time.Duration) {
	w.limit = limit
	w.timer.Reset(orForever(limit))
}

func orForever(limit time.Duration) time.Duration {
	if limit < 0 {
		return math.MaxInt64
	}
	return limit
}

func (w *watch) stop() { w.timer.Stop() }

// explain tells a time limit from the caller's cancellation.
func (w *watch) explain(err error) error {
	if w.fired.Load() {
		return &Error{Kind: KindTimeout, detail: fmt.Sprintf("no byte came for %v", w.limit), cause: context.DeadlineExceeded}
	}
	return err
}
