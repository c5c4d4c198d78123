package routingtest

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
	"sync"
)

// A prefixCache remembers prompts as chains of hashes: the key of a part stands
// for that part and all before it. It holds at most limit keys and forgets the
// least recently used.
type prefixCache struct {
	seed  maphash.Seed
	limit int

	mu   sync.Mutex
	keys *lru[uint64, struct{}]
}

func newPrefixCache(limit int) *prefixCache {
	c := &prefixCache{seed: maphash.MakeSeed(), limit: max(limit, 0)}
	c.clear()
	return c
}

// admit returns how many leading parts were known and makes all of them known.
func (c *prefixCache) admit(root string, parts [][]byte) (known int) {
	keys := make([]uint64, len(parts))
	key := maphash.String(c.seed, root)
	for i, p := range parts {
		var link [16]byte
		binary.LittleEndian.PutUint64(link[:], key)
		binary.LittleEndian.PutUint64(link[8:], maphash.Bytes(c.seed, p))
		key = maphash.Bytes(c.seed, link[:])
		keys[i] = key
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	for known < len(keys) {
		if _, ok := c.keys.get(keys[known]); !ok {
			break
		}
		known++
	}
	// From the end, so that the beginnings are the newest and go last: a chain
	// without its beginning can never be found again.
	for _, key := range slices.Backward(keys) {
		c.keys.put(key, struct{}{})
	}
	return known
}

// clear forgets everything.
func (c *prefixCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keys = newLRU[uint64, struct{}](c.limit)
}

// tokens approximates what a tokenizer would make of n bytes.
func tokens(n int) int { return (n + 3) / 4 }
