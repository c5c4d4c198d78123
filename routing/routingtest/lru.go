package routingtest

// An lru is a map that keeps the entries that were put last, at most limit of
// them. It is not safe for concurrent use.
type lru[K comparable, V any] struct {
	limit int
	index map[K]*lruNode[K, V]
	ends  lruNode[K, V] // closes the ring: its next is the newest, its prev the oldest
}

type lruNode[K comparable, V any] struct {
	key        K
	value      V
	prev, next *lruNode[K, V]
}

func newLRU[K comparable, V any](limit int) *lru[K, V] {
	c := &lru[K, V]{limit: limit, index: make(map[K]*lruNode[K, V])}
	c.ends.prev, c.ends.next = &c.ends, &c.ends
	return c
}

// get returns the value of key.
func (c *lru[K, V]) get(key K) (value V, ok bool) {
	if n, ok := c.index[key]; ok {
		return n.value, true
	}
	return value, false
}

// put makes key the newest, with this value.
func (c *lru[K, V]) put(key K, value V) {
	if n, ok := c.index[key]; ok {
		n.value = value
		c.unlink(n)
		c.link(n)
		return
	}
	n := &lruNode[K, V]{key: key, value: value}
	c.index[key] = n
	c.link(n)
	if len(c.index) > c.limit {
		c.removeOldest()
	}
}

// oldest returns the value that was put first.
func (c *lru[K, V]) oldest() (value V, ok bool) {
	return c.ends.prev.value, len(c.index) > 0
}

func (c *lru[K, V]) removeOldest() {
	n := c.ends.prev
	c.unlink(n)
	delete(c.index, n.key)
}

func (c *lru[K, V]) link(n *lruNode[K, V]) {
	n.prev, n.next = &c.ends, c.ends.next
	n.prev.next, n.next.prev = n, n
}

func (c *lru[K, V]) unlink(n *lruNode[K, V]) {
	n.prev.next, n.next.prev = n.next, n.prev
}
