package dataset_test

import (
	"strings"
	"testing"

	"github.com/homing-go/homing/swebench/dataset"
	"github.com/stretchr/testify/require"
)

const full = `{"instance_id": "a__b-1", "repo": "a/b", "base_commit": "c0ffee", "problem_statement": "it breaks \u00e9", "image_name": "img:1",
 "test_patch": "tp", "patch": "p", "version": 3.0, "FAIL_TO_PASS": "[\"t1\", \"t 2\"]", "PASS_TO_PASS": ["t3"], "test_cmd": ["x a", "y"],
 "eval_script": "#!/bin/sh", "log_parser": "pytest", "more": {"b": 1, "a": [2]}}`

// Every form of a file gives the same rows, in their order and with all their columns.
func TestForms(t *testing.T) {
	t.Parallel()
	line := strings.ReplaceAll(full, "\n", "")
	for name, text := range map[string]string{
		"array":        "[" + full + `, {"instance_id": "z", "docker_image": "d", "FAIL_TO_PASS": null, "PASS_TO_PASS": ""}]`,
		"mark":         "\ufeff[" + full + `, {"instance_id": "z", "docker_image": "d", "image_name": ""}]`,
		"lines":        line + "\r\n\n" + `  {"instance_id": "z", "docker_image": "d"}`,
		"page":         `{"features": [], "rows": [{"row_idx": 0, "row": ` + full + `, "truncated_cells": []}, {"row_idx": 1, "row": {"instance_id": "z", "docker_image": "d"}, "truncated_cells": [ ]}], "num_rows_total": 2}`,
		"page, plain":  "{\n\"rows\": [" + full + `, {"instance_id": "z", "docker_image": "d"}]}`,
		"page, a line": `{"rows": [` + line + `, {"instance_id": "z", "docker_image": "d"}]}` + "\n",
	} {
		rows, err := dataset.Load(t.Context(), dataset.Source{Path: write(t, "file", text)})
		require.NoError(t, err, name)
		require.Equal(t, []string{"a__b-1", "z"}, ids(rows), name)
		require.JSONEq(t, full, string(rows[0].Raw), name)
		require.Regexp(t, `/file, (row|line) 1$`, rows[0].Where, name)
		rows[0].Raw, rows[0].Where = nil, ""
		require.Equal(t, dataset.Row{
			InstanceID: "a__b-1", Repo: "a/b", BaseCommit: "c0ffee", ProblemStatement: "it breaks é", ImageName: "img:1", TestPatch: "tp",
			Patch: "p", Version: "3.0", FailToPass: []string{"t1", "t 2"}, PassToPass: []string{"t3"}, TestCommand: "x a\ny",
			EvalScript: "#!/bin/sh", Parser: "pytest",
		}, rows[0], name)
		require.Equal(t, "d", rows[1].ImageName, name)
		require.Empty(t, rows[1].FailToPass, name)
	}
}

// A list of commands are lines, and one of a program and its arguments is a line of words.
func TestCommandLists(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{
		`"a b"`:                            "a b",
		`["a b"]`:                          "a b",
		`["make"]`:                         "make",
		`["pip install .", "pytest -rA"]`:  "pip install .\npytest -rA",
		`["cd x", "make"]`:                 "cd x\nmake",
		`["make", "pytest -rA tests"]`:     "make\npytest -rA tests",
		`["python3", "-c", "print('a')"]`:  `'python3' '-c' 'print('\''a'\'')'`,
		`["pytest", "tests/test_a.py"]`:    "'pytest' 'tests/test_a.py'",
		`["python3","-m","unittest","-v"]`: "'python3' '-m' 'unittest' '-v'",
	} {
		rows, err := dataset.Parse("x", []byte(`{"instance_id":"a","test_command":`+list+`}`))
		require.NoError(t, err)
		require.Equal(t, want, rows[0].TestCommand, list)
	}
}

// A file with one object over several lines is a dataset of one row.
func TestOneObject(t *testing.T) {
	t.Parallel()
	rows, err := dataset.Load(t.Context(), dataset.Source{Path: write(t, "one.json", "{\n \"instance_id\": \"a\",\n \"repo\": \"b\"\n}\n")})
	require.NoError(t, err)
	require.Len(t, rows, 1)
	require.Equal(t, "b", rows[0].Repo)
}

// A file without rows is a dataset without rows.
func TestNoRows(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "\n", "[]", `{"rows":[]}`} {
		rows, err := dataset.Load(t.Context(), dataset.Source{Path: write(t, "file", text)})
		require.NoError(t, err, text)
		require.Empty(t, rows)
	}
}

