package routingtest

import (
	"encoding/json"
	"testing"

	"github.com/homing-go/homing/internal/rawjson"

	"github.com/stretchr/testify/require"
)

func TestAppendString(t *testing.T) {
	t.Parallel()
	all := make([]byte, 0, 300)
	for c := range 256 {
		all = append(all, byte(c))
	}
	for _, s := range []string{"", string(all), "<>&\u2028\u2029", "é日🙂", "\xf0\x9f"} {
		var got string
		require.NoError(t, json.Unmarshal(rawjson.AppendQuoted(nil, s), &got))
		require.Equal(t, string([]rune(s)), got)
	}
	require.Equal(t, `"<>&"`, string(rawjson.AppendQuoted(nil, "<>&")))
}
