package routing

import (
	"net/http"
	"net/url"
	"strings"
)

// originOf returns scheme, host and port of u in one spelling.
func originOf(u *url.URL) string {
	if u == nil {
		return ""
	}
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if u.Port() == "" {
		switch scheme {
		case "http":
			host = strings.TrimSuffix(host, ":") + ":80"
		case "https":
			host = strings.TrimSuffix(host, ":") + ":443"
		}
	}
	return scheme + "://" + host
}

// maxRedirects bounds a walk over responses that someone linked into a ring.
const maxRedirects = 1000

// firstOf follows a chain of redirects back to the request that began it, and counts
// the redirects. net/http notes in each redirected request the response that caused
// it. The first request is nil where the chain does not lead to it.
func firstOf(req *http.Request) (first *http.Request, redirects int) {
	for first = req; first != nil && first.Response != nil; redirects++ {
		if redirects == maxRedirects {
			return nil, redirects
		}
		first = first.Response.Request
	}
	return first, redirects
}

// inOrigin reports whether req goes to the origin of the first request of its chain
// of redirects. If that is not known it is another one.
func inOrigin(req *http.Request) bool {
	if req.Response == nil {
		return true
	}
	first, _ := firstOf(req)
	return first != nil && originOf(first.URL) == originOf(req.URL)
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}
