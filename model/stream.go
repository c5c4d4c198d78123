package model

import (
	"errors"
	"iter"
)

// A Stream is one answer as it comes. It is lazy: the request goes out when the
// loop over Events starts, or when Response is called first. It is used by one
// goroutine, once, and releases its connection however the loop ends.
//
//	stream := client.Stream(ctx, req)
//	for event, err := range stream.Events() {
//		...
//	}
//	response, err := stream.Response()
type Stream struct {
	run      func(yield func(Event) bool) (*Response, error)
	started  bool
	running  bool
	response *Response
	err      error
}

// NewStream makes a stream of run, for fakes and decorators outside this package.
// run is called once at most; it sends the request, yields events, releases what it
// holds and returns the whole answer. When yield returns false it must return at once;
// its result is ignored then.
func NewStream(run func(yield func(Event) bool) (*Response, error)) *Stream {
	return &Stream{run: run}
}

var errStreamUsed = errors.New("model: stream: Events was already used; ask Response for the outcome")

var errStreamRunning = errors.New("model: stream: Response was called inside of the loop over Events; call it behind the loop")

// Events returns the events of the answer, for one loop. An error ends it; it is
// the one that Response returns.
func (s *Stream) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if s.started {
			yield(Event{}, errStreamUsed)
			return
		}
		if s.drive(func(e Event) bool { return yield(e, nil) }) && s.err != nil {
			yield(Event{}, s.err)
		}
	}
}

// drive runs the stream and reports whether the consumer stayed to the end.
func (s *Stream) drive(yield func(Event) bool) bool {
	s.started, s.running = true, true
	defer func() { s.running = false }()
	s.err = ErrAbandoned // holds when the loop's body panics, too
	stayed := true
	response, err := s.run(func(e Event) bool {
		stayed = stayed && yield(e)
		return stayed
	})
	if stayed {
		s.response, s.err = response, err
	}
	return stayed
}

// Response returns the whole answer. If Events was not used, it sends the request
// and reads the answer first. After a loop that ended early it returns
// [ErrAbandoned]; for an answer that was cut, an error that is [ErrTruncated].
func (s *Stream) Response() (*Response, error) {
	if s.running {
		return nil, errStreamRunning
	}
	if !s.started {
		s.drive(func(Event) bool { return true })
	}
	return s.response, s.err
}
