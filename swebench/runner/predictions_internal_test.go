package runner

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/homing-go/homing/swebench/harness"
	"github.com/stretchr/testify/require"
)

// A prediction that would make the file longer than readers take is not in it, and the others
// are; one that is short has room still.
func TestPredictionsHaveALimit(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "preds.json")
	p, err := openPredictions(file)
	require.NoError(t, err)
	p.limit = 1000
	require.NoError(t, p.set("a", harness.Prediction{Model: "m", Patch: "short"}))
	require.NoError(t, p.set("b", harness.Prediction{Model: "m", Patch: strings.Repeat("b", 300)}))
	var full *fullError
	require.ErrorAs(t, p.set("b", harness.Prediction{Model: "m", Patch: strings.Repeat("b", 900)}), &full)
	require.ErrorAs(t, p.set("c", harness.Prediction{Model: "m", Patch: strings.Repeat("c", 2000)}), &full)
	require.NoError(t, p.set("d", harness.Prediction{Model: "m", Patch: "short"}))
	read, err := harness.ReadPredictions(file)
	require.NoError(t, err)
	require.Equal(t, p.all(), read)
	require.Len(t, read, 2)
	require.False(t, p.has("b"))
	require.True(t, infrastructure(PredictionsFull))
}
