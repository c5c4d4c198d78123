package routing_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/homing-go/homing/routing"
	"github.com/stretchr/testify/require"
)

// A wireRequest is a request as its bytes came over the socket.
type wireRequest struct {
	Line   string   // such as "POST / HTTP/1.1"
	Header []string // the lines, spelled as they came
	Body   string
}

// exact returns the values of the header lines with exactly this spelling.
func (r wireRequest) exact(name string) []string {
	var values []string
	for _, line := range r.Header {
		if n, v, _ := strings.Cut(line, ": "); n == name {
			values = append(values, v)
		}
	}
	return values
}

// any returns the values of the header lines of this name in any spelling.
func (r wireRequest) any(name string) []string {
	var values []string
	for _, line := range r.Header {
		if n, v, _ := strings.Cut(line, ":"); strings.EqualFold(n, name) {
			values = append(values, strings.TrimSpace(v))
		}
	}
	return values
}

// A wire is a server that speaks just enough HTTP/1.1 to see the bytes, which
// net/http/httptest has changed by the time a handler runs.
type wire struct {
	URL string

	listener net.Listener
	answer   func(n int, r wireRequest) string
	done     sync.WaitGroup

	mu       sync.Mutex
	requests []wireRequest
	conns    map[net.Conn]bool
}

// newWire starts a server. answer gets the number of the request from 0 and returns
// the whole response; nil answers 200.
func newWire(t testing.TB, answer func(n int, r wireRequest) string) *wire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	if answer == nil {
		answer = func(int, wireRequest) string { return response(200, "ok") }
	}
	w := &wire{URL: "http://" + listener.Addr().String(), listener: listener, answer: answer, conns: map[net.Conn]bool{}}
	w.done.Go(w.accept)
	t.Cleanup(w.close)
	return w
}

// response returns the text of a response.
func response(status int, body string, header ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\nContent-Length: %d\r\n", status, http.StatusText(status), len(body))
	for _, line := range header {
		b.WriteString(line + "\r\n")
	}
	return b.String() + "\r\n" + body
}

func (w *wire) accept() {
	for {
		conn, err := w.listener.Accept()
		if err != nil {
			return
		}
		w.mu.Lock()
		w.conns[conn] = true
		w.mu.Unlock()
		w.done.Go(func() { w.serve(conn) })
	}
}

func (w *wire) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	in := bufio.NewReader(conn)
	for {
		r, err := readWire(in)
		if err != nil {
			return
		}
		w.mu.Lock()
		n := len(w.requests)
		w.requests = append(w.requests, r)
		w.mu.Unlock()
		text := w.answer(n, r)
		if text == "" { // a reset
			return
		}
		if _, err := io.WriteString(conn, text); err != nil {
			return
		}
	}
}

func (w *wire) close() {
	_ = w.listener.Close()
	w.mu.Lock()
	for conn := range w.conns {
		_ = conn.Close()
	}
	w.mu.Unlock()
	w.done.Wait()
}

// seen returns the requests so far.
func (w *wire) seen() []wireRequest {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]wireRequest(nil), w.requests...)
}

// take returns the requests since it was last called, and forgets them.
func (w *wire) take() []wireRequest {
	w.mu.Lock()
	defer w.mu.Unlock()
	requests := w.requests
	w.requests = nil
	return requests
}

// only returns the one request that came.
func (w *wire) only(t *testing.T) wireRequest {
	t.Helper()
	requests := w.seen()
	require.Len(t, requests, 1)
	return requests[0]
}

func readWire(in *bufio.Reader) (wireRequest, error) {
	var r wireRequest
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return r, err
		}
		line = strings.TrimSuffix(line, "\r\n")
		switch {
		case line == "":
			body, err := readBody(in, r)
			r.Body = string(body)
			return r, err
		case r.Line == "":
			r.Line = line
		default:
			r.Header = append(r.Header, line)
		}
	}
}

func readBody(in *bufio.Reader, r wireRequest) ([]byte, error) {
	if len(r.any("Transfer-Encoding")) > 0 {
		body, err := io.ReadAll(httputil.NewChunkedReader(in))
		if err == nil {
			_, err = in.ReadString('\n') // the end of the trailer
		}
		return body, err
	}
	length := r.any("Content-Length")
	if len(length) == 0 {
		return nil, nil
	}
	n, err := strconv.Atoi(length[0])
	if err != nil {
		return nil, err
	}
	body := make([]byte, n)
	_, err = io.ReadFull(in, body)
	return body, err
}

// base returns a transport of the test's own.
func base(t testing.TB) *http.Transport {
	t.Helper()
	b := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(b.CloseIdleConnections)
	return b
}

// session returns a context with a new session, and its ID.
func session(t testing.TB) (context.Context, string) {
	t.Helper()
	id := routing.NewID()
	return routing.NewContext(t.Context(), routing.NewSession(id)), string(id)
}

// request returns a POST with a JSON body.
func request(t testing.TB, ctx context.Context, url, body string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	return req
}

// send does a request that is to succeed, and reads the answer.
func send(t testing.TB, client *http.Client, req *http.Request) (*http.Response, string) {
	t.Helper()
	res, err := client.Do(req)
	require.NoError(t, err)
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	return res, string(body)
}

// roundTripper is a base transport made of a func.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// answer returns a response without a wire.
func answer(status int, header ...string) *http.Response {
	res := &http.Response{StatusCode: status, Header: http.Header{}, Body: http.NoBody, ProtoMajor: 1, ProtoMinor: 1}
	for i := 0; i < len(header); i += 2 {
		res.Header.Add(header[i], header[i+1])
	}
	return res
}

// countingBody counts how often it is closed.
type countingBody struct {
	io.Reader
	closed atomic.Int32
	err    error
}

func (b *countingBody) Close() error {
	b.closed.Add(1)
	return b.err
}

// requireClosed waits for the one Close: net/http may come to it after the response.
func (b *countingBody) requireClosed(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return b.closed.Load() > 0 }, time.Minute, time.Millisecond)
	require.EqualValues(t, 1, b.closed.Load())
}
