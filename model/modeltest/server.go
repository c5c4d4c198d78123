package modeltest

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Server is an OpenAI-compatible server on a loopback socket that does what it is
// told and records what it was sent. It ends with the test, and all its connections
// with it. Its methods may be called by any number of goroutines, but for those that
// fail the test: they belong to the test's own.
type Server struct {
	t        testing.TB
	listener net.Listener
	steps    []Step
	answer   func(Recorded) Step // in the place of steps, if set
	stop     chan struct{}
	all      sync.WaitGroup

	mu       sync.Mutex
	requests []Recorded
	conns    map[net.Conn]bool
	accepted int
	faults   []string
	changed  chan struct{} // closed and replaced when anything of the above changes
}

// patience is how long to wait for what comes at once when all is well.
const patience = 10 * time.Second

// NewServer starts a server that answers each request with the next of steps,
// whatever connection it comes by. A request beyond the last one gets status 400.
// When the test ends without a failure of its own, it fails for such requests and
// for steps that no request asked for.
func NewServer(t testing.TB, steps ...Step) *Server {
	t.Helper()
	for i, step := range steps {
		if step.run == nil {
			t.Fatalf("modeltest: step %d of the script is %s", i+1, step.unusable())
		}
	}
	return start(t, &Server{steps: slices.Clone(steps)})
}

// NewServerFunc starts a server that asks answer for the step of each request. It is
// called by many goroutines at a time and must not block; to keep a request waiting
// there is [Hold].
func NewServerFunc(t testing.TB, answer func(r Recorded) Step) *Server {
	t.Helper()
	return start(t, &Server{answer: answer})
}

func start(t testing.TB, s *Server) *Server {
	t.Helper()
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatalf("modeltest: no loopback socket: %v", err)
	}
	s.t, s.listener = t, listener
	s.stop, s.conns, s.changed = make(chan struct{}), map[net.Conn]bool{}, make(chan struct{})
	s.all.Go(s.accept)
	t.Cleanup(s.end)
	return s
}

// URL is the base URL for a client, such as http://127.0.0.1:41327/v1.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/v1" }

// Requests returns the requests that came so far, in the order in which they were
// whole.
func (s *Server) Requests() []Recorded {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Await waits until n requests are there and returns all. It fails the test if they
// do not come in ten seconds.
func (s *Server) Await(n int) []Recorded {
	s.t.Helper()
	if !s.await(patience, func() bool { return len(s.requests) >= n }) {
		s.t.Fatalf("modeltest: %d of %d requests came in %v", len(s.Requests()), n, patience)
	}
	return s.Requests()
}

// OpenConns returns the number of open connections, idle ones among them.
func (s *Server) OpenConns() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// AwaitConns waits until n connections or fewer are open. It fails the test if that
// takes more than five seconds.
func (s *Server) AwaitConns(n int) {
	s.t.Helper()
	if !s.awaitConns(n) {
		s.t.Fatalf("modeltest: %d connections are still open after %v, want at most %d", s.OpenConns(), patience/2, n)
	}
}

func (s *Server) awaitConns(n int) bool {
	return s.await(patience/2, func() bool { return len(s.conns) <= n })
}

// await waits until holds, which is called under the lock, is true.
func (s *Server) await(limit time.Duration, holds func() bool) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		s.mu.Lock()
		ok, changed := holds(), s.changed
		s.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-changed:
		case <-timer.C:
			return false
		}
	}
}

// change runs f under the lock and wakes those that wait.
func (s *Server) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Server) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.change(func() {
			s.accepted++
			s.conns[c] = true
			n := s.accepted
			s.all.Go(func() { s.serve(c, n) })
		})
		select {
		case <-s.stop: // end may have missed this one
			_ = c.Close()
		default:
		}
	}
}

// serve answers the requests of one connection. Another goroutine reads them, so that
// the end of the connection is seen while an answer is held.
func (s *Server) serve(c net.Conn, number int) {
	incoming, gone, done := make(chan *Recorded), make(chan struct{}), make(chan struct{})
	s.all.Go(func() {
		defer close(gone)
		br := bufio.NewReader(c)
		for {
			r, err := readRequest(br, func() error { _, err := c.Write([]byte("HTTP/1.1 100 Continue\r\n\r\n")); return err })
			if err != nil {
				if bad := malformed(""); errors.As(err, &bad) {
					s.change(func() { s.faults = append(s.faults, "a request could not be read: "+string(bad)) })
				}
				return
			}
			select {
			case incoming <- r:
			case <-done:
				return
			}
		}
	})
	defer s.change(func() { delete(s.conns, c) })
	defer c.Close() //nolint:errcheck // a reset connection has an error, too
	defer close(done)
	for {
		select {
		case r := <-incoming:
			r.Conn = number
			x := &exchange{request: *r, conn: c, w: bufio.NewWriter(c), gone: gone, stop: s.stop}
			s.next(x).run(x)
			if x.closing || x.w.Flush() != nil || r.Proto == "HTTP/1.0" || strings.EqualFold(r.Header.Get("Connection"), "close") {
				return
			}
		case <-gone:
			return
		case <-s.stop:
			return
		}
	}
}

// next records the request and returns its step.
func (s *Server) next(x *exchange) Step {
	step := Step{}
	s.change(func() {
		s.requests = append(s.requests, x.request)
		x.number = len(s.requests)
		if s.answer == nil && x.number <= len(s.steps) {
			step = s.steps[x.number-1]
		}
	})
	if s.answer != nil {
		step = s.answer(x.request)
	}
	if step.run != nil {
		return step
	}
	if s.answer != nil {
		s.change(func() {
			s.faults = append(s.faults, fmt.Sprintf("the step returned for request %d, %v, is %s", x.number, x.request, step.unusable()))
		})
	}
	return Status(400, nil, `{"error":{"message":"modeltest: no step for this request","type":"invalid_request_error"}}`)
}

// end stops the server and reports what went against the script.
func (s *Server) end() {
	s.t.Helper()
	close(s.stop)
	_ = s.listener.Close()
	s.change(func() {
		for c := range s.conns {
			_ = c.Close()
		}
	})
	s.all.Wait()
	for _, fault := range s.faults {
		s.t.Errorf("modeltest: %s", fault)
	}
	if s.answer != nil || s.t.Failed() { // the rest would only repeat what is known
		return
	}
	for i := len(s.steps); i < len(s.requests); i++ {
		s.t.Errorf("modeltest: request without a step: request %d, %v; the script has %d steps", i+1, s.requests[i], len(s.steps))
	}
	for i := len(s.requests); i < len(s.steps); i++ {
		s.t.Errorf("modeltest: step never asked for: step %d, %s; %d requests came", i+1, s.steps[i].name, len(s.requests))
	}
}
