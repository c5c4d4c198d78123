package routingtest

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func parts(list ...string) [][]byte {
	var p [][]byte
	for _, s := range list {
		p = append(p, []byte(s))
	}
	return p
}

func TestPrefixChain(t *testing.T) {
	t.Parallel()
	c := newPrefixCache(100)
	require.Equal(t, 0, c.admit("m", parts("a", "b")))
	require.Equal(t, 2, c.admit("m", parts("a", "b")))
	require.Equal(t, 2, c.admit("m", parts("a", "b", "c")))
	require.Equal(t, 1, c.admit("m", parts("a", "c", "b")), "order counts")
	require.Equal(t, 0, c.admit("m", parts("b")), "only a prefix counts")
	require.Equal(t, 0, c.admit("m", parts("ab")), "parts are not run together")
	require.Equal(t, 0, c.admit("other", parts("a", "b")), "the root counts")
	c.clear()
	require.Equal(t, 0, c.admit("m", parts("a", "b")))
}

func TestPrefixBound(t *testing.T) {
	t.Parallel()
	const limit = 10
	c := newPrefixCache(limit)
	for i := range 1000 {
		c.admit("m", parts("a", strconv.Itoa(i), "x", "y"))
		require.LessOrEqual(t, len(c.keys.index), limit)
	}
	require.Equal(t, 4, c.admit("m", parts("a", "999", "x", "y")), "the latest is there")
	require.Equal(t, 1, c.admit("m", parts("a", "3", "x", "y")), "an old one is not, but what it shares is")

	long := make([][]byte, 3*limit)
	for i := range long {
		long[i] = []byte{byte(i)}
	}
	c.admit("m", long)
	require.Equal(t, limit, c.admit("m", long), "of a chain that is too long the beginning stays")
}

func TestPrefixEvictsEndsFirst(t *testing.T) {
	t.Parallel()
	c := newPrefixCache(4)
	c.admit("m", parts("a", "b", "c"))
	c.admit("m", parts("x", "y"))
	require.Equal(t, 2, c.admit("m", parts("a", "b")), "only the end of the older chain has gone")
}

func TestNoPrefixCache(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{0, -1} {
		c := newPrefixCache(limit)
		c.admit("m", parts("a"))
		require.Equal(t, 0, c.admit("m", parts("a")))
		require.Empty(t, c.keys.index)
	}
}
