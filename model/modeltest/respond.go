package modeltest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// respond returns what a recorded exchange ended with.
func (p *player) respond(req *http.Request, e *entry) (*http.Response, error) {
	ctx := req.Context()
	if e.status == "" {
		return nil, p.failure(ctx, e)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	code, _ := strconv.Atoi(e.status[:3]) // checked when it was read
	res := &http.Response{
		Status: e.status, StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: mapOf(e.answer), ContentLength: -1, Request: req,
	}
	if e.end == whole && !e.isEvents() && len(e.trailer) == 0 {
		if res.ContentLength = int64(len(e.text)); res.ContentLength > 0 {
			res.Header.Set("Content-Length", strconv.Itoa(len(e.text)))
		}
	}
	for name := range mapOf(e.trailer) { // the values come with the end of the body
		if res.Trailer == nil {
			res.Trailer = http.Header{}
		}
		res.Trailer[name] = nil
	}
	res.Body = &playedBody{ctx: ctx, p: p, e: e, left: e.text, trailer: res.Trailer}
	return res, nil
}

// failure is how an exchange ends that did not end well. What the caller ended waits
// for the caller to do so again.
func (p *player) failure(ctx context.Context, e *entry) error {
	switch {
	case e.end == cut:
		return p.note("the answer to %s of line %d goes no further: its reader closed it here, after %d bytes", e.title(), e.line, len(e.text))
	case !e.end.waits():
		return fmt.Errorf("modeltest: replay of %s of line %d: %w", e.title(), e.line, e.end.err())
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return p.note("%s of line %d was ended by its caller when it was recorded, and for %v it was not", e.title(), e.line, patience)
	}
}

// playedBody gives a recorded body back.
type playedBody struct {
	ctx     context.Context //nolint:containedctx // a body lives inside one exchange
	p       *player
	e       *entry
	left    string
	trailer http.Header
	closed  atomic.Bool
}

func (b *playedBody) Read(dst []byte) (int, error) {
	switch {
	case b.closed.Load():
		return 0, http.ErrBodyReadAfterClose
	case b.ctx.Err() != nil:
		return 0, context.Cause(b.ctx)
	case len(dst) == 0:
		return 0, nil
	case b.left != "":
		n := copy(dst, b.left[:b.piece()])
		b.left = b.left[n:]
		return n, nil
	case b.e.end != whole:
		return 0, b.p.failure(b.ctx, b.e)
	}
	if b.trailer != nil {
		for _, f := range b.e.trailer {
			b.trailer.Add(f.name, f.value)
		}
		b.trailer = nil // once
	}
	return 0, io.EOF
}

// piece is how much comes at once: an event of a stream, or all there is.
func (b *playedBody) piece() int {
	n := len(b.left)
	if b.e.isEvents() {
		for _, blank := range [...]string{"\n\n", "\n\r\n"} {
			if i := strings.Index(b.left[:n], blank); i >= 0 {
				n = i + len(blank)
			}
		}
	}
	return n
}

func (b *playedBody) Close() error {
	b.closed.Store(true)
	return nil
}
