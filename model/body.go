package model

import (
	"io"
	"net/http"
)

// body is a request body made of pieces that are already encoded. It is immutable,
// so that every attempt sends the same bytes and nothing is copied.
type body struct {
	segments [][]byte
	size     int64
}

func newBody(segments [][]byte) *body {
	b := &body{segments: segments}
	for _, s := range segments {
		b.size += int64(len(s))
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
