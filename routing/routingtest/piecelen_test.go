package routingtest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPieceLen(t *testing.T) {
	t.Parallel()
	for s, want := range map[string][]int{ // for n of 1, 2, 3, ...
		"abcd":       {1, 2, 3, 4, 4},
		"日x":         {3, 3, 3, 4},
		"a日":         {1, 1, 1, 4},
		"\x80\x80ab": {1, 1, 1 + 2, 4}, // not UTF-8: it moves on, no more
	} {
		for i, w := range want {
			got := pieceLen(s, i+1)
			require.Positive(t, got)
			if s[0] != 0x80 {
				require.Equal(t, w, got, "%q %d", s, i+1)
			}
		}
	}
}
