package modeltest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/homing-go/homing/routing"
)

// header is the name that most cases use.
const header = routing.DefaultHeader

func firstAttempt(k *kit) {
	s := NewServer(k, Reply("fine"))
	ctx, id := k.session()
	k.answer(ctx, k.client(s, header), plain)
	k.carries(k.requests(s, 1, "one call, answered at once")[0], header, id, "on the first attempt")
}

func spelling(k *kit) {
	s := NewServer(k, Reply("fine"), Reply("fine"))
	c := k.client(s, header)
	for i, w := range bothWays {
		ctx, id := k.session()
		k.answer(ctx, c, w)
		r := s.Requests()[i]
		k.carries(r, header, id, "on a "+w.name)
		k.spelled(r, header, "on a "+w.name)
	}
}

func severalHeaders(k *kit) {
	names := []string{header, "x-session-affinity", "X-Correlation-Id", "X-SMG-Routing-Key"}
	s := NewServer(k, Reply("fine"), Reply("fine"))
	c := k.client(s, names...)
	for i, w := range bothWays {
		ctx, id := k.session()
		k.answer(ctx, c, w)
		r := s.Requests()[i]
		for _, name := range names {
			k.carries(r, name, id, "on a "+w.name+" with several headers")
			k.spelled(r, name, "among several")
		}
	}
}

// memberCarrier is a carrier that writes into the body.
type memberCarrier struct{ routing.None }

const memberName = "session_for_the_router"

func (memberCarrier) Members(s routing.Session, _ routing.Turn) []routing.Member {
	return []routing.Member{{Path: []string{memberName}, Value: []byte(quote(string(s.ID)))}}
}

func inBody(k *kit) {
	s := NewServer(k, Status(500, nil, ""), Reply("fine"), Reply("fine"))
	c := k.carrying(s, memberCarrier{})
	ctx, id := k.session()
	k.answer(ctx, c, plain)
	k.answer(ctx, c, stream)
	for i, r := range k.requests(s, 3, "a status 500 and two answers") {
		if got := string(member(r.Body, memberName)); got != quote(string(id)) {
			k.Fatalf("request %d: the carrier's body member is %q, want the ID %s", i+1, got, id)
		}
		if lines := r.Named(header); len(lines) > 0 {
			k.Fatalf("request %d: the carrier writes no header, but the wire shows %q", i+1, lines)
		}
	}
}

func noHeaders(k *kit) {
	s := NewServer(k, Reply("fine"), Reply("fine"), Reply("fine"), Reply("fine"))
	c := k.client(s)
	for i, w := range bothWays {
		ctx, id := k.session()
		k.answer(ctx, c, w)
		k.answer(routing.Without(k.context()), c, w)
		with, bare := s.Requests()[2*i], s.Requests()[2*i+1]
		if with.Contains(string(id)) {
			k.Fatalf("an empty list of headers must send nothing, but the ID is in the %s: %q", w.name, with.Lines)
		}
		if a, b := headerNames(with), headerNames(bare); !slices.Equal(a, b) {
			k.Fatalf("an empty list of headers must leave the %s unchanged: header names %q, under Without %q", w.name, a, b)
		}
		if !bytes.Equal(with.Body, bare.Body) {
			k.Fatalf("an empty list of headers must leave the %s unchanged: its body is not that under Without", w.name)
		}
	}
}

// headerNames as they are on the wire.
func headerNames(r Recorded) []string {
	var names []string
	for _, line := range r.Lines {
		name, _, _ := strings.Cut(line, ":")
		names = append(names, name)
	}
	return names
}

func without(k *kit) {
	s := NewServer(k, Reply("fine"), Reply("fine"), Reply("fine"))
	c := k.client(s, header)
	ctx, id := k.session()
	for i, w := range bothWays {
		k.answer(routing.Without(ctx), c, w)
		if r := s.Requests()[i]; len(r.Named(header)) > 0 || r.Contains(string(id)) {
			k.Fatalf("a %s after Without must not touch the session, but the wire shows %q", w.name, r.Named(header))
		}
	}
	again := routing.NewContext(routing.Without(ctx), routing.NewSession(id))
	k.answer(again, c, plain)
	k.carries(s.Requests()[2], header, id, "under a session inside of Without")
}

func noSession(k *kit) {
	k.refused(k.context(), "without a session", func(err error) bool { return errors.Is(err, routing.ErrNoSession) }, "routing.ErrNoSession")
}

func unusableID(k *kit) {
	ctx := routing.NewContext(k.context(), routing.NewSession("two\r\nlines"))
	k.refused(ctx, "with an ID that no header can carry", func(err error) bool {
		var bad *routing.IDError
		return errors.As(err, &bad)
	}, "an *routing.IDError")
}

// refused checks that neither way sends anything under ctx.
func (k *kit) refused(ctx context.Context, what string, is func(error) bool, want string) {
	k.Helper()
	s := NewServerFunc(k, func(Recorded) Step { return Reply("fine") })
	c := k.client(s, header)
	for _, w := range bothWays {
		_, err := w.send(ctx, c, request("Fix the first bug."))
		if n := len(s.Requests()); n > 0 {
			k.Fatalf("a %s %s must send nothing, but %d requests came", w.name, what, n)
		}
		if !is(err) {
			k.Fatalf("a %s %s: the error is %v, want %s", w.name, what, err, want)
		}
	}
}
