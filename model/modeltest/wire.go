package modeltest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"time"
)

const (
	maxHead = 1 << 20
	maxBody = 256 << 20
)

// malformed is a request that is no HTTP, in contrast to a connection that ended.
type malformed string

func (m malformed) Error() string { return string(m) }

// readRequest reads one request. net/http's server would do, but for its header map:
// it joins the spellings of a name and loses the order. proceed is called when the
// client waits for leave to send the body.
func readRequest(br *bufio.Reader, proceed func() error) (*Recorded, error) {
	budget := maxHead
	first, err := readLine(br, &budget)
	if err != nil {
		return nil, err
	}
	r := &Recorded{Header: http.Header{}}
	var ok1, ok2 bool
	r.Method, first, ok1 = strings.Cut(first, " ")
	r.Target, r.Proto, ok2 = strings.Cut(first, " ")
	if !ok1 || !ok2 || !strings.HasPrefix(r.Proto, "HTTP/1.") {
		return nil, malformed("the first line is no HTTP/1 request line")
	}
	if err := r.readHeader(br, &budget); err != nil {
		return nil, noEOF(err)
	}
	if strings.EqualFold(r.Header.Get("Expect"), "100-continue") {
		if err := proceed(); err != nil {
			return nil, err
		}
	}
	if err := r.readBody(br); err != nil {
		return nil, noEOF(err)
	}
	r.Time = time.Now()
	return r, nil
}

func (r *Recorded) readHeader(br *bufio.Reader, budget *int) error {
	for {
		line, err := readLine(br, budget)
		if err != nil {
			return err
		}
		if line == "" {
			return nil
		}
		name, v, ok := strings.Cut(line, ":")
		if !ok || name == "" || strings.ContainsAny(name, " \t") {
			return malformed(fmt.Sprintf("header line %d is no name, colon and value", len(r.Lines)+1))
		}
		r.Lines = append(r.Lines, line)
		r.Header.Add(name, strings.TrimSpace(v))
	}
}

func (r *Recorded) readBody(br *bufio.Reader) (err error) {
	codings, lengths := r.Header["Transfer-Encoding"], r.Header["Content-Length"]
	switch {
	case len(codings) == 1 && strings.EqualFold(codings[0], "chunked"):
		if r.Body, err = readLimited(httputil.NewChunkedReader(br)); err != nil {
			return err
		}
		budget := maxHead
		for { // the trailer
			if line, err := readLine(br, &budget); err != nil || line == "" {
				return err
			}
		}
	case len(codings) > 0:
		return malformed("the transfer coding is not chunked")
	case len(lengths) == 0:
		return nil
	}
	n, err := strconv.ParseUint(lengths[0], 10, 63)
	if err != nil || len(lengths) > 1 {
		return malformed("the content length is no number, or there are two")
	}
	if n > maxBody {
		return malformed(fmt.Sprintf("a body of %d bytes is above the limit, %d", n, maxBody))
	}
	r.Body = make([]byte, n)
	_, err = io.ReadFull(br, r.Body)
	return err
}

func readLimited(r io.Reader) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, maxBody+1))
	if len(body) > maxBody {
		return nil, malformed(fmt.Sprintf("the body is above the limit, %d bytes", maxBody))
	}
	return body, err
}

// readLine returns a line without its end. It takes what the line costs from budget.
func readLine(br *bufio.Reader, budget *int) (string, error) {
	var line []byte
	for {
		part, err := br.ReadSlice('\n')
		line = append(line, part...)
		if *budget -= len(part); *budget < 0 {
			return "", malformed(fmt.Sprintf("the header is above the limit, %d bytes", maxHead))
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			if len(line) > 0 {
				err = noEOF(err)
			}
			return "", err
		}
		return strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r"), nil
	}
}

// noEOF is for places where the end of the connection cuts a request.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
