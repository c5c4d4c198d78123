package routing

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	// maxBackends bounds the backends that are told apart, and maxBackendName what is
	// kept of a name: both come from the network.
	maxBackends    = 4096
	maxBackendName = 128
	otherBackends  = "(others)"
)

// backends numbers the backends that were seen and counts their requests.
type backends struct {
	names    []string
	requests []int
	numbers  map[string]int16
	others   int
}

// count notes a request and returns the number of its backend. known is false for
// those above the limit, which are not told from each other.
func (b *backends) count(name string) (n int16, known bool) {
	if len(name) > maxBackendName {
		sum := sha256.Sum256([]byte(name))
		name = strings.ToValidUTF8(name[:maxBackendName-35], "") + "..." + hex.EncodeToString(sum[:16])
	}
	n, known = b.numbers[name]
	if !known {
		if len(b.names) == maxBackends {
			b.others++
			return 0, false
		}
		if b.numbers == nil {
			b.numbers = make(map[string]int16)
		}
		n = int16(len(b.names)) //nolint:gosec // below maxBackends
		name = strings.Clone(name)
		b.numbers[name] = n
		b.names = append(b.names, name)
		b.requests = append(b.requests, 0)
	}
	b.requests[n]++
	return n, true
}

// served returns the requests by the name of the backend.
func (b *backends) served() map[string]int {
	m := make(map[string]int, len(b.names)+1)
	for i, name := range b.names {
		m[name] = b.requests[i]
	}
	if b.others > 0 {
		m[otherBackends] += b.others
	}
	return m
}
