package modeltest

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// prompt is how long a canceled call may take on a busy machine; it is less than the
// wait that cancelWait asks for.
const prompt = 5 * time.Second

// canceled checks the outcome of a call that was canceled.
func (k *kit) canceled(s *Server, what string, err error) {
	k.Helper()
	if !errors.Is(err, context.Canceled) {
		k.Fatalf("the error of a canceled %s is %v, want context.Canceled", what, err)
	}
	if !s.awaitConns(0) {
		k.Fatalf("a canceled %s holds %d connections", what, s.OpenConns())
	}
}

func cancelPlain(k *kit) {
	s := NewServerFunc(k, func(Recorded) Step { return Hold(nil, Step{}) })
	c := k.client(s, header)
	ctx, _ := k.session()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	result := make(chan error, 1)
	go func() {
		_, err := c.Generate(ctx, request("Fix the first bug."))
		result <- err
	}()
	s.Await(1)
	cancel()
	k.canceled(s, "plain call", k.within(prompt, "a canceled plain call", func() error { return <-result }))
}

func cancelStream(k *kit) {
	s := NewServerFunc(k, func(Recorded) Step { return Stall(2) })
	c := k.client(s, header)
	ctx, _ := k.session()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events, result := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		st := c.Stream(ctx, request("Fix the first bug."))
		for _, err := range st.Events() {
			if err == nil {
				select {
				case events <- struct{}{}:
				default:
				}
			}
		}
		_, err := st.Response()
		result <- err
	}()
	_ = k.within(patience, "no event was handed out while the stream is open", func() error { <-events; return nil })
	cancel()
	k.canceled(s, "stream", k.within(prompt, "a canceled stream", func() error { return <-result }))
}

// cancelWait cancels while the client waits for its next attempt.
func cancelWait(k *kit) {
	answered := make(chan struct{}, 1)
	busy := Status(503, http.Header{"Retry-After": {"10"}}, overloaded)
	s := NewServerFunc(k, func(Recorded) Step {
		return Step{busy.name, func(x *exchange) {
			busy.run(x)
			select {
			case answered <- struct{}{}:
			default:
			}
		}}
	})
	c := k.client(s, header)
	ctx, _ := k.session()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	result := make(chan error, 1)
	go func() {
		_, err := c.Generate(ctx, request("Fix the first bug."))
		result <- err
	}()
	_ = k.within(patience, "the first attempt", func() error { <-answered; return nil })
	// Nothing tells when the client has read the answer and waits, so it gets time to.
	select {
	case err := <-result:
		if err == nil {
			k.Fatal("status 503 is taken for an answer")
		}
		return // so long a wait is not for this client
	case <-time.After(50 * time.Millisecond):
	}
	cancel()
	err := k.within(prompt, "a call that is canceled while it waits for its next attempt", func() error { return <-result })
	if !errors.Is(err, context.Canceled) {
		k.Fatalf("the error of a call that is canceled while it waits is %v, want context.Canceled", err)
	}
}
