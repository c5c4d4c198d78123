package model

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"
)

// attemptBody is the body of one attempt's response: limited, watched, and holding what
// the attempt took until it is closed.
type attemptBody struct {
	rc          io.ReadCloser
	watch       *watch
	slots       *semaphore.Weighted
	idle        time.Duration // between reads; negative: no limit
	until       time.Time     // when reading ends in any case; zero: never
	left, limit int64
	failed      bool // not an answer: cut at the limit, without an error
	closed      bool
	empty       int // reads without a byte and without an error, in a row
}

// maxFailureBody and failureTime bound what is read of a response that is no answer;
// what is beyond them is left out.
const (
	maxFailureBody = 1 << 20
	failureTime    = 10 * time.Second
)

// expect sets the limits for a response of that status.
func (b *attemptBody) expect(status int) {
	switch {
	case status < http.StatusOK: // 101: a bare connection, which no context ends
		_ = b.rc.Close()
		b.rc, b.failed = http.NoBody, true
	case status >= http.StatusMultipleChoices:
		b.limit, b.failed = min(b.limit, maxFailureBody), true
		b.until = time.Now().Add(failureTime)
	}
	b.left = b.limit
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
			err = tooLong(b.limit)
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

func tooLong(limit int64) error {
	return &Error{Kind: KindResponse, detail: fmt.Sprintf("the answer is longer than Limits.ResponseBytes, %d", limit)}
}

func (b *attemptBody) read(p []byte) (int, error) {
	limit := b.idle
	if !b.until.IsZero() {
		if left := max(time.Until(b.until), 0); limit < 0 || left < limit {
			limit = left
		}
	}
	b.watch.start(limit)
	n, err := b.rc.Read(p)
	b.watch.stop()
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return n, b.watch.explain(err)
	case n > 0 || err != nil || len(p) == 0:
		b.empty = 0
	default: // readers that loop until something comes would do so for ever
		if b.empty++; b.empty >= maxEmptyReads {
			err = io.ErrNoProgress
		}
	}
	return n, err
}

// maxEmptyReads is the number at which bufio gives up.
const maxEmptyReads = 100

func (b *attemptBody) Close() error {
	if b.closed {
		return nil
	}
	b.closed = true
	// What the attempt took goes back even if the body cannot be closed.
	defer func() {
		b.watch.stop()
		b.watch.cancel(nil)
		if b.slots != nil {
			b.slots.Release(1)
		}
	}()
	return b.rc.Close()
}

// hurry lets reading go on for that long and no longer, whatever comes.
func (b *attemptBody) hurry(limit time.Duration) { b.until = time.Now().Add(limit) }

// linger bounds the wait for the end of a stream behind its last event.
const linger = 100 * time.Millisecond

// drain reads to the end, so that the connection can be used again, unless the server
// takes its time to end.
func (b *attemptBody) drain() {
	b.hurry(linger)
	var scrap [512]byte
	for time.Now().Before(b.until) {
		if _, err := b.Read(scrap[:]); err != nil {
			return
		}
	}
}
