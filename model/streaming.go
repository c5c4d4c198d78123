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
	again  func(delta []byte, emit func(Event) bool) bool // of the reader, if it has one
	// pending events were read inside of the retry layer and not handed out yet.
	pending []Event

	reason string    // the finish reason; "" if it was not seen
	done   bool      // [DONE] was seen
	seen   bool      // there was an event
	begun  bool      // there was a choice
	usage  []byte    // the last that was seen
	answer *Response // when the stream ended before anything was handed out
}

// afterFinish bounds the wait for what may follow a finish reason: the usage and the
// end mark, or more of the answer where a server is early with its reason. The answer
// itself is whole by then.
const afterFinish = 2 * time.Second

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func newStreaming(c *call, res *http.Response, body io.Reader) *streaming {
	s := &streaming{
		c: c, res: res, reader: c.base.cfg.Dialect.NewReader(c.req),
		events: newSSEReader(body, c.base.cfg.Limits.LineBytes),
	}
	if r, ok := s.reader.(*reader); ok {
		s.again = r.again
	}
	return s
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
	c.reading = s
	if err := s.begin(); err != nil {
		return c.noStream(res, err)
	}
	c.handed.recording = false
	res.Body = c.handed
	return nil
}

// begin reads up to the first event, or to the end.
func (s *streaming) begin() (err error) {
	for more := true; more && len(s.pending) == 0; {
		more, err = s.step(func(e Event) bool { s.pending = append(s.pending, e); return true })
		if err != nil {
			return err
		}
		if !more {
			if s.answer, err = s.end(); err != nil {
				return err
			}
		}
	}
	return nil
}

// noStream is for what ended before anything of a stream was seen. Some servers answer
// with a plain body, a failure above all, under another label than its own.
func (c *call) noStream(res *http.Response, err error) error {
	text := c.handed.seen
	var failure *Error
	if !errors.As(err, &failure) || failure.Kind != KindTruncated {
		return err
	}
	begin := bytes.TrimLeft(text, " \t\r\n")
	switch {
	case c.reading.seen || len(begin) == 0:
	case begin[0] == '{' && errors.Is(c.reading.events.err, io.EOF):
		c.reading = nil
		return c.receiveText(res, text)
	case begin[0] == '<':
		return notAnAnswer(res, text, "a web page instead of a stream; check the base URL and what stands in front of the server", nil)
	}
	if failure.Body != nil {
		return err
	}
	told := *failure
	told.Body = capped(text, maxErrorBody)
	return &told
}

var doneMark = []byte("[DONE]")

// step reads one event of the stream and reports whether more may come.
func (s *streaming) step(emit func(Event) bool) (bool, error) {
	data, err := s.events.next()
	switch {
	case err != nil && s.reason != "" && s.c.ctx.Err() == nil:
		return false, nil // whole, whatever happened behind it
	case err != nil:
		return false, readFailure(s.res, err)
	}
	s.seen = true
	data = bytes.TrimSpace(data)
	switch {
	case len(data) == 0 || data[0] == ':': // keep-alives
		return true, nil
	case bytes.Equal(data, doneMark):
		s.done = true
		return false, nil
	}
	if delta := s.form.delta(data); delta != nil {
		if s.again != nil && s.reason == "" && s.again(delta, emit) {
			return true, nil
		}
		if rawjson.Valid(delta) == nil {
			return s.delta(data, delta, emit)
		}
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
		s.usage = append(s.usage[:0], e.usage...)
	}
	s.begun = s.begun || e.choices
	if e.message != nil {
		if more, err := s.delta(data, e.message, emit); !more {
			return false, err
		}
	}
	s.form.learn(data, &e)
	// An empty reason is none: some servers send it with each chunk.
	if reason := rawjson.Text(e.finish); reason != "" && s.reason == "" {
		s.reason = reason
		s.hurry(afterFinish)
	}
	return true, nil
}

func (s *streaming) delta(chunk, delta []byte, emit func(Event) bool) (bool, error) {
	if s.reason != "" {
		out := emit
		emit = func(e Event) bool {
			s.hurry(afterFinish)
			return out(e)
		}
	}
	if err := s.reader.Delta(delta, emit); err != nil {
		return false, s.c.unread(s.res, chunk, err)
	}
	return true, nil
}

func (s *streaming) hurry(limit time.Duration) {
	if b, ok := s.body(); ok {
		b.hurry(limit)
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
	if !s.begun {
		return nil, &Error{Kind: KindTruncated, StatusCode: s.res.StatusCode, Header: s.res.Header, detail: "the stream ended without an answer"}
	}
	answer, err := s.reader.Finish(s.reason, s.done)
	if err != nil {
		return nil, s.c.unread(s.res, nil, err)
	}
	s.c.complete(answer, s.res, readUsage(s.usage))
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
		answer.Trailer = s.res.Trailer
	}
	return answer, nil
}
