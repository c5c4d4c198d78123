package compat

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMerge(t *testing.T) {
	t.Parallel()
	var all []row
	for _, key := range order {
		at := strings.LastIndex(key, " ")
		all = append(all, row{Name: key[:at], By: key[at+1:], Version: "v1.0.0", Plain: Yes})
	}
	block, err := merge("", all, false)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(block, head))
	require.Equal(t, len(order)+len(leftOut)+2, strings.Count(block, "\n"))

	again, err := merge(block, all[:1], false)
	require.NoError(t, err)
	require.Equal(t, block, again, "the rows of others stay")

	changed := all[1]
	changed.Plain = ContextLost
	again, err = merge(block, []row{changed, {}}, false)
	require.NoError(t, err)
	require.Equal(t, strings.Replace(block, all[1].String(), changed.String(), 1), again)

	again, err = merge(block+"| gone | v1 | `Wrap` | yes | yes | yes |  |\n", all[:1], false)
	require.NoError(t, err)
	require.Equal(t, block, again, "a row that nobody knows goes")

	_, err = merge(strings.Replace(block, all[2].String()+"\n", "", 1), all[:1], false)
	require.EqualError(t, err, "the table has no row for "+order[2])
	block, err = merge("", all[:2], true)
	require.NoError(t, err)
	require.Equal(t, head+all[0].String()+"\n"+all[1].String()+"\n", block)
	_, err = merge(block, []row{{Name: "new", By: "Wrap"}}, false)
	require.EqualError(t, err, "the order of the table does not name new Wrap")
}
