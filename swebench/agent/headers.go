package agent

import (
	"net/http"
	"strings"

	"github.com/homing-go/homing/model"
)

// Transport returns a transport for the client's [model.Config.HTTPClient] that sends
// [Template.Headers]. What a request has already, the session above all, wins over a header
// of the same name in any case. A nil base means [model.NewTransport].
func (t Template) Transport(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = model.NewTransport()
	}
	if len(t.Headers) == 0 {
		return base
	}
	return &extraHeaders{base: base, headers: t.Headers}
}

type extraHeaders struct {
	base    http.RoundTripper
	headers map[string]string
}

// RoundTrip implements [http.RoundTripper].
func (e *extraHeaders) RoundTrip(req *http.Request) (*http.Response, error) {
	has := make(map[string]bool, len(req.Header))
	for name := range req.Header {
		has[strings.ToLower(name)] = true
	}
	own := req.Clone(req.Context())
	for name, value := range e.headers {
		if !has[strings.ToLower(name)] {
			own.Header[name] = []string{value}
		}
	}
	return e.base.RoundTrip(own)
}

// CloseIdleConnections is forwarded.
func (e *extraHeaders) CloseIdleConnections() {
	if c, ok := e.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
