package model

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// whole hands out an answer that came in one piece though a stream was asked for.
func whole(answer *Response, yield func(Event) bool) bool {
	if answer.Reasoning != "" && !yield(Event{Kind: EventReasoning, Text: answer.Reasoning}) {
		return false
	}
	if answer.Text != "" && !yield(Event{Kind: EventText, Text: answer.Text}) {
		return false
	}
	for i, call := range answer.ToolCalls {
		if !yield(Event{Kind: EventToolCall, Call: i, ID: call.ID, Name: call.Name, Text: string(call.Arguments)}) {
			return false
		}
	}
	return true
}

// stream sends the call and hands the answer out, once more if that is asked for.
func (c *call) stream(yield func(Event) bool) (*Response, error) {
	for {
		res, err := c.post()
		if err != nil {
			return nil, err
		}
		answer, err := c.handOut(res, yield)
		switch {
		case err == nil:
			return answer, nil
		case !c.resend(err, res):
			if c.ctx.Err() != nil && !errors.Is(err, ErrAbandoned) {
				err = c.fail(err) // canceled while it waited
			}
			return nil, err
		}
		if !yield(Event{Kind: EventRestart}) {
			return nil, ErrAbandoned
		}
	}
}

// resend waits for the next attempt at a stream that was cut, if there may be one.
func (c *call) resend(err error, res *http.Response) bool {
	retry := c.base.retry
	var failure *Error
	if !c.base.cfg.Retry.Resend || !errors.As(err, &failure) || !retryableKind(failure.Kind) || !retry.again(c.ctx, c, err, res) {
		return false
	}
	timer := time.NewTimer(retry.backoff(0, 0, c.attempts-1, res))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.ctx.Done():
		return false
	}
}

// handOut hands out the answer that the SDK handed up in res.
func (c *call) handOut(res *http.Response, yield func(Event) bool) (*Response, error) {
	if res == nil {
		return nil, &Error{Kind: KindTransport, Attempts: c.attempts, detail: "a middleware returned no response"}
	}
	defer res.Body.Close() //nolint:errcheck // nothing more is read
	if c.reading != nil && res.Body == io.ReadCloser(c.handed) {
		return c.reading.run(yield)
	}
	if c.answer != nil || isJSON(res) || res.StatusCode < 200 || res.StatusCode > 299 {
		answer, err := c.outcome(res)
		if err == nil && !whole(answer, yield) {
			return nil, ErrAbandoned
		}
		return answer, err
	}
	c.reading = newStreaming(c, res, c.bounded(res.Body))
	return c.reading.run(yield)
}

// bounded limits what is read of a body that a middleware put in the place of the received
// one.
func (c *call) bounded(body io.Reader) io.Reader {
	limit := c.base.cfg.Limits.ResponseBytes
	left := limit
	return readerFunc(func(p []byte) (int, error) {
		n, err := body.Read(p)
		if left -= int64(n); left < 0 {
			return 0, tooLong(limit)
		}
		return n, err
	})
}
