package routingtest

import (
	"encoding/binary"
	"hash/maphash"
	"sync"
)

// A prefixCache remembers prompts as chains of hashes: the key of a part stands
// for that part and all before it. It holds at most limit keys and forgets the
// least recently used.
type prefixCache struct {
	seed  maphash.Seed
	limit int

	mu    sync.Mutex
	index map[uint64]int // into nodes
	nodes []prefixNode   // nodes[0] closes the ring: its next is the newest, its prev the oldest
}

type prefixNode struct {
	key        uint64
	prev, next int
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
		if _, ok := c.index[keys[known]]; !ok {
			break
		}
		known++
	}
	// From the end, so that the beginnings are the newest and go last: a chain
	// without its beginning can never be found again.
	for i := min(len(keys), c.limit) - 1; i >= 0; i-- {
		c.touch(keys[i])
	}
	return known
}

// clear forgets everything.
func (c *prefixCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.index = make(map[uint64]int)
	c.nodes = make([]prefixNode, 1)
}

// touch makes key the newest; the oldest makes room for it.
func (c *prefixCache) touch(key uint64) {
	i, ok := c.index[key]
	switch {
	case ok:
		c.unlink(i)
	case len(c.nodes) <= c.limit:
		i = len(c.nodes)
		c.nodes = append(c.nodes, prefixNode{})
	default:
		i = c.nodes[0].prev
		c.unlink(i)
		delete(c.index, c.nodes[i].key)
	}
	newest := c.nodes[0].next
	c.nodes[i] = prefixNode{key: key, prev: 0, next: newest}
	c.nodes[newest].prev = i
	c.nodes[0].next = i
	c.index[key] = i
}

func (c *prefixCache) unlink(i int) {
	n := c.nodes[i]
	c.nodes[n.prev].next = n.next
	c.nodes[n.next].prev = n.prev
}

// tokens approximates what a tokenizer would make of n bytes.
func tokens(n int) int { return (n + 3) / 4 }
