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

// firstOf follows a chain of redirects back to the request that began it. net/http
// notes in each redirected request the response that caused it.
func firstOf(req *http.Request) *http.Request {
	for req.Response != nil && req.Response.Request != nil {
		req = req.Response.Request
	}
	return req
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}
