package dataset_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/homing-go/homing/swebench/dataset"
	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"
)

// published is a row as the SWE-bench datasets are published: lists are JSON text.
type published struct {
	Repo       string `parquet:"repo"`
	InstanceID string `parquet:"instance_id"`
	BaseCommit string `parquet:"base_commit"`
	Patch      string `parquet:"patch"`
	TestPatch  string `parquet:"test_patch"`
	Problem    string `parquet:"problem_statement"`
	Version    string `parquet:"version"`
	FailToPass string `parquet:"FAIL_TO_PASS"`
	PassToPass string `parquet:"PASS_TO_PASS"`
}

type install struct {
	Command string   `parquet:"test_cmd"`
	Steps   []string `parquet:"steps,list"`
}

// listed is a row with real lists and with what else a table can have.
type listed struct {
	InstanceID string            `parquet:"instance_id"`
	Problem    *string           `parquet:"problem_statement,optional"`
	Image      []byte            `parquet:"image_name"`
	FailToPass []string          `parquet:"FAIL_TO_PASS,list"`
	PassToPass []string          `parquet:"PASS_TO_PASS"`
	Config     install           `parquet:"install_config"`
	Scores     map[string]string `parquet:"scores"`
	Share      float64           `parquet:"share"`
	Count      int64             `parquet:"count"`
	Flag       bool              `parquet:"flag"`
}

func table[T any](t testing.TB, rows []T, options ...parquet.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b, options...)
	_, err := w.Write(rows)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func loadBytes(t *testing.T, data []byte, source dataset.Source) ([]dataset.Row, error) {
	t.Helper()
	source.Path = write(t, "test.bin", string(data))
	return dataset.Load(t.Context(), source)
}

// Rows of Parquet files come in their order and with all columns, whatever the compression
// and however many row groups; lists may be JSON text or lists.
func TestParquet(t *testing.T) {
	t.Parallel()
	var want []published
	for i := range 300 {
		n := strconv.Itoa(i)
		want = append(want, published{
			Repo: "a/b", InstanceID: "a__b-" + n, BaseCommit: "c" + n, Patch: "diff\n\"é\"" + strings.Repeat("x", 100), Problem: "p" + n,
			Version: "3.0", FailToPass: `["t` + n + `"]`, PassToPass: "[]",
		})
	}
	for name, options := range map[string][]parquet.WriterOption{
		"plain": nil, "snappy": {parquet.Compression(&parquet.Snappy)}, "zstd": {parquet.Compression(&parquet.Zstd)}, "gzip": {parquet.Compression(&parquet.Gzip)},
		"groups": {parquet.MaxRowsPerRowGroup(64)},
	} {
		rows, err := loadBytes(t, table(t, want, options...), dataset.Source{})
		require.NoError(t, err, name)
		require.Len(t, rows, 300)
		for i, row := range rows {
			require.Equal(t, want[i].InstanceID, row.InstanceID)
			require.Equal(t, want[i].Patch, row.Patch)
			require.Equal(t, []string{"t" + strconv.Itoa(i)}, row.FailToPass)
			require.Empty(t, row.PassToPass)
		}
		require.True(t, strings.HasPrefix(string(rows[0].Raw), `{"repo":"a/b","instance_id":"a__b-0","base_commit":"c0",`), "columns keep their order")
	}
	text := "broken"
	rows, err := loadBytes(t, table(t, []listed{
		{InstanceID: "a", Problem: &text, Image: []byte("img"), FailToPass: []string{"x", "y z"}, PassToPass: []string{"w"}, Config: install{"pytest", []string{"s"}}, Scores: map[string]string{"k": "v"}, Share: 0.5, Count: math.MaxInt64, Flag: true},
		{InstanceID: "b", Share: math.NaN()},
	}), dataset.Source{})
	require.NoError(t, err)
	require.Equal(t, []string{"x", "y z"}, rows[0].FailToPass)
	require.Equal(t, []string{"w"}, rows[0].PassToPass)
	require.Equal(t, []string{"broken", "img"}, []string{rows[0].ProblemStatement, rows[0].ImageName})
	require.JSONEq(t, `{"instance_id": "a", "problem_statement": "broken", "image_name": "img", "FAIL_TO_PASS": ["x", "y z"], "PASS_TO_PASS": ["w"],
		"install_config": {"test_cmd": "pytest", "steps": ["s"]}, "scores": {"k": "v"}, "share": 0.5, "count": 9223372036854775807, "flag": true}`, string(rows[0].Raw))
	require.JSONEq(t, `{"instance_id": "b", "problem_statement": null, "image_name": "", "FAIL_TO_PASS": [], "PASS_TO_PASS": [],
		"install_config": {"test_cmd": "", "steps": []}, "scores": {}, "share": null, "count": 0, "flag": false}`, string(rows[1].Raw))
	require.Contains(t, string(rows[0].Raw), `"count":9223372036854775807`)
}

