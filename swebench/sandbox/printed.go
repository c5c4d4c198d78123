package sandbox

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// Printed is what a command wrote to one stream. Without Omitted, Head is all of it.
type Printed struct {
	Head, Tail []byte
	// Omitted is the number of bytes between head and tail that were not kept.
	Omitted int64
}

// Bytes is the output as one piece. Where something is missing, a line says how much.
func (p Printed) Bytes() []byte {
	if p.Omitted == 0 {
		return append(p.Head, p.Tail...)
	}
	return fmt.Appendf(bytes.Clone(p.Head), "\n[... %d bytes left out ...]\n%s", p.Omitted, p.Tail)
}

// A keeper keeps head and tail of what is written to it, in bounded memory. Two streams may
// write to two keepers that share their flood.
type keeper struct {
	half  int // of what is kept
	head  []byte
	tail  []byte // up to twice half; its end counts
	total int64
	tee   io.Writer
	flood *flood
}

// Write never fails: a command is not to be ended by a full pipe.
func (k *keeper) Write(p []byte) (int, error) {
	if k.tee != nil {
		_, _ = k.tee.Write(p)
	}
	k.total += int64(len(p))
	k.flood.add(len(p))
	rest := p
	if n := min(len(rest), k.half-len(k.head)); n > 0 {
		k.head, rest = append(k.head, rest[:n]...), rest[n:]
	}
	if over := len(rest) - k.half; over > 0 {
		k.tail, rest = k.tail[:0], rest[over:]
	}
	if len(k.tail)+len(rest) > 2*k.half {
		k.tail = append(k.tail[:0], k.tail[len(k.tail)-k.half:]...)
	}
	k.tail = append(k.tail, rest...)
	return len(p), nil
}

// printed is what was kept.
func (k *keeper) printed() Printed {
	p := Printed{Head: k.head, Tail: k.tail[max(0, len(k.tail)-k.half):]}
	p.Omitted = k.total - int64(len(p.Head)+len(p.Tail))
	if p.Omitted == 0 {
		p.Head, p.Tail = append(p.Head, p.Tail...), nil
	}
	return p
}

// A flood counts what all streams of a command print, and calls over once it is too much.
type flood struct {
	mu    sync.Mutex
	left  int64
	over  func()
	total bool
}

func (f *flood) add(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left -= int64(n); f.left < 0 && !f.total {
		f.total = true
		f.over()
	}
}

func (f *flood) happened() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.total
}
