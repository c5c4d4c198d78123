package model

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	c := callFrom(ctx)
	cfg := &a.r.base.cfg
	slots := a.r.base.slots
	if slots != nil {
		if err := slots.Acquire(ctx, 1); err != nil {
			return nil, err
		}
	}
	c.attempts++
	c.failure, c.answer, c.reading = nil, nil, nil
	began := time.Now()
	if hook := cfg.Hooks.AttemptStart; hook != nil {
		hook(ctx, c.attempts)
	}
	turn := routing.TurnFrom(ctx)
	turn.Attempt, turn.Last = c.attempts, c.once || c.attempts > cfg.Retry.Max
	ctx, cancel := context.WithCancelCause(routing.WithTurn(ctx, turn))
	watch := newWatch(cancel, cfg.Limits.FirstByte)
	next, _ := ctx.Value(nextKey{}).(nextFunc)
	res, err := a.r.send(req.WithContext(ctx), next)
	watch.stop()
	c.firstByte = time.Since(c.start)
	if err != nil {
		err = watch.explain(err)
	}
	if hook := cfg.Hooks.AttemptEnd; hook != nil {
		info := AttemptInfo{Attempt: c.attempts, Err: err, FirstByte: time.Since(began)}
		if err == nil {
			info.StatusCode, info.Header = res.StatusCode, res.Header
		}
		hook(ctx, info)
	}
	if err != nil {
		cancel(nil)
		if slots != nil {
			slots.Release(1)
		}
		return nil, err
	}
	body := &attemptBody{rc: res.Body, watch: watch, slots: slots, idle: cfg.Limits.Idle, limit: cfg.Limits.ResponseBytes, failed: res.StatusCode >= 300}
	if body.failed {
		body.limit = min(body.limit, maxFailureBody)
		watch.start(failureTime)
	}
	body.left = body.limit
	res.Body = body
	return res, nil
}

// maxFailureBody and failureTime bound what is read of a response that is no answer;
// what is beyond them is left out.
const (
	maxFailureBody = 1 << 20
	failureTime    = 10 * time.Second
)

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

// attemptBody is the body of one attempt's response.
type attemptBody struct {
	rc          io.ReadCloser
	watch       *watch
	slots       *semaphore.Weighted
	idle        time.Duration
	left, limit int64
	failed      bool // not an answer: cut at the limit, without an error
	closed      bool
}

func (b *attemptBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		if b.failed {
			return 0, io.EOF
		}
		// Only more bytes are too many: the answer may end exactly at the limit.
		var one [1]byte
		n, err := b.read(one[:])
		if n > 0 {
			err = &Error{Kind: KindResponse, detail: fmt.Sprintf("the answer is longer than Limits.ResponseBytes, %d", b.limit)}
		}
		return 0, err
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.read(p)
	b.left -= int64(n)
	return n, err
}

func (b *attemptBody) read(p []byte) (int, error) {
	if b.failed {
		return b.rc.Read(p)
	}
	b.watch.start(b.idle)
	n, err := b.rc.Read(p)
	b.watch.stop()
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.watch.explain(err)
	}
	return n, err
}

func (b *attemptBody) Close() error {
	if b.closed {
		return nil
	}
	b.closed = true
	err := b.rc.Close()
	b.watch.stop()
	b.watch.cancel(nil)
	if b.slots != nil {
		b.slots.Release(1)
	}
	return err
}

// linger bounds the wait for the end of a stream behind its last event.
const linger = 100 * time.Millisecond

// drain reads to the end, so that the connection can be used again, unless the server
// takes its time to end.
func (b *attemptBody) drain() {
	b.idle = linger
	deadline := time.Now().Add(linger)
	var scrap [512]byte
	for time.Now().Before(deadline) {
		if _, err := b.Read(scrap[:]); err != nil {
			return
		}
	}
}