// A bad row of a Parquet file is named by its number, and two with one ID are refused, also
// when they are in two files.
func TestParquetBadRow(t *testing.T) {
	t.Parallel()
	_, err := loadBytes(t, table(t, []published{{InstanceID: "a"}, {InstanceID: "b", FailToPass: "['x']"}}), dataset.Source{})
	require.ErrorContains(t, err, `row 2 (b), column "FAIL_TO_PASS": its text is not a JSON list`)
	dir := t.TempDir()
	for i := range 2 {
		name := filepath.Join(dir, "test-0000"+strconv.Itoa(i)+"-of-00002.parquet")
		require.NoError(t, os.WriteFile(name, table(t, []published{{InstanceID: "a" + strconv.Itoa(i)}, {InstanceID: "x"}}), 0o644))
	}
	_, err = dataset.Load(t.Context(), dataset.Source{Path: dir})
	require.ErrorContains(t, err, `test-00001-of-00002.parquet, row 2 (x), column "instance_id": row 2 of `)
}

// What is too large is refused with the limit, before it is read.
func TestLimits(t *testing.T) {
	t.Parallel()
	rows := make([]published, 2000)
	for i := range rows {
		rows[i] = published{InstanceID: strconv.Itoa(i), Patch: strings.Repeat("x", 200)}
	}
	big := table(t, rows, parquet.Compression(&parquet.Zstd))
	require.Less(t, len(big), 100_000)
	_, err := loadBytes(t, big, dataset.Source{MaxBytes: 100_000})
	require.ErrorContains(t, err, "without its compression, the limit is 100000")
	_, err = loadBytes(t, []byte(full), dataset.Source{MaxBytes: 100})
	require.ErrorContains(t, err, "the limit is 100")
}

// A damaged Parquet file is an error, wherever the damage is.
func TestParquetDamaged(t *testing.T) {
	t.Parallel()
	data := table(t, []published{{InstanceID: "a", Problem: strings.Repeat("text ", 50)}, {InstanceID: "b"}}, parquet.Compression(&parquet.Snappy))
	for n := 1; n < len(data); n += 41 {
		_, err := loadBytes(t, data[:n], dataset.Source{})
		require.Error(t, err, n)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	failed := 0
	for range 100 {
		broken := bytes.Clone(data)
		for range 1 + rng.IntN(3) {
			broken[4+rng.IntN(len(broken)-4)] ^= byte(1 + rng.IntN(255))
		}
		if _, err := loadBytes(t, broken, dataset.Source{}); err != nil {
			var fault *dataset.Error
			require.ErrorAs(t, err, &fault)
			failed++
		}
	}
	require.Positive(t, failed)
}

// Raw is always one JSON object.
func TestRawIsJSON(t *testing.T) {
	t.Parallel()
	rows, err := loadBytes(t, table(t, []listed{{InstanceID: "a", Image: []byte{0xff, '"', 0, '\n'}}}), dataset.Source{})
	require.NoError(t, err)
	var columns map[string]any
	require.NoError(t, json.Unmarshal(rows[0].Raw, &columns))
	require.Equal(t, "\ufffd\"\x00\n", columns["image_name"])
}
