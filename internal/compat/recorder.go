package compat

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// recorder is a server that keeps the requests as they came over the wire.
// model/modeltest has a better one, but brings openai-go in, and some peers do not
// build with the version that homing needs.
type recorder struct {
	answer func(request) reply

	mu       sync.Mutex
	requests []request
}

// request is what a client sent: its header lines in their spelling, and the body.
type request struct {
	lines []string
	body  []byte
}

// named returns the header lines whose name is name in any spelling.
func (r request) named(name string) []string {
	return slices.DeleteFunc(slices.Clone(r.lines), func(line string) bool {
		got, _, _ := strings.Cut(line, ":")
		return !strings.EqualFold(got, name)
	})
}

// streams reports whether a stream is asked for. The protocols here say so in the
// same way.
func (r request) streams() bool {
	var body struct{ Stream bool }
	return json.Unmarshal(r.body, &body) == nil && body.Stream
}

// reply is an answer, sent when until is closed, or at once if that is nil.
type reply struct {
	status int
	header http.Header
	body   string
	until  <-chan struct{}
}

// record starts a recorder whose base URL, which ends in /v1, is url. It ends with
// the test.
func record(t testing.TB, answer func(request) reply) (r *recorder, url string) {
	r = &recorder{answer: answer}
	s := httptest.NewUnstartedServer(http.HandlerFunc(r.serve))
	s.Listener = tapListener{s.Listener}
	s.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, tapKey{}, c) }
	s.Start()
	t.Cleanup(s.Close)
	return r, s.URL + "/v1"
}

// all returns the requests that came so far.
func (r *recorder) all() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.requests)
}

func (r *recorder) serve(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	conn, _ := req.Context().Value(tapKey{}).(*tap)
	got := request{conn.lines(), body}
	r.mu.Lock()
	r.requests = append(r.requests, got)
	r.mu.Unlock()

	a := r.answer(got)
	if a.until != nil {
		select {
		case <-a.until:
		case <-req.Context().Done():
			return
		}
	}
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.status)
	for event := range strings.SplitAfterSeq(a.body, "\n\n") {
		_, _ = io.WriteString(w, event)
		_ = http.NewResponseController(w).Flush()
	}
}

type tapKey struct{}

// tapListener gives out connections that keep what is read from them: net/http joins
// the spellings of a header's name, and a test wants to see them.
type tapListener struct{ net.Listener }

func (l tapListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &tap{Conn: c}, nil
}

type tap struct {
	net.Conn
	mu   sync.Mutex
	read bytes.Buffer
}

func (c *tap) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read.Write(p[:n])
	return n, err
}

// lines returns the header lines of the request that was just read, and forgets it.
// Clients that wait for an answer send the next one only later.
func (c *tap) lines() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	head, _, _ := strings.Cut(c.read.String(), "\r\n\r\n")
	c.read.Reset()
	return strings.Split(head, "\r\n")[1:] // the first one is the request line
}
