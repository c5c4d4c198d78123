package pyint_test

import (
	"math"
	"testing"

	"github.com/homing-go/homing/swebench/internal/pyint"
	"github.com/stretchr/testify/require"
)

func TestJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{`10`: 10, `"10"`: 10, `10.9`: 10, `-10.9`: -10, `true`: 1, `false`: 0, `" +1_000\n"`: 1000, `"-5"`: -5, `1e2`: 100, `"007"`: 7, `"١٢"`: 12, `"\ud835\udfd9"`: 1, `"９"`: 9} {
		got, ok := pyint.JSON([]byte(text))
		require.True(t, ok, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{`null`, ``, `"10.5"`, `""`, `"1__0"`, `"_1"`, `"1_"`, `"+-1"`, `"x"`, `[]`, `{}`, `1e400`, `1e10`, `"99999999999999999999"`, `"- 1"`, `"²"`, `"Ⅷ"`} {
		_, ok := pyint.JSON([]byte(text))
		require.False(t, ok, text)
	}
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e300} {
		_, ok := pyint.Float(f)
		require.False(t, ok)
	}
}
