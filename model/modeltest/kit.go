package modeltest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/routing"
)

// kit is what a case of the suite works with.
type kit struct {
	*testing.T
	open func(t *testing.T, url string, c routing.Carrier) model.Client
}

// client opens a client that sends the session in the headers names; none is one
// that sends nothing.
func (k *kit) client(s *Server, names ...string) model.Client {
	k.Helper()
	carrier, err := routing.Header(names...)
	if err != nil {
		k.Fatal(err)
	}
	return k.carrying(s, carrier)
}

func (k *kit) carrying(s *Server, carrier routing.Carrier) model.Client {
	k.Helper()
	c := k.open(k.T, s.URL(), carrier)
	if c == nil {
		k.Fatal("open returned no client")
	}
	if idle, ok := c.(interface{ CloseIdleConnections() }); ok {
		k.Cleanup(idle.CloseIdleConnections)
	}
	return c
}

// session returns a fresh session and its context.
func (k *kit) session() (context.Context, routing.ID) {
	id := routing.NewID()
	return routing.NewContext(k.context(), routing.NewSession(id)), id
}

// context is the test's, with a deadline, so that a call that hangs has a message.
func (k *kit) context() context.Context {
	ctx, cancel := context.WithTimeout(k.Context(), 30*time.Second)
	k.Cleanup(cancel)
	return ctx
}

// A way is one of the two ways to send a turn.
type way struct {
	name string
	send func(ctx context.Context, c model.Client, req *model.Request) (*model.Response, error)
}

var (
	plain    = way{"plain call", generate}
	stream   = way{"stream", drain}
	bothWays = [...]way{plain, stream}
)

// eachWay runs a check as a subtest for each of the two ways.
func (k *kit) eachWay(check func(k *kit, w way)) {
	for _, w := range bothWays {
		k.Run(w.name, func(t *testing.T) {
			t.Parallel()
			check(&kit{t, k.open}, w)
		})
	}
}

func generate(ctx context.Context, c model.Client, req *model.Request) (*model.Response, error) {
	return c.Generate(ctx, req)
}

// drain reads a stream by its events.
func drain(ctx context.Context, c model.Client, req *model.Request) (*model.Response, error) {
	s := c.Stream(ctx, req)
	for _, err := range s.Events() {
		if err != nil {
			return nil, err
		}
	}
	return s.Response()
}

// request is a turn of a trajectory that has just begun.
func request(text string) *model.Request {
	return &model.Request{Messages: model.NewTranscript(model.System("You fix bugs."), model.User(text)).Snapshot()}
}

// answer sends a turn that must be answered with "fine".
func (k *kit) answer(ctx context.Context, c model.Client, w way) {
	k.Helper()
	const text = "fine"
	res, err := w.send(ctx, c, request("Fix the first bug."))
	switch {
	case err != nil:
		k.Fatalf("the %s fails: %v", w.name, err)
	case res == nil:
		k.Fatalf("the %s returns neither a response nor an error", w.name)
	case res.Text != text:
		k.Fatalf("the text of the %s is %q, want %q", w.name, res.Text, text)
	}
}

// requests returns what came, which must be n requests.
func (k *kit) requests(s *Server, n int, why string) []Recorded {
	k.Helper()
	list := s.Requests()
	if len(list) != n {
		k.Fatalf("%d requests came, want %d: %s", len(list), n, why)
	}
	return list
}

// carries checks that the request has the session once, under this name.
func (k *kit) carries(r Recorded, name string, id routing.ID, where string) {
	k.Helper()
	lines := r.Named(name)
	switch {
	case len(lines) == 0:
		k.Fatalf("the session is lost %s: %v has no header %s", where, r, name)
	case len(lines) > 1:
		k.Fatalf("%d header lines %s: each router takes another one: %s", len(lines), where, strings.Join(lines, " | "))
	case value(lines[0]) != string(id):
		k.Fatalf("not the session of the context %s: %q, want the ID %s", where, lines[0], id)
	}
}

// spelled checks the spelling of a header that the request carries.
func (k *kit) spelled(r Recorded, name, where string) {
	k.Helper()
	if line := r.Named(name)[0]; !strings.HasPrefix(line, name+":") {
		k.Fatalf("wrong spelling of a session header %s: the wire shows %q, want %s", where, line, name)
	}
}

// within runs f and fails if it takes more than limit.
func (k *kit) within(limit time.Duration, what string, f func() error) error {
	k.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		k.Fatalf("%s: still running after %v", what, limit)
		return nil
	}
}
