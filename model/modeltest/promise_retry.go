package modeltest

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/homing-go/homing/model"
)

// overloaded is what servers say when they fail.
const overloaded = `{"error":{"message":"scripted failure","type":"server_error","code":null}}`

// retried sends a turn through steps, of which the last must answer "fine", and checks
// the session on every attempt.
func (k *kit) retried(w way, why string, steps ...Step) []Recorded {
	k.Helper()
	s := NewServer(k, steps...)
	ctx, id := k.session()
	k.answer(ctx, k.client(s, header), w)
	list := k.requests(s, len(steps), fmt.Sprintf("a %s is sent again after %s", w.name, why))
	where := "on the first attempt of a " + w.name
	for i, r := range list {
		k.carries(r, header, id, where)
		where = fmt.Sprintf("on retry %d of a %s, after %s", i+1, w.name, steps[i].name)
	}
	return list
}

func retryServerError(k *kit) {
	k.eachWay(func(k *kit, w way) {
		k.retried(w, "status 500", Status(500, nil, overloaded), Status(500, nil, overloaded), Reply("fine"))
	})
}

func retryRateLimit(k *kit) {
	const wait = time.Second
	k.eachWay(func(k *kit, w way) {
		list := k.retried(w, "status 429", Status(429, http.Header{"Retry-After": {"1"}}, overloaded), Reply("fine"))
		if took := list[1].Time.Sub(list[0].Time); took < wait {
			k.Fatalf("Retry-After is ignored on a %s: the server asked for %v, the next attempt came after %v", w.name, wait, took)
		}
	})
}

func retryReset(k *kit) {
	k.eachWay(func(k *kit, w way) { k.retried(w, "a connection reset", Reset(), Reply("fine")) })
}

func sameBody(k *kit) {
	k.eachWay(func(k *kit, w way) {
		list := k.retried(w, "status 500 and a reset", Status(500, nil, overloaded), Reset(), Reply("fine"))
		first := list[0].Body
		if len(first) == 0 {
			k.Fatal("the first attempt has no body")
		}
		for i, r := range list[1:] {
			if at, same := firstDifference(first, r.Body); !same {
				k.Fatalf("the body differs on attempt %d of a %s, from byte %d on: %q, on the first attempt %q", i+2, w.name, at, excerpt(r.Body, at), excerpt(first, at))
			}
		}
	})
}

func firstDifference(a, b []byte) (at int, same bool) {
	if bytes.Equal(a, b) {
		return 0, true
	}
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	return at, false
}

func excerpt(text []byte, at int) []byte { return text[max(0, at-20):min(len(text), at+20)] }

// cutPlain has an answer that is cut by the connection, and one that is cut though
// HTTP finds nothing wrong. To send it again or to fail is the client's choice.
func cutPlain(k *kit) {
	const half = `{"id":"chatcmpl-1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"this is not`
	for _, cut := range [...]Step{ShortBody("this is not the whole of it"), Status(200, http.Header{"Content-Type": {"application/json"}}, half)} {
		var once atomic.Bool
		s := NewServerFunc(k, func(Recorded) Step {
			if once.CompareAndSwap(false, true) {
				return cut
			}
			return Reply("fine")
		})
		ctx, id := k.session()
		res, err := k.client(s, header).Generate(ctx, request("Fix the first bug."))
		switch {
		case err == nil && (res == nil || res.Text != "fine"):
			k.Fatalf("an answer that was cut half way is taken for a whole one (%s)", cut.name)
		case err != nil && !errors.Is(err, model.ErrTruncated):
			k.Fatalf("the error of an answer that was cut half way (%s) is %v, want model.ErrTruncated", cut.name, err)
		}
		for i, r := range s.Requests() {
			k.carries(r, header, id, fmt.Sprintf("on attempt %d around a cut answer", i+1))
		}
	}
}
