package qwen_test

import (
	"bytes"
	"encoding/json"
	"math/big"
	"os"
	"strings"
	"testing"

	"github.com/homing-go/homing/model"
	"github.com/stretchr/testify/require"
)

// A caseFile is a table of inputs and of what the client must make of them.
type caseFile struct {
	About        string                     `json:"about"`
	Layers       map[string]string          `json:"layers"`
	ExpectFields map[string]string          `json:"expect_fields"`
	ErrorKinds   map[string]string          `json:"error_kinds"`
	Limits       map[string]int             `json:"limits"`
	Tools        map[string]json.RawMessage `json:"tools"`
	CaseFields   map[string]string          `json:"case_fields"`
	Cases        []oneCase                  `json:"cases"`
}

type oneCase struct {
	ID     string          `json:"id"`
	Kind   string          `json:"kind"`
	Layer  string          `json:"layer"`
	Input  json.RawMessage `json:"input"`
	Expect json.RawMessage `json:"expect"`
	Source string          `json:"source"`
	Note   string          `json:"note"`
}

// strict decodes a part of a case; a member that the runner does not know fails it.
func strict(t *testing.T, raw []byte, into any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	d.UseNumber()
	require.NoError(t, d.Decode(into), "%s", raw)
}

// Every case of the table holds. HOMING_QWEN_CASES names another table of the same form.
func TestCases(t *testing.T) {
	t.Parallel()
	path := os.Getenv("HOMING_QWEN_CASES")
	if path == "" {
		path = "testdata/cases.json"
	}
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	var file caseFile
	strict(t, raw, &file)
	require.NotEmpty(t, file.Cases)
	tools := map[string]*model.Tools{}
	for name, list := range file.Tools {
		tools[name], err = model.ParseTools(list)
		require.NoError(t, err, name)
	}
	runners := map[string]func(*testing.T, oneCase, map[string]*model.Tools){
		"message":    runMessageCase,
		"stream":     runStreamCase,
		"stream_raw": runRawStreamCase,
		"replay":     runReplayCase,
		"request":    runRequestCase,
		"http":       runHTTPCase,
		"translate":  runTranslateCase,
	}
	seen := map[string]bool{}
	for _, c := range file.Cases {
		require.False(t, seen[c.ID], "two cases are named %s", c.ID)
		seen[c.ID] = true
		run := runners[c.Layer]
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			require.NotNil(t, run, "no runner for the layer %q", c.Layer)
			run(t, c, tools)
		})
	}
}

// A nullable tells a member that is null from one that is absent.
type nullable[T any] struct {
	present, null bool
	value         T
}

func (n *nullable[T]) UnmarshalJSON(raw []byte) error {
	n.present = true
	if string(raw) == "null" {
		n.null = true
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	d.UseNumber()
	return d.Decode(&n.value)
}

// collapse makes texts comparable: runs of white space become one blank.
func collapse(text string) string { return strings.Join(strings.Fields(text), " ") }

// sameJSON compares JSON values; numbers by value and with all their digits.
func sameJSON(t *testing.T, want, got []byte, msg ...any) {
	t.Helper()
	require.Equal(t, canonical(t, want), canonical(t, got), msg...)
}

func canonical(t *testing.T, raw []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	require.NoError(t, d.Decode(&v), "%s", raw)
	return numbers(t, v)
}

func numbers(t *testing.T, v any) any {
	switch v := v.(type) {
	case json.Number:
		r, ok := new(big.Rat).SetString(v.String())
		require.True(t, ok, v)
		return r.RatString()
	case []any:
		for i := range v {
			v[i] = numbers(t, v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = numbers(t, v[k])
		}
	}
	return v
}

// decode is for members that only some cases have.
func decode(raw []byte, into any) error { return json.Unmarshal(raw, into) }
