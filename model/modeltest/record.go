package modeltest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// recorder is the transport of [Tape.Record].
type recorder struct {
	t    testing.TB
	file string
	base http.RoundTripper
	tape Tape

	mu       sync.Mutex
	captured []*captured // in the order in which they were sent
	faults   []string
	ended    bool
}

var errTestOver = errors.New("modeltest: the test is over")

// RoundTrip implements [http.RoundTripper].
func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	c := captureRequest(req)
	body, rest, err := readRequestBody(req, r.tape.maxBytes())
	out := req
	switch {
	case errors.Is(err, errTooLarge):
		out = withBody(req, rest)
	case err != nil:
		return nil, err
	case body != nil:
		out = withBody(req, io.NopCloser(bytes.NewReader(body)))
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	c.body = body
	if !r.begin(c) {
		if out.Body != nil {
			_ = out.Body.Close()
		}
		return nil, errTestOver
	}
	res, err := r.base.RoundTrip(out)
	if err != nil {
		if res != nil && res.Body != nil { // some transports return both
			_ = res.Body.Close()
		}
		r.change(c, func() { c.end, c.over = outcomeOf(req.Context(), err), true })
		return nil, err
	}
	if res.Body == nil {
		res.Body = http.NoBody
	}
	r.change(c, func() {
		c.status, c.answer = statusOf(res), res.Header.Clone()
	})
	res.Body = &tapedBody{rc: res.Body, r: r, c: c, req: req, res: res, left: res.ContentLength}
	res.Request = req
	return res, nil
}

// CloseIdleConnections closes those of the base, if it has such a method.
func (r *recorder) CloseIdleConnections() {
	if c, ok := r.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// withBody returns a copy: a transport must not change the request.
func withBody(req *http.Request, body io.ReadCloser) *http.Request {
	out := *req
	out.Body, out.GetBody = body, nil
	return &out
}

func statusOf(res *http.Response) string {
	code := fmt.Sprintf("%03d", res.StatusCode)
	if strings.HasPrefix(res.Status, code) {
		return strings.TrimSpace(res.Status)
	}
	return strings.TrimSpace(code + " " + http.StatusText(res.StatusCode))
}

// begin takes a place in the order.
func (r *recorder) begin(c *captured) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return false
	}
	r.captured = append(r.captured, c)
	r.limit(c)
	return true
}

// change changes an exchange unless it is over or the file is written.
func (r *recorder) change(c *captured, f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended && !c.over {
		f()
	}
}

// limit forgets the bodies of an exchange that is too large: no file will be written.
func (r *recorder) limit(c *captured) {
	if limit := r.tape.maxBytes(); len(c.body)+len(c.text) > limit {
		number := slices.Index(r.captured, c) + 1
		r.faults = append(r.faults, fmt.Sprintf("exchange %d, %s, is above the limit of %d bytes; raise Tape.MaxBytes", number, c.title(), limit))
		c.body, c.text, c.over = nil, nil, true
	}
}

// tapedBody hands a body on and keeps what was read.
type tapedBody struct {
	rc   io.ReadCloser
	r    *recorder
	c    *captured
	req  *http.Request
	res  *http.Response
	left int64 // of the announced length; negative without one
}

func (b *tapedBody) Read(p []byte) (int, error) {
	n, err := b.rc.Read(p)
	b.r.change(b.c, func() {
		b.left -= int64(n)
		b.c.text = append(b.c.text, p[:n]...)
		b.r.limit(b.c)
		switch {
		case errors.Is(err, io.EOF):
			b.c.trailer, b.c.over = b.res.Trailer.Clone(), true
		case err != nil:
			b.c.end, b.c.over = outcomeOf(b.req.Context(), err), true
		}
	})
	return n, err
}

func (b *tapedBody) Close() error {
	err := b.rc.Close()
	b.r.change(b.c, func() {
		b.c.over = true
		// A reader that knows where the end is need not read on until HTTP says so.
		if b.left != 0 && !bytes.HasSuffix(bytes.TrimRight(b.c.text, "\r\n"), []byte("data: [DONE]")) {
			b.c.end = cut
		}
	})
	return err
}

// end writes the file.
func (r *recorder) end() {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	for i, c := range r.captured {
		switch {
		case c.over:
		case c.status == "":
			r.faults = append(r.faults, fmt.Sprintf("exchange %d, %s, was under way when the test ended; wait for it", i+1, c.title()))
		default:
			c.end = cut
		}
	}
	for _, fault := range r.faults {
		r.t.Errorf("modeltest: record %s: %s", r.file, fault)
	}
	if r.t.Failed() {
		r.t.Errorf("modeltest: record %s: the file was not written because the test failed", r.file)
		return
	}
	if err := writeTape(r.file, encodeTape(r.recorded())); err != nil {
		r.t.Errorf("modeltest: record %v", err)
	}
}

// recorded returns what goes into the file.
func (r *recorder) recorded() []*track {
	s := newScrubber(r.tape)
	var list []*track
	byID := map[string]*track{}
	var ids, seen []string
	for _, c := range r.captured {
		id := string(c.session.ID)
		if byID[id] == nil {
			byID[id] = trackOf(c.session)
			list = append(list, byID[id])
		}
		ids = append(ids, trackOf(c.session).ids()...)
	}
	ids = unique(ids)
	for _, c := range r.captured {
		seen = append(append(seen, s.seenIn(c.header, c.target, ids)...), s.seenIn(c.answer, "", ids)...)
	}
	seen = unique(seen)
	slices.SortStableFunc(seen, func(a, b string) int { return len(b) - len(a) }) // one may contain another
	for _, c := range r.captured {
		t := byID[string(c.session.ID)]
		t.entries = append(t.entries, s.clean(c, ids, seen))
	}
	return nameSessions(list)
}

func unique(list []string) []string {
	known := map[string]bool{}
	return slices.DeleteFunc(list, func(s string) bool {
		defer func() { known[s] = true }()
		return known[s]
	})
}
