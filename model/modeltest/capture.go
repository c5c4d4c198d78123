package modeltest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/homing-go/homing/routing"
)

// A captured exchange is one as it was on the wire, secrets and IDs included. It does
// not leave the memory.
type captured struct {
	session                routing.Session // zero: none
	method, target, origin string
	header                 http.Header
	body                   []byte
	status                 string
	answer, trailer        http.Header
	text                   []byte
	end                    outcome
	over                   bool // it changes no more
}

// captureRequest returns the request without its body.
func captureRequest(req *http.Request) *captured {
	s, _ := routing.FromContext(req.Context())
	method := req.Method
	if method == "" {
		method = http.MethodGet
	}
	return &captured{
		session: s, method: method, target: req.URL.RequestURI(), origin: req.URL.Scheme + "://" + req.URL.Host,
		header: req.Header.Clone(),
	}
}

// title names the exchange in messages, without the query, which may hold secrets.
func (c *captured) title() string {
	path, _, _ := strings.Cut(c.target, "?")
	return c.method + " " + trackOf(c.session).neutral().inTarget(path)
}

// errTooLarge is for bodies above the limit of a tape.
var errTooLarge = errors.New("above the limit")

// readRequestBody reads the body of a request, and closes it unless it is too large:
// then rest is all of it, read or not, for the transport below.
func readRequestBody(req *http.Request, limit int) (body []byte, rest io.ReadCloser, err error) {
	if req.Body == nil || req.Body == http.NoBody {
		return nil, nil, nil
	}
	body, err = io.ReadAll(io.LimitReader(req.Body, int64(limit)+1))
	if err == nil && len(body) > limit {
		return body, struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(body), req.Body), req.Body}, errTooLarge
	}
	if closed := req.Body.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, nil, fmt.Errorf("modeltest: the request's body cannot be read: %w", err)
	}
	return body, nil, nil
}

// clean returns what may be written to a file, but for the session IDs. ids are all
// that are known, and seen is secrets.
func (s *scrubber) clean(c *captured, ids, seen []string) *entry {
	return &entry{
		method: c.method,
		target: s.target(c.target, ids, seen),
		header: s.requestFields(c, ids, seen),
		body:   s.text(string(c.body), seen),
		status: c.status,
		answer: s.answerFields(c, c.answer, ids, seen),
		text:   s.text(string(c.text), seen),
		// A trailer may repeat the header's names.
		trailer: s.answerFields(c, c.trailer, ids, seen),
		end:     c.end,
	}
}

// requestFields selects the headers that are recorded: a replay compares them, so what
// depends on the version of a client or on the machine is left out.
func (s *scrubber) requestFields(c *captured, ids, seen []string) []field {
	var own names
	for _, id := range trackOf(c.session).ids() {
		own = append(own, pair{from: id})
	}
	return fieldsOf(c.header, func(name, v string) (string, bool) {
		if !s.headers[strings.ToLower(name)] && own.inHeader(v) == v {
			return "", false
		}
		return s.value(name, v, ids, seen), true
	})
}

func (s *scrubber) answerFields(c *captured, h http.Header, ids, seen []string) []field {
	return fieldsOf(h, func(name, v string) (string, bool) {
		switch http.CanonicalHeaderKey(name) {
		case "Date", "Age", "Connection", "Keep-Alive", "Proxy-Connection", "Alt-Svc", "Content-Length", "Transfer-Encoding":
			return "", false
		case "Location":
			if path, ok := strings.CutPrefix(v, c.origin); ok && strings.HasPrefix(path, "/") {
				v = path // the same place, wherever the server listens
			}
			return s.target(v, ids, seen), true
		}
		return s.value(name, v, ids, seen), true
	})
}

// fieldsOf lists the fields of a header that keep wants, by name.
func fieldsOf(h http.Header, keep func(name, v string) (string, bool)) []field {
	names := slices.SortedFunc(maps.Keys(h), func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a), strings.ToLower(b)), cmp.Compare(a, b))
	})
	var list []field
	for _, name := range names {
		if !isToken(name) { // no transport sends it
			continue
		}
		for _, v := range h[name] {
			if v, ok := keep(name, v); ok {
				list = append(list, field{name, v})
			}
		}
	}
	return list
}

// isToken reports whether a header name is one that can be written.
func isToken(name string) bool {
	for i := range len(name) {
		if c := name[i]; !isAlphanumeric(c) && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return name != ""
}
