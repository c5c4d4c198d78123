package model

import (
	"net/http"
	"time"
)

// NewTransport returns the transport that a nil Config.HTTPClient means: the default
// one with room for as many idle connections to one host as there are sessions at a
// time. The standard default keeps two, so that with 64 requests in flight nearly
// each opens a connection of its own. Proxies come from the environment, as usual;
// HTTP/2 is used where TLS negotiates it.
func NewTransport() *http.Transport {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok { // the program put something else there
		t = &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second}
	}
	t = t.Clone()
	t.MaxIdleConns = 0 // no limit over all hosts
	t.MaxIdleConnsPerHost = 4096
	t.IdleConnTimeout = 90 * time.Second
	t.MaxResponseHeaderBytes = 256 << 10 // the default is 10 MiB, and a hostile one costs several times that, on each attempt
	t.WriteBufferSize = 32 << 10
	t.ReadBufferSize = 16 << 10
	return t
}
