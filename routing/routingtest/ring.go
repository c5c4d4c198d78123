package routingtest

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"net/http"
	"slices"
	"strconv"
)

// ConsistentHash routes by a hash of a header on a ring, without any state: the
// same value goes to the same target, in this process and in every other with
// targets of the same names. While a target is down its values spread over the
// others and no other value moves; when it is up again they return.
type ConsistentHash struct {
	// Headers are the names to look at; the first with a value counts. None
	// means X-Session-ID.
	Headers []string
	// VirtualNodes are the points of each target on the ring; 0 means 160.
	VirtualNodes int
	// Missing picks for requests without a value; nil means RoundRobin.
	Missing Policy
}

func (c ConsistentHash) picker(targets []*target) (picker, error) {
	p := &ring{}
	var err error
	if p.headers, err = sessionHeaders("ConsistentHash.Headers", c.Headers); err != nil {
		return nil, err
	}
	if p.missing, err = orPolicy(c.Missing, RoundRobin{}, targets); err != nil {
		return nil, err
	}
	or(&c.VirtualNodes, 160)
	if c.VirtualNodes < 1 {
		return nil, &Error{"ConsistentHash.VirtualNodes", strconv.Itoa(c.VirtualNodes) + " is less than 1", "leave it 0 for 160"}
	}
	for _, t := range targets {
		for i := range c.VirtualNodes {
			p.points = append(p.points, point{ringHash(t.Name + "#" + strconv.Itoa(i)), t})
		}
	}
	slices.SortFunc(p.points, func(a, b point) int {
		// Equal hashes are as good as impossible, but order must not depend on
		// the order of the targets.
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.target.Name, b.target.Name))
	})
	return p, nil
}

type ring struct {
	headers []string
	missing picker
	points  []point // by hash
}

type point struct {
	hash   uint64
	target *target
}

func (p *ring) pick(response http.Header, r *http.Request) (*target, error) {
	key := sessionKey(r, p.headers)
	if key == "" {
		return p.missing.pick(response, r)
	}
	start, _ := slices.BinarySearchFunc(p.points, ringHash(key), func(pt point, hash uint64) int {
		return cmp.Compare(pt.hash, hash)
	})
	for i := range p.points {
		if t := p.points[(start+i)%len(p.points)].target; !t.down {
			return t, nil
		}
	}
	return nil, errAllDown
}

// ringHash has to be even for keys that differ in one digit, which fast hashes
// are not.
func ringHash(s string) uint64 {
	sum := sha256.Sum256([]byte(s))
	return binary.BigEndian.Uint64(sum[:])
}
