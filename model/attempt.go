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
)

// attempts makes single attempts for the retry layer: it numbers them, bounds their
// time, and bounds what is read of the answer.
type attempts struct{ r *retrier }

func (a attempts) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	c := callFrom(ctx)
	cfg := &a.r.base.cfg
	c.attempts++
	c.began = time.Now()
	c.failure, c.answer, c.reading = nil, nil, nil

	turn := routing.TurnFrom(ctx)
	turn.Attempt, turn.Last = c.attempts, c.once || c.attempts > cfg.Retry.Max
	ctx, cancel := context.WithCancelCause(routing.WithTurn(ctx, turn))
	watch := newWatch(cancel, cfg.Limits.FirstByte)
	next, _ := ctx.Value(nextKey{}).(nextFunc)
	res, err := a.r.send(req.WithContext(ctx), next)
	watch.stop()
	c.firstByte = time.Since(c.start)
	if hook := cfg.Hooks.Attempt; hook != nil {
		info := AttemptInfo{Attempt: c.attempts, Err: err, FirstByte: time.Since(c.began)}
		if err == nil {
			info.StatusCode = res.StatusCode
		}
		hook(ctx, info)
	}
	if err != nil {
		err = watch.explain(err)
		cancel(nil)
		return nil, err
	}
	limit := cfg.Limits.ResponseBytes
	if res.StatusCode >= 300 {
		limit = min(limit, maxFailureBody)
	}
	res.Body = &attemptBody{rc: res.Body, watch: watch, idle: cfg.Limits.Idle, left: limit, limit: limit, failed: res.StatusCode >= 300}
	return res, nil
}

// maxFailureBody bounds what is read of a response that is no answer; what is beyond
// it is left out.
const maxFailureBody = 1 << 20

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
