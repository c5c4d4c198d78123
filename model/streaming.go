package model

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/homing-go/homing/internal/rawjson"
)

// streaming is an answer that is being read from a stream.
type streaming struct {
	c      *call
	res    *http.Response
	events *sseReader
	reader Reader
	form   chunkForm
	// pending events were read inside of the retry layer and not handed out yet.
	pending []Event

	finish []byte // as received; nil if it was not seen
	reason string
	done   bool // [DONE] was seen
	usage  Usage
	answer *Response // when the stream ended before anything was handed out
}

// afterFinish bounds the wait for what may follow a finish reason: the usage and the
// end mark. The answer itself is whole by then.
const afterFinish = 2 * time.Second

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func newStreaming(c *call, res *http.Response, body io.Reader) *streaming {
	return &streaming{
		c: c, res: res, reader: c.base.cfg.Dialect.NewReader(c.req),
		events: newSSEReader(body, c.base.cfg.Limits.LineBytes),
	}
}

// receiveStream reads up to the first event that can be handed out. Until then nobody
// has seen anything, so that a failure can be tried again.
func (c *call) receiveStream(res *http.Response) error {
	if isHTML(res, nil) {
		text, _ := readAll(res)
		return notAnAnswer(res, text, "a web page instead of a stream; check the base URL and what stands in front of the server", nil)
	}
	c.handed = &replay{rest: res.Body, recording: true}
	s := newStreaming(c, res, readerFunc(c.handed.pull))
	more := true
	for more && len(s.pending) == 0 {
		var err error
		if more, err = s.step(func(e Event) bool { s.pending = append(s.pending, e); return true }); err != nil {
			return err
		}
	}
	if !more {
		var err error
		if s.answer, err = s.end(); err != nil {
			return err
		}
	}
	c.handed.recording = false
	c.reading = s
	res.Body = c.handed
	return nil
}

var doneMark = []byte("[DONE]")

// step reads one event of the stream and reports whether more may come.
func (s *streaming) step(emit func(Event) bool) (bool, error) {
	data, err := s.events.next()
	switch {
	case err != nil && (s.finish != nil || s.done) && s.c.ctx.Err() == nil:
		return false, nil // whole, whatever happened behind it
	case err != nil:
		return false, readFailure(s.res, err)
	}
	data = bytes.TrimSpace(data)
	switch {
	case len(data) == 0 || data[0] == ':': // keep-alives
		return true, nil
	case bytes.Equal(data, doneMark):
		s.done = true
		return false, nil
	}
	if delta := s.form.delta(data); delta != nil {
		return s.delta(data, delta, emit)
	}
	e, err := readEnvelope(data)
	switch {
	case err != nil && isHTML(s.res, data):
		return false, notAnAnswer(s.res, data, "a web page instead of a stream", err)
	case rawjson.IsEnd(err):
		return false, &Error{Kind: KindTruncated, StatusCode: s.res.StatusCode, Header: s.res.Header, detail: "a chunk stops early", cause: io.ErrUnexpectedEOF}
	case err != nil && bytes.Equal(data, []byte("null")):
		return true, nil
	case err != nil:
		return false, notAnAnswer(s.res, data, "a chunk is no JSON object", err)
	case e.failure != nil:
		return false, bodyFailure(s.res, e.failure)
	}
	if e.usage != nil {
		s.usage = readUsage(e.usage)
	}
	if e.message != nil {
		if more, err := s.delta(data, e.message, emit); !more {
			return false, err
		}
	}
	s.form.learn(data, &e)
	if e.finish != nil && s.finish == nil {
		s.reason = rawjson.Text(e.finish)
		s.finish = []byte(s.reason)
		s.hurry(afterFinish)
	}
	return true, nil
}

func (s *streaming) delta(chunk, delta []byte, emit func(Event) bool) (bool, error) {
	if err := s.reader.Delta(delta, emit); err != nil {
		return false, s.c.unread(s.res, chunk, err)
	}
	return true, nil
}

func (s *streaming) hurry(limit time.Duration) {
	if b, ok := s.body(); ok && (b.idle < 0 || b.idle > limit) {
		b.idle = limit
	}
}

// body is that of the attempt, below whatever was put around it.
func (s *streaming) body() (*attemptBody, bool) {
	if s.c.handed == nil {
		return nil, false
	}
	b, ok := s.c.handed.rest.(*attemptBody)
	return b, ok
}

// end makes the answer of a stream that had a terminal signal.
func (s *streaming) end() (*Response, error) {
	answer, err := s.reader.Finish(s.reason, s.done)
	if err != nil {
		return nil, s.c.unread(s.res, nil, err)
	}
	s.c.complete(answer, s.res, s.usage)
	return answer, nil
}

// run hands the events to yield and returns the answer.
func (s *streaming) run(yield func(Event) bool) (*Response, error) {
	stayed := true
	emit := func(e Event) bool {
		stayed = stayed && yield(e)
		return stayed
	}
	for _, e := range s.pending {
		if !emit(e) {
			return nil, ErrAbandoned
		}
	}
	answer := s.answer
	for more := answer == nil; more; {
		var err error
		more, err = s.step(emit)
		switch {
		case !stayed:
			return nil, ErrAbandoned
		case err != nil:
			return nil, s.c.fail(err)
		}
	}
	if answer == nil {
		var err error
		if answer, err = s.end(); err != nil {
			return nil, s.c.fail(err)
		}
	}
	if b, ok := s.body(); ok {
		b.drain()
	}
	return answer, nil
}

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
		if err == nil || !c.resend(err) {
			return answer, err
		}
		if !yield(Event{Kind: EventRestart}) {
			return nil, ErrAbandoned
		}
	}
}

// resend waits for the next attempt at a stream that was cut, if there may be one.
func (c *call) resend(err error) bool {
	retry := c.base.retry
	var failure *Error
	if !c.base.cfg.Retry.Resend || !errors.As(err, &failure) || !retryableKind(failure.Kind) || !retry.again(c.ctx, c, err, nil) {
		return false
	}
	timer := time.NewTimer(retry.backoff(0, 0, c.attempts-1, nil))
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
	if isJSON(res) || res.StatusCode < 200 || res.StatusCode > 299 {
		answer, err := c.outcome(res)
		if err == nil && !whole(answer, yield) {
			return nil, ErrAbandoned
		}
		return answer, err
	}
	return newStreaming(c, res, res.Body).run(yield)
}
