package modeltest

import (
	"fmt"
	"strings"

	"github.com/homing-go/homing/routing"
)

func redirectInside(k *kit) {
	k.eachWay(func(k *kit, w way) {
		for _, code := range [...]int{307, 308} {
			s := NewServer(k, Redirect(code, "/elsewhere/chat/completions"), Reply("fine"))
			ctx, id := k.session()
			k.answer(ctx, k.client(s, header), w)
			list := k.requests(s, 2, fmt.Sprintf("a redirect %d inside the origin is followed once", code))
			if list[1].Target != "/elsewhere/chat/completions" || list[1].Method != list[0].Method {
				k.Fatalf("the redirect %d led to %v, want %s /elsewhere/chat/completions", code, list[1], list[0].Method)
			}
			k.carries(list[1], header, id, fmt.Sprintf("behind a redirect %d of a %s", code, w.name))
			if at, same := firstDifference(list[0].Body, list[1].Body); !same {
				k.Fatalf("the body differs behind a redirect %d of a %s, from byte %d on", code, w.name, at)
			}
		}
	})
}

// redirectOutside sends to a server that redirects to another port, and to another
// name of the same one. Whether the client follows or refuses is its own affair.
func redirectOutside(k *kit) {
	inHeader, err := routing.Header(header)
	if err != nil {
		k.Fatal(err)
	}
	carrier := routing.Join(inHeader, memberCarrier{})
	k.eachWay(func(k *kit, w way) {
		k.redirected("another port", carrier, w, func(_, other *Server) string { return other.URL() })
		k.redirected("another host", carrier, w, func(first, _ *Server) string {
			return strings.Replace(first.URL(), "127.0.0.1", "localhost", 1)
		})
	})
}

func (k *kit) redirected(to string, carrier routing.Carrier, w way, target func(first, other *Server) string) {
	k.Helper()
	const path = "/foreign/chat/completions"
	var location string
	other := NewServerFunc(k, func(Recorded) Step { return Reply("fine") })
	first := NewServerFunc(k, func(r Recorded) Step {
		if strings.HasSuffix(r.Target, path) {
			return Reply("fine")
		}
		return Redirect(307, location)
	})
	location = target(first, other) + path
	ctx, id := k.session()
	_, _ = w.send(ctx, k.carrying(first, carrier), request("Fix the first bug."))
	foreign := other.Requests()
	for _, r := range first.Requests() {
		if strings.HasSuffix(r.Target, path) {
			foreign = append(foreign, r)
		} else {
			k.carries(r, header, id, "on a request that is redirected")
		}
	}
	for _, r := range foreign {
		if r.Contains(string(id)) {
			k.Fatalf("the session leaks by a redirect to %s: %v of a %s carries it", to, r, w.name)
		}
	}
}
