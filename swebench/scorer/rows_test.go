package scorer_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/homing-go/homing/swebench/scorer"
	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"
)

func TestRows(t *testing.T) {
	t.Parallel()
	want := []scorer.Row{{InstanceID: "b", Prompt: "p"}, {InstanceID: "a", Prompt: "q"}, {InstanceID: "7"}}
	lines := `{"instance_id":"b","prompt":"p"}` + "\r\n\n" + `{"instance_id": "a", "problem_statement": "q", "prompt": ""}` + "\n" + `{"instance_id":7,"problem_statement":null}`
	array := " [" + strings.Join([]string{`{"instance_id":"b","prompt":"p"}`, `{"instance_id":"a","problem_statement":"q"}`, `{"instance_id":7}`}, ",\n") + "]\n"
	for _, data := range []string{lines, array} {
		rows, err := scorer.ParseRows([]byte(data), "")
		require.NoError(t, err)
		require.Equal(t, want, rows)
	}
	for _, data := range []string{"", " \n", "[]"} {
		rows, err := scorer.ParseRows([]byte(data), "")
		require.NoError(t, err)
		require.Empty(t, rows)
	}
	rows, err := scorer.ParseRows([]byte(`{"id":"x","instance_id":5}`), "id")
	require.NoError(t, err)
	require.Equal(t, "x", rows[0].InstanceID)
}

// A dataset is read as it is published, in Parquet.
func TestRowsInParquet(t *testing.T) {
	t.Parallel()
	type row struct {
		ID      string `parquet:"instance_id"`
		Problem string `parquet:"problem_statement"`
	}
	file := filepath.Join(t.TempDir(), "lite.parquet")
	require.NoError(t, parquet.WriteFile(file, []row{{"b", "p"}, {"a", "q"}}))
	rows, err := scorer.ReadRows(t.Context(), strings.Replace(file, "lite", "{subset}", 1), "", "lite", "test")
	require.NoError(t, err)
	require.Equal(t, []scorer.Row{{InstanceID: "b", Prompt: "p"}, {InstanceID: "a", Prompt: "q"}}, rows)

	require.NoError(t, parquet.WriteFile(file, []row{{"b", "p"}, {"b", "q"}}))
	_, err = scorer.ReadRows(t.Context(), file, "", "lite", "test")
	var fault *scorer.RowsError
	require.ErrorAs(t, err, &fault)
	require.Equal(t, 2, fault.Row)
}

func TestRowsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for data, row := range map[string]int{
		"PAR1\x15\x04": 0, "\xff": 0, "[": 0, `[{"instance_id":"a"}] x`: 0, `["a"]`: 1, `5`: 1, `{"a":1}`: 1, "{\"instance_id\":\"a\"}\n{\"instance_id\":": 2,
		`{"instance_id":null}`: 1, `{"instance_id":true}`: 1, `{"instance_id":""}`: 1, `{"instance_id":"../a"}`: 1, `{"instance_id":"--x"}`: 1, `[{"instance_id":"a"},{"instance_id":"a"}]`: 2,
	} {
		file := filepath.Join(dir, "rows.jsonl")
		require.NoError(t, os.WriteFile(file, []byte(data), 0o600))
		_, err := scorer.ReadRows(t.Context(), file, "", "verified", "test")
		var fault *scorer.RowsError
		require.ErrorAs(t, err, &fault, data)
		require.Equal(t, row, fault.Row, data)
		require.Contains(t, err.Error(), file)
	}
	_, err := scorer.ReadRows(t.Context(), filepath.Join(dir, "none"), "", "verified", "test")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// The subset and the split of the options choose the file.
func TestCase019_SubsetAndSplit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "lite-dev.jsonl"), []byte(`{"instance_id":"a"}`), 0o600))
	rows, err := scorer.ReadRows(t.Context(), filepath.Join(dir, "{subset}-{split}.jsonl"), "", "lite", "dev")
	require.NoError(t, err)
	require.Len(t, rows, 1)
	_, err = scorer.ReadRows(t.Context(), filepath.Join(dir, "{split}"), "", "lite", "../dev")
	require.ErrorContains(t, err, "split")
}
