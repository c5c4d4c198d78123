package model

import (
	"encoding/json"
	"iter"
	"sync"

	"github.com/homing-go/homing/internal/rawjson"
)

// A Transcript is the append-only history of a trajectory. Each message is encoded
// once, when it is made, and its bytes never change or move afterwards: turn n
// costs what its own messages cost, and the prefix that a backend has cached stays
// the same byte for byte.
//
// One goroutine appends at a time; snapshots may be taken and used by any number
// at the same time. The zero Transcript is empty and ready to use. It must not be
// copied.
type Transcript struct {
	mu   sync.Mutex
	last *chunk // the chunk that ends the history; nil when empty
	used int    // bytes of last that belong to it
	n    int
	own  *chunk // the chunk behind whose used bytes this transcript may write
	size int    // of the next chunk
}

// A chunk holds encoded messages, joined by commas, behind those of prev. Bytes
// are only ever written behind those that someone may have seen, so chunks are
// shared by forks and by requests under way without copying or locking.
type chunk struct {
	prev     *chunk
	prevUsed int    // bytes of prev that come before this chunk
	buf      []byte // of length 0; what is used of it is up to the reader
}

const (
	smallChunk = 512
	firstChunk = 2 << 10
	maxChunk   = 64 << 10
)

// NewTranscript returns a transcript that begins with ms.
func NewTranscript(ms ...Message) *Transcript {
	t := new(Transcript)
	t.Append(ms...)
	return t
}

// Append adds messages. Zero messages are left out.
func (t *Transcript) Append(ms ...Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range ms {
		t.append(m.json)
	}
}

func (t *Transcript) append(message []byte) {
	if len(message) == 0 {
		return
	}
	need := len(message) + 1
	if t.last == nil || t.last != t.own || cap(t.last.buf)-t.used < need {
		if t.size == 0 {
			t.size = firstChunk
		}
		t.last = &chunk{prev: t.last, prevUsed: t.used, buf: make([]byte, 0, max(t.size, need))}
		t.own, t.used, t.size = t.last, 0, min(2*t.size, maxChunk)
	}
	b := t.last.buf[:t.used]
	if t.n > 0 {
		b = append(b, ',')
	}
	b = append(b, message...) // within the capacity: in place
	t.used = len(b)
	t.n++
}

// Len returns the number of messages.
func (t *Transcript) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.n
}

// Snapshot returns the history as it is now. It costs the same for any length and
// stays as it is whatever is appended later.
func (t *Transcript) Snapshot() Snapshot {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Snapshot{last: t.last, used: t.used, n: t.n}
}

// Fork returns a transcript that begins with this history and goes its own way. It
// costs the same for any length; the history is shared, not copied.
func (t *Transcript) Fork() *Transcript {
	return t.Snapshot().fork()
}

func (s Snapshot) fork() *Transcript { return &Transcript{last: s.last, used: s.used, n: s.n} }

// rewind takes the history back to s. What was appended in between may still be
// read by a request under way, so its bytes are not used again.
func (t *Transcript) rewind(s Snapshot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last, t.used, t.n, t.own = s.last, s.used, s.n, nil
	t.size = smallChunk // the next chunk may be given up as soon
}

// A Snapshot is a history at one moment: immutable, already encoded, and as cheap
// to copy as a pointer. The zero Snapshot is empty.
type Snapshot struct {
	last *chunk
	used int
	n    int
}

// Len returns the number of messages.
func (s Snapshot) Len() int { return s.n }

// Size returns the number of bytes of the encoded messages and the commas between.
func (s Snapshot) Size() int {
	size := s.used
	for c := s.last; c != nil && c.prev != nil; c = c.prev {
		size += c.prevUsed
	}
	return size
}

// JSON returns the history as an array, its messages byte for byte; [ParseMessages] reads
// it back.
func (s Snapshot) JSON() json.RawMessage {
	text := append(make([]byte, 0, s.Size()+2), '[')
	for _, segment := range s.appendSegments(nil) {
		text = append(text, segment...)
	}
	return append(text, ']')
}

// MarshalJSON is JSON, for encoding/json, which escapes <, > and & in it unless its encoder
// is told not to.
func (s Snapshot) MarshalJSON() ([]byte, error) { return s.JSON(), nil }

// Messages walks the history. The messages share a copy of the snapshot's bytes.
func (s Snapshot) Messages() iter.Seq2[int, Message] {
	return func(yield func(int, Message) bool) {
		elements := rawjson.Elements(s.JSON())
		for i := 0; elements.Next(); i++ {
			if !yield(i, Message{elements.Value}) {
				return
			}
		}
	}
}

// appendSegments appends the pieces that, one behind the other, are the messages
// with the commas between them.
func (s Snapshot) appendSegments(dst [][]byte) [][]byte {
	n := 0
	for c := s.last; c != nil; c = c.prev {
		n++
	}
	start := len(dst)
	for range n {
		dst = append(dst, nil)
	}
	used := s.used
	for c := s.last; c != nil; c = c.prev {
		n--
		dst[start+n] = c.buf[:used:used]
		used = c.prevUsed
	}
	return dst
}