// A bad row is named by its file, its line or number, its column and what is wrong.
func TestBadRows(t *testing.T) {
	t.Parallel()
	good := `{"instance_id": "a"}` + "\n"
	for text, want := range map[string]dataset.Error{
		good + "\n{\"instance_id\": \"b\",}\n":                                    {Line: 3, Reason: "not JSON"},
		good + `{"instance_id": "b"} x`:                                           {Line: 2, Reason: "not JSON"},
		good + `[1]`:                                                              {Line: 2, Reason: "it is a list, want an object"},
		good + `{"id": "b"}`:                                                      {Line: 2, Column: "instance_id", Reason: "it is missing"},
		good + `{"instance_id": null}`:                                            {Line: 2, Column: "instance_id", Reason: "it is null"},
		good + `{"instance_id": "../b"}`:                                          {Line: 2, Column: "instance_id", Reason: "cannot be the name of a file"},
		good + `{"instance_id": "-b"}`:                                            {Line: 2, Column: "instance_id", Reason: "begins with"},
		good + good:                                                               {Line: 2, ID: "a", Column: "instance_id", Reason: "line 1 of "},
		`[{"instance_id": "a"}, {"instance_id": "a"}]`:                            {Row: 2, ID: "a", Column: "instance_id", Reason: "row 1 of "},
		good + `{"instance_id": "b", "patch": true}`:                              {Line: 2, ID: "b", Column: "patch", Reason: "it is a boolean, want a text"},
		good + `{"instance_id": "b", "repo": {}}`:                                 {Line: 2, ID: "b", Column: "repo", Reason: "it is an object, want a text"},
		good + `{"instance_id": "b", "FAIL_TO_PASS": "['x']"}`:                    {Line: 2, ID: "b", Column: "FAIL_TO_PASS", Reason: "not a JSON list"},
		good + `{"instance_id": "b", "PASS_TO_PASS": [1]}`:                        {Line: 2, ID: "b", Column: "PASS_TO_PASS", Reason: "element 1 is a number, want a text"},
		good + `{"instance_id": "b", "PASS_TO_PASS": "{\"a\":1}"}`:                {Line: 2, ID: "b", Column: "PASS_TO_PASS", Reason: "it is an object, want a list"},
		good + `{"instance_id": "b", "PASS_TO_PASS": 5}`:                          {Line: 2, ID: "b", Column: "PASS_TO_PASS", Reason: "it is a number, want a list"},
		"[\n{\"instance_id\": \"a\"},\n{\"instance_id\": \"b\"\n":                 {Line: 3, Reason: "not JSON"},
		`[{"instance_id": "a"}, 5]`:                                               {Row: 2, Reason: "it is a number, want an object"},
		`{"rows": [{"row": {"instance_id": "a"}, "truncated_cells": ["patch"]}]}`: {Row: 1, Reason: `cut the columns ["patch"]`},
		`{"rows": [{"row": {"instance": "a"}}]}`:                                  {Row: 1, Column: "instance_id", Reason: "missing"},
		`{"columns": []}`:                                                         {Line: 1, Column: "instance_id", Reason: "missing"},
		"\xff\xfe[]":                                                              {Reason: "not UTF-8"},
	} {
		file := write(t, "rows", text)
		_, err := dataset.Load(t.Context(), dataset.Source{Path: file})
		var got *dataset.Error
		require.ErrorAs(t, err, &got, text)
		require.Contains(t, got.Reason, want.Reason, text)
		require.Contains(t, err.Error(), file)
		want.File, want.Reason, want.Err = file, got.Reason, got.Err
		require.Equal(t, want, *got, text)
	}
}

// IDs can be in another column and can be numbers.
func TestIDColumn(t *testing.T) {
	t.Parallel()
	rows, err := dataset.Load(t.Context(), dataset.Source{Path: write(t, "rows", `[{"id": 7, "prompt": "p"}]`), IDColumn: "id"})
	require.NoError(t, err)
	require.Equal(t, []string{"7"}, ids(rows))
	require.Equal(t, "p", rows[0].ProblemStatement)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("[" + full + "]"))
	f.Add([]byte(`{"rows": [{"row": {"instance_id": "a"}, "truncated_cells": []}]}`))
	f.Add([]byte("{\"instance_id\":\"a\"}\n{\"instance_id\":\"b\",\"FAIL_TO_PASS\":\"[]\"}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := dataset.Parse("fuzz", data)
		if err != nil {
			var fault *dataset.Error
			require.ErrorAs(t, err, &fault)
			return
		}
		seen := map[string]bool{}
		for _, row := range rows {
			require.NotEmpty(t, row.InstanceID)
			require.False(t, seen[row.InstanceID])
			seen[row.InstanceID] = true
		}
	})
}
