package routingtest

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
)

// IssuedToken sends a token in the response to a request that has none, and a
// request that echoes it to the target that it names. A token that is unknown, or
// whose target is down, is ignored: the request is placed anew and the response
// carries a new token. Otherwise it carries none.
//
// Tokens name their target and nothing is remembered, as with llm-d; no two are
// equal, so a test can tell whose token a request echoes.
type IssuedToken struct {
	// Header is the name in both directions; empty means x-session-token.
	Header string
	// New places requests without a good token; nil means RoundRobin.
	New Policy
}

func (c IssuedToken) picker(targets []*target) (picker, error) {
	or(&c.Header, "x-session-token")
	header, err := sessionHeaders("IssuedToken.Header", []string{c.Header})
	if err != nil {
		return nil, err
	}
	place, err := orPolicy(c.New, RoundRobin{}, targets)
	if err != nil {
		return nil, err
	}
	p := &issuer{header: header[0], place: place, byName: make(map[string]*target, len(targets))}
	for _, t := range targets {
		p.byName[t.Name] = t
	}
	return p, nil
}

type issuer struct {
	header string
	place  picker
	byName map[string]*target
	issued uint64
}

func (p *issuer) pick(response http.Header, r *http.Request) (*target, error) {
	if t := p.resolve(r.Header.Get(p.header)); t != nil && !t.down {
		return t, nil
	}
	t, err := p.place.pick(response, r)
	if err != nil {
		return nil, err
	}
	p.issued++
	token := strconv.FormatUint(p.issued, 10) + "/" + t.Name
	response.Set(p.header, base64.RawURLEncoding.EncodeToString([]byte(token)))
	return t, nil
}

// resolve returns nil for a token that no router with these targets issued.
func (p *issuer) resolve(token string) *target {
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return nil
	}
	number, name, _ := strings.Cut(string(raw), "/")
	if _, err := strconv.ParseUint(number, 10, 64); err != nil {
		return nil
	}
	return p.byName[name]
}
