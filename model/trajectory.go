package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/homing-go/homing/routing"
)

// A Trajectory is one run of an agent on one task: a session, a history and the
// client that sends them. It puts its session into every context itself, in the place
// of any session and of [routing.Without] there.
//
// The messages of a turn and the answer go into the history together, when the answer
// is whole. After an error, a cut stream or an abandoned one the history is as it was
// before the call, so that the same call can be made again.
//
// A trajectory is used by one goroutine at a time, else calls fail with [ErrBusy];
// Fork, Snapshot and Session may be called at any time.
type Trajectory struct {
	// Tools, Params and Extra go with each turn; they may be changed between turns.
	Tools  *Tools
	Params Params
	Extra  map[string]json.RawMessage

	client  Client
	session routing.Session
	history *Transcript
	busy    atomic.Bool
	budget  trajectoryBudget

	mu        sync.Mutex
	committed Snapshot
	turns     int
}

// NewTrajectory returns a trajectory whose history begins with history: a system message,
// or what [Snapshot.JSON] kept of a trajectory that is to go on, under the same session.
func NewTrajectory(c Client, s routing.Session, history ...Message) *Trajectory {
	return newTrajectory(c, s, NewTranscript(history...))
}

func newTrajectory(c Client, s routing.Session, history *Transcript) *Trajectory {
	return &Trajectory{client: c, session: s, history: history, committed: history.Snapshot()}
}

// Send sends one turn: the history with msgs behind it.
func (t *Trajectory) Send(ctx context.Context, msgs ...Message) (*Response, error) {
	return t.turn(ctx, msgs, func(ctx context.Context, req *Request) (*Response, error) { return t.client.Generate(ctx, req) })
}

// Stream is Send with the answer as it comes. The turn begins when the stream is used.
func (t *Trajectory) Stream(ctx context.Context, msgs ...Message) *Stream {
	return NewStream(func(yield func(Event) bool) (*Response, error) {
		return t.turn(ctx, msgs, func(ctx context.Context, req *Request) (*Response, error) {
			stream := t.client.Stream(ctx, req)
			if stream == nil {
				return nil, errNoAnswer
			}
			for event, err := range stream.Events() {
				if err != nil {
					return nil, err
				}
				if !yield(event) {
					return nil, ErrAbandoned
				}
			}
			return stream.Response()
		})
	})
}

func (t *Trajectory) turn(ctx context.Context, msgs []Message, send func(context.Context, *Request) (*Response, error)) (*Response, error) {
	if ctx == nil {
		return nil, routing.Check(ctx) // says so
	}
	switch {
	case t.client == nil:
		return nil, &ConfigError{Field: "Trajectory", Reason: "it has no client; make it with NewTrajectory"}
	case t.session.ID == "":
		return nil, fmt.Errorf("model: the trajectory's session has no ID; make it with routing.NewSession(routing.NewID()): %w", routing.ErrNoSession)
	case !t.busy.CompareAndSwap(false, true):
		return nil, ErrBusy
	}
	defer t.busy.Store(false)
	before, index := t.state()
	defer func() {
		if after, _ := t.state(); after == before {
			t.history.rewind(before)
		}
	}()
	t.history.Append(msgs...)
	turn := routing.TurnFrom(ctx)
	turn.Index = index + 1
	ctx = routing.NewContext(routing.WithTurn(ctx, turn), t.session)
	ctx = context.WithValue(ctx, budgetKey{}, &t.budget)
	answer, err := send(ctx, &Request{Messages: t.history.Snapshot(), Tools: t.Tools, Params: t.Params, Extra: t.Extra})
	if err != nil {
		return nil, err
	}
	if answer == nil || len(answer.Message.json) == 0 {
		return nil, errNoAnswer
	}
	t.history.Append(answer.Message)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.committed = t.history.Snapshot()
	t.turns++
	return answer, nil
}

var errNoAnswer = errors.New("model: the client returned neither an answer with a message nor an error")

func (t *Trajectory) state() (committed Snapshot, turns int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.committed, t.turns
}

// Snapshot returns the history up to the last whole turn.
func (t *Trajectory) Snapshot() Snapshot {
	s, _ := t.state()
	return s
}

// Fork returns a trajectory under another session that begins with this history up to
// the last whole turn; the history is shared, not copied. For a sub-agent use a child
// of [Trajectory.Session].
func (t *Trajectory) Fork(s routing.Session) *Trajectory {
	fork := newTrajectory(t.client, s, t.Snapshot().fork())
	fork.Tools, fork.Params, fork.Extra = t.Tools, t.Params, t.Extra
	return fork
}

// Compact replaces the history, by a shorter telling of it, under the same session: the
// trajectory stays on its backend, which reads the new history once.
func (t *Trajectory) Compact(msgs ...Message) error {
	if !t.busy.CompareAndSwap(false, true) {
		return ErrBusy
	}
	defer t.busy.Store(false)
	t.history = NewTranscript(msgs...)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.committed = t.history.Snapshot()
	return nil
}

// Session returns the session that every request of the trajectory carries.
func (t *Trajectory) Session() routing.Session { return t.session }

// An Ender is a client that can tell the router that a trajectory is over. A decorator
// forwards it.
type Ender interface {
	End(ctx context.Context) error
}

// End tells the client's carrier that the trajectory is over, if the client is an
// [Ender]: what the router or the carrier keeps of it can go.
func (t *Trajectory) End(ctx context.Context) error {
	if ctx == nil {
		return routing.Check(ctx)
	}
	if ender, ok := t.client.(Ender); ok {
		return ender.End(routing.NewContext(ctx, t.session))
	}
	return nil
}
