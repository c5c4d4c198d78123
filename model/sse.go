package model

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// sseReader reads the data of server-sent events (WHATWG HTML, section 9.2). Of the
// fields only data counts; comments, event names, ids and retry times are skipped.
type sseReader struct {
	r      io.Reader
	limit  int // on the bytes of one event
	buf    []byte
	start  int // of what is not read yet
	end    int
	err    error // of r
	joined []byte
	skipLF bool // the last line ended in CR
}

const sseBuffer = 16 << 10

func newSSEReader(r io.Reader, limit int) *sseReader {
	return &sseReader{r: r, limit: limit, buf: make([]byte, sseBuffer)}
}

var bom = []byte("\ufeff")

// next returns the data of the next event that has any. It is valid until the next
// call. An event that ends with the input, without the blank line, counts too: many
// servers leave that out. The error is io.EOF at the end, else that of the input or
// an *Error for an event above the limit.
func (s *sseReader) next() ([]byte, error) {
	lines := 0
	for {
		line, err := s.line()
		switch {
		case errors.Is(err, io.EOF) && lines > 0:
			return s.joined, nil
		case err != nil:
			return nil, err
		case len(line) == 0 && lines > 0:
			return s.joined, nil
		}
		value, ok := dataField(line)
		if !ok {
			continue
		}
		// The usual event is one line and a blank one. If that is in the buffer already,
		// the event is returned without a copy.
		if lines == 0 && s.blankFollows() {
			return value, nil
		}
		if lines++; lines == 1 {
			s.joined = append(s.joined[:0], value...)
		} else {
			s.joined = append(append(s.joined, '\n'), value...)
		}
		if len(s.joined) > s.limit {
			return nil, s.tooLong()
		}
	}
}

// dataField returns the value if the line is a data field.
func dataField(line []byte) ([]byte, bool) {
	line = bytes.TrimPrefix(line, bom)
	value, ok := bytes.CutPrefix(line, []byte("data"))
	if !ok {
		return nil, false
	}
	if len(value) == 0 {
		return value, true
	}
	if value[0] != ':' {
		return nil, false
	}
	value = value[1:]
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	return value, true
}

// blankFollows consumes the blank line that ends an event if it is in the buffer.
func (s *sseReader) blankFollows() bool {
	rest := s.buf[s.start:s.end]
	if s.skipLF && len(rest) > 0 && rest[0] == '\n' {
		rest = rest[1:]
	}
	switch {
	case len(rest) > 0 && rest[0] == '\n':
		rest = rest[1:]
	case len(rest) > 1 && rest[0] == '\r' && rest[1] == '\n':
		rest = rest[2:]
	default:
		return false
	}
	s.start, s.skipLF = s.end-len(rest), false
	return true
}

// line returns the next line without its end: LF, CRLF or CR. The last one may lack
// an end; then the error comes with the next call.
func (s *sseReader) line() ([]byte, error) {
	searched := 0
	for {
		if s.skipLF && s.start < s.end {
			if s.buf[s.start] == '\n' {
				s.start++
			}
			s.skipLF = false
		}
		rest := s.buf[s.start:s.end]
		if i := indexLineEnd(rest[searched:]); i >= 0 {
			i += searched
			s.skipLF = rest[i] == '\r'
			s.start += i + 1
			return rest[:i], nil
		}
		searched = len(rest)
		if s.err != nil {
			s.start = s.end
			if searched > 0 && errors.Is(s.err, io.EOF) {
				return rest, nil
			}
			return nil, s.err
		}
		if searched > s.limit {
			return nil, s.tooLong()
		}
		s.fill()
	}
}

// indexLineEnd looks at pieces that grow, so that a text with one kind of line end is not
// searched to its end for the other kind at each line.
func indexLineEnd(b []byte) int {
	for from, size := 0, 512; from < len(b); size *= 2 {
		piece := b[from:min(from+size, len(b))]
		i := bytes.IndexByte(piece, '\n')
		if i >= 0 {
			piece = piece[:i]
		}
		if j := bytes.IndexByte(piece, '\r'); j >= 0 {
			return from + j
		}
		if i >= 0 {
			return from + i
		}
		from += size
	}
	return -1
}

// fill reads more input behind what is there.
func (s *sseReader) fill() {
	if s.start > 0 {
		s.end = copy(s.buf, s.buf[s.start:s.end])
		s.start = 0
	}
	if s.end == len(s.buf) {
		s.buf = append(s.buf, make([]byte, len(s.buf))...)
	}
	n, err := s.r.Read(s.buf[s.end:])
	s.end += n
	s.err = err
}

func (s *sseReader) tooLong() error {
	s.err = &Error{Kind: KindResponse, detail: fmt.Sprintf("an event is longer than Limits.LineBytes, %d", s.limit)}
	return s.err
}
