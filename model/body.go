package model

import (
	"bytes"
	"io"
	"net/http"
)

// body is a request body made of pieces that are already encoded. It is immutable,
// so that every attempt sends the same bytes and nothing is copied.
type body struct {
	segments [][]byte
	size     int64
}

// smallBody is what fits into the write buffer of [NewTransport]. Up to it one piece is
// cheaper than many: net/http sends the head of a request by itself, ahead of a body
// whose reader it does not know.
const smallBody = 28 << 10

func newBody(segments [][]byte) *body {
	b := &body{segments: segments}
	for _, s := range segments {
		b.size += int64(len(s))
	}
	if b.size <= smallBody {
		b.segments = [][]byte{bytes.Join(segments, nil)}
	}
	return b
}

// install makes b the body of req.
func (b *body) install(req *http.Request) {
	req.Body, _ = b.open()
	req.GetBody = b.open
	req.ContentLength = b.size
}

func (b *body) open() (io.ReadCloser, error) {
	if len(b.segments) == 1 {
		return io.NopCloser(bytes.NewReader(b.segments[0])), nil
	}
	return &bodyReader{segments: b.segments, left: int(b.size)}, nil
}

type bodyReader struct {
	segments [][]byte
	at       int // in the first segment
	left     int
}

// Len is what is left; the retry layer takes the Content-Length from it.
func (r *bodyReader) Len() int { return r.left }

func (r *bodyReader) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) && len(r.segments) > 0 {
		k := copy(p[n:], r.segments[0][r.at:])
		n += k
		if r.at += k; r.at == len(r.segments[0]) {
			r.segments, r.at = r.segments[1:], 0
		}
	}
	r.left -= n
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (*bodyReader) Close() error { return nil }
