package modeltest

import (
	"errors"
	"strings"

	"github.com/homing-go/homing/model"
)

func onStream(k *kit) {
	const text = "one two three"
	s := NewServer(k, Reply(text))
	ctx, id := k.session()
	st := k.client(s, header).Stream(ctx, request("Count."))
	var seen strings.Builder
	for event, err := range st.Events() {
		if err != nil {
			k.Fatalf("the stream fails: %v", err)
		}
		if event.Kind == model.EventText {
			seen.WriteString(event.Text)
		}
	}
	k.carries(k.requests(s, 1, "one stream, answered at once")[0], header, id, "on a stream")
	res, err := st.Response()
	if err != nil || res == nil {
		k.Fatalf("the stream came to its end, but Response returns %v, %v", res, err)
	}
	if seen.String() != text || res.Text != text {
		k.Fatalf("the events of the stream have the text %q and its response %q, want %q", seen.String(), res.Text, text)
	}
}

func cutBefore(k *kit) {
	for _, cut := range [...]Step{Truncate(0), Break(0)} {
		s := NewServer(k, cut, Reply("fine"))
		ctx, id := k.session()
		k.answer(ctx, k.client(s, header), stream)
		list := k.requests(s, 2, "a stream of which nothing came is sent again")
		k.carries(list[1], header, id, "on a stream that is sent again")
		if at, same := firstDifference(list[0].Body, list[1].Body); !same {
			k.Fatalf("the body differs on a stream that is sent again, from byte %d on", at)
		}
	}
}

func cutLater(k *kit) {
	for _, cut := range [...]Step{Truncate(4), TruncateInside(4), Break(4)} {
		s := NewServer(k, cut, Reply("fine"))
		c := k.client(s, header)
		ctx, id := k.session()
		st := c.Stream(ctx, request("Fix the first bug."))
		events := 0
		var last error
		for _, err := range st.Events() {
			if err != nil {
				last = err
				continue
			}
			events++
		}
		switch _, err := st.Response(); {
		case events == 0:
			k.Fatalf("no event of the stream came before it was cut (%s); the loop's error is %v", cut.name, last)
		case len(s.Requests()) > 1:
			k.Fatalf("a stream that was cut after events were handed out is sent again (%s); its text would come twice", cut.name)
		case last == nil:
			k.Fatalf("a cut stream ends as if it were whole (%s): the loop over its events saw no error", cut.name)
		case !errors.Is(last, model.ErrTruncated):
			k.Fatalf("the error of a cut stream (%s) is %v, want model.ErrTruncated", cut.name, last)
		case !errors.Is(err, model.ErrTruncated):
			k.Fatalf("Response of a cut stream (%s) returns %v, want model.ErrTruncated", cut.name, err)
		}
		k.answer(ctx, c, stream)
		for _, r := range k.requests(s, 2, "a cut stream and the caller's next try") {
			k.carries(r, header, id, "around a cut stream")
		}
	}
}

func lazy(k *kit) {
	s := NewServerFunc(k, func(Recorded) Step { return Reply("fine") })
	c := k.client(s, header)
	ctx, _ := k.session()
	unused := c.Stream(ctx, request("This is never sent."))
	k.answer(ctx, c, plain)
	for _, r := range s.Requests() {
		if r.Contains("never sent") {
			k.Fatalf("a stream that is not used sends a request: %v", r)
		}
	}
	if unused == nil {
		k.Fatal("Stream returns nil")
	}
}

func earlyBreaks(k *kit) {
	const breaks = 20
	s := NewServerFunc(k, func(Recorded) Step { return Stall(3) })
	c := k.client(s, header)
	for range breaks {
		ctx, _ := k.session()
		st := c.Stream(ctx, request("Fix the first bug."))
		for _, err := range st.Events() {
			if err != nil {
				k.Fatalf("the stream fails: %v", err)
			}
			break
		}
		if _, err := st.Response(); !errors.Is(err, model.ErrAbandoned) {
			k.Fatalf("Response after an early break returns %v, want model.ErrAbandoned", err)
		}
	}
	k.requests(s, breaks, "one for each stream")
	if !s.awaitConns(0) {
		k.Fatalf("%d loops that ended early hold %d connections", breaks, s.OpenConns())
	}
}
