package redact

import (
	"bytes"
	"io"
	"strings"
)

// maxLine is how much of a line is kept back until its end is seen.
const maxLine = 64 << 10

// minRest is how many characters of a secret must stand at the end of a stream that was
// cut to be taken for one.
const minRest = 4

// A Writer passes on what is written to it without secrets, in whatever pieces it comes:
// a line at a time, so that what a line means is not cut. It is for one goroutine.
type Writer struct {
	dst io.Writer
	r   *Redactor
	buf []byte
}

// Writer returns a writer in front of dst.
func (r *Redactor) Writer(dst io.Writer) *Writer { return &Writer{dst: dst, r: r} }

// Write takes all of p and passes on the lines that are whole.
func (w *Writer) Write(p []byte) (int, error) {
	w.buf = append(w.buf, p...)
	for {
		cut := w.cut()
		if cut == 0 {
			return len(p), nil
		}
		if err := w.emit(cut); err != nil {
			return 0, err
		}
	}
}

// Flush passes on what is left. If a part of a secret stands at the end, as when a
// process was killed in the middle of it, that part is taken out as well.
func (w *Writer) Flush() error {
	for {
		cut := w.cut()
		if cut == 0 {
			break
		}
		if err := w.emit(cut); err != nil {
			return err
		}
	}
	text := w.r.Text(string(w.buf))
	if rest := w.r.partial(text); rest >= minRest {
		text = text[:len(text)-rest] + w.r.orMark()
	}
	w.buf = nil
	_, err := io.WriteString(w.dst, text)
	return err
}

func (w *Writer) emit(n int) error {
	_, err := io.WriteString(w.dst, w.r.Text(string(w.buf[:n])))
	w.buf = append(w.buf[:0], w.buf[n:]...)
	return err
}

// cut tells how much of the buffer can be passed on: whole lines, or most of a line that
// is too long, but never a part of a secret.
func (w *Writer) cut() int {
	n := bytes.LastIndexByte(w.buf, '\n') + 1
	whole := n > 0
	if n == 0 {
		if len(w.buf) < maxLine {
			return 0
		}
		n = softCut(w.buf)
	}
	if w.r == nil {
		return n
	}
	for _, secret := range w.r.literals {
		if whole && !strings.Contains(secret, "\n") {
			continue // it cannot be cut at a line's end
		}
		for k := min(len(secret)-1, n); k > 0; k-- {
			after := w.buf[n:]
			known := min(len(after), len(secret)-k)
			if string(w.buf[n-k:n]) != secret[:k] || string(after[:known]) != secret[k:k+known] {
				continue
			}
			if n > k {
				n -= k
			} else if n = 0; known == len(secret)-k {
				n = len(secret)
			}
			break
		}
	}
	return n
}

// softCut finds a place in a line that is too long: before the third word from its end,
// because "Authorization: Bearer x" has three, else at a separator.
func softCut(line []byte) int {
	n := len(line)
	for range 3 {
		if n = bytes.LastIndexAny(line[:n], " \t\r"); n <= 0 {
			break
		}
	}
	if n > 0 {
		return n + 1
	}
	if n = bytes.LastIndexAny(line, "&,;\"'"); n > 0 {
		return n + 1
	}
	return len(line)
}

// partial is how many bytes at the end of text are the beginning of a secret.
func (r *Redactor) partial(text string) int {
	longest := 0
	if r == nil {
		return 0
	}
	for _, secret := range r.literals {
		for k := min(len(secret)-1, len(text)); k > longest; k-- {
			if strings.HasSuffix(text, secret[:k]) {
				longest = k
				break
			}
		}
	}
	return longest
}
