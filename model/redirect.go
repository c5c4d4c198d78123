package model

import (
	"errors"
	"fmt"
	"net/http"
)

// keepMethod wraps a redirect policy: a redirect that turns a POST into a GET loses
// the request and would still carry the session.
func keepMethod(policy func(*http.Request, []*http.Request) error) func(*http.Request, []*http.Request) error {
	if policy == nil {
		policy = func(_ *http.Request, via []*http.Request) error {
			if len(via) >= 10 {
				return errors.New("stopped after 10 redirects")
			}
			return nil
		}
	}
	return func(req *http.Request, via []*http.Request) error {
		if first := via[0].Method; first != req.Method {
			return methodChanged(first, req.Method)
		}
		return policy(req, via)
	}
}

func methodChanged(from, to string) error {
	return &Error{Kind: KindResponse, detail: fmt.Sprintf("the server redirects so that the %s becomes a %s, which would lose the request; it must answer 307 or 308", from, to)}
}
