package routing

import "net/http"

// Wrap returns a copy of c that sends the session of each request's context by
// carrier; nil means the header X-Session-ID. Redirect policy, cookie jar and time
// limit are kept. A nil client means a new one. Wrapping twice with one carrier is
// the same as once.
func Wrap(c *http.Client, carrier Carrier) *http.Client {
	wrapped := new(http.Client)
	if c != nil {
		*wrapped = *c
	}
	if t, ok := wrapped.Transport.(*Transport); ok && sameCarrier(orGeneric(t.Carrier), orGeneric(carrier)) {
		return wrapped
	}
	wrapped.Transport = &Transport{Base: wrapped.Transport, Carrier: carrier}
	return wrapped
}

// Middleware returns [Transport.Middleware] for carrier, in the form that the
// SDKs of OpenAI and Anthropic take as an option. It cannot see redirects; where
// the client's transport can be set, [Wrap] is the safer choice.
func Middleware(carrier Carrier) func(*http.Request, func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	return (&Transport{Carrier: carrier}).Middleware
}
