package routingtest

import (
	"context"
	"maps"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// FaultKind says what goes wrong.
type FaultKind int

// A cut or a reset needs the HTTP/1.1 server of net/http around the backend,
// as in a [Cluster] or an httptest.Server.
const (
	// FaultNone answers as usual, after the fault's Delay.
	FaultNone FaultKind = iota
	// FaultStatus answers with Status, Header and Body.
	FaultStatus
	// FaultReset resets the TCP connection before any byte of the response.
	FaultReset
	// FaultCut closes the connection inside the response: a plain body breaks
	// off half way to its Content-Length, a stream After events without its
	// final chunk. A client sees io.ErrUnexpectedEOF.
	FaultCut
	// FaultEnd ends the response early as if it were whole: half a plain body
	// with the Content-Length of that half, a stream After events without
	// [DONE]. Nothing but the content shows it.
	FaultEnd
	// FaultError reports an error inside a response of status 200: as the body
	// of a plain one, as an event After others in a stream, which then ends
	// with [DONE], as vLLM and SGLang end theirs.
	FaultError
)

// Fault is what happens to one chat completion. Its zero value is none.
//
// FaultStatus, FaultReset and the plain FaultError come before the backend's
// work, so prefix cache and Reply do not see the request. The others come after
// it, as when an answer is lost on its way.
type Fault struct {
	Kind FaultKind
	// Delay passes before anything else, whatever the Kind, unless the client
	// goes first.
	Delay time.Duration
	// Status is for FaultStatus; 0 means 500.
	Status int
	// Header is set on the response, whatever the Kind, in place of values that
	// the backend has put there before.
	Header http.Header
	// Body is for FaultStatus and FaultError; nil means an OpenAI error
	// envelope, empty an empty body.
	Body []byte
	// After counts the events that a stream sends before FaultCut, FaultEnd or
	// FaultError; 0 sends the header alone. A stream with fewer events sends all
	// of them, without [DONE].
	After int
}

// Status is the fault of a response with a status, and a header given as pairs of
// name and value, like "Retry-After", "1". It panics if one is left over.
func Status(code int, header ...string) Fault {
	h := http.Header{}
	for pair := range slices.Chunk(header, 2) {
		h.Add(pair[0], pair[1])
	}
	return Fault{Kind: FaultStatus, Status: code, Header: h}
}

// Redirect is the fault of a redirect with an empty body.
func Redirect(code int, url string) Fault {
	f := Status(code, "Location", url)
	f.Body = []byte{}
	return f
}

// Faults decides what goes wrong with the chat completions of a backend, or of
// several that share it. Its zero value lets all pass. It is safe for concurrent
// use, while requests are served too.
type Faults struct {
	mu     sync.Mutex
	queue  []queuedFault
	decide func(*Request) Fault
}

type queuedFault struct {
	left  int
	fault Fault
}

// Next queues a fault for the next n requests that no queued fault awaits yet.
func (f *Faults) Next(n int, fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n > 0 {
		f.queue = append(f.queue, queuedFault{n, fault})
	}
}

// Decide has fn called for each request that finds the queue empty, from many
// goroutines at a time. Nil removes it.
func (f *Faults) Decide(fn func(*Request) Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.decide = fn
}

// Clear empties the queue and removes the decision.
func (f *Faults) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue, f.decide = nil, nil
}

func (f *Faults) next(r *Request) Fault {
	f.mu.Lock()
	if len(f.queue) > 0 {
		defer f.mu.Unlock()
		q := &f.queue[0]
		fault := q.fault
		if q.left--; q.left == 0 {
			f.queue = f.queue[1:]
		}
		return fault
	}
	decide := f.decide
	f.mu.Unlock()
	if decide == nil {
		return Fault{}
	}
	return decide(r)
}

// events returns how many events a stream may send before the fault.
func (f Fault) events() int {
	if f.Kind == FaultCut || f.Kind == FaultEnd || f.Kind == FaultError {
		return f.After
	}
	return math.MaxInt
}

// response writes a fault that needs no answer, and reports whether it was one.
func (f Fault) response(w http.ResponseWriter, r *Request) bool {
	switch {
	case f.Kind == FaultReset:
		reset(w, r.HTTP)
	case f.Kind == FaultStatus:
		status := f.Status
		if status == 0 {
			status = http.StatusInternalServerError
		}
		f.write(w, status)
	case f.Kind == FaultError && !r.Stream:
		f.write(w, http.StatusOK)
	default:
		f.setHeader(w)
		return false
	}
	return true
}

func (f Fault) write(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	f.setHeader(w)
	w.WriteHeader(status)
	_, _ = w.Write(f.body(status)) // the client has gone, or the status allows no body
}

func (f Fault) setHeader(w http.ResponseWriter) {
	maps.Copy(w.Header(), f.Header.Clone())
}

func (f Fault) body(status int) []byte {
	if f.Body != nil {
		return f.Body
	}
	return envelope(&requestError{status: status, message: "fault injected by routingtest: status " + strconv.Itoa(status)})
}

// reset closes the connection so that the peer's kernel reports a reset.
func reset(w http.ResponseWriter, r *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		abort(r)
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // without it close would send FIN
	}
	_ = conn.Close()
}

// abort ends a response without its end. Outside of net/http's server nobody
// would recover the panic that asks for this, so there it does nothing.
func abort(r *http.Request) {
	if r.Context().Value(http.ServerContextKey) != nil {
		panic(http.ErrAbortHandler)
	}
}

// pause waits, and reports whether the request is still wanted.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
