package dataset

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/swebench"
)

// A Row is one instance. What its dataset does not have is empty.
type Row struct {
	InstanceID       string
	Repo             string
	BaseCommit       string
	ProblemStatement string // problem_statement, else prompt
	// ImageName is what the dataset names: image_name, else docker_image. [ImageFor] knows
	// the others.
	ImageName string
	TestPatch string
	Patch     string // the solution
	Version   string
	// FailToPass and PassToPass are the tests that a patch must make pass and those that
	// it must not break.
	FailToPass, PassToPass []string
	// TestCommand and EvalScript tell how the tests run, where the dataset does:
	// test_command or test_cmd, and eval_script.
	TestCommand, EvalScript string
	// Parser names the way in which the tests write their results: log_parser or parser,
	// such as "pytest" or "unittest"; "" where the dataset does not say.
	Parser string
	// Raw is the row with all its columns, a JSON object.
	Raw json.RawMessage
	// Where is the file and the line, or the number, of the row, for errors about it.
	Where string
}

// A rowReader makes rows out of objects.
type rowReader struct {
	idColumn string
	seen     map[string]Error // where each ID was first
	rows     []Row
}

func newRowReader(idColumn string) *rowReader {
	if idColumn == "" {
		idColumn = "instance_id"
	}
	return &rowReader{idColumn: idColumn, seen: map[string]Error{}}
}

// add adds the row that value is; at tells where it stands.
func (r *rowReader) add(at Error, value []byte) error {
	fail := func(column, format string, args ...any) error {
		err := at
		err.Column, err.Reason = column, fmt.Sprintf(format, args...)
		return &err
	}
	if rawjson.Kind(value) != '{' {
		return fail("", "it is %s, want an object", kindName(value))
	}
	id := rawjson.Get(value, r.idColumn)
	switch name := kindName(id); name {
	case "text":
		at.ID = rawjson.Text(id)
	case "a number":
		at.ID = string(id)
	default:
		return fail(r.idColumn, "it is %s, want the instance's ID", name)
	}
	if reason := swebench.InstanceIDFault(at.ID); reason != "" {
		at.ID = ""
		return fail(r.idColumn, "the ID %s", reason)
	}
	if first, ok := r.seen[at.ID]; ok {
		where := fmt.Sprintf("row %d", first.Row)
		if first.Line > 0 {
			where = fmt.Sprintf("line %d", first.Line)
		}
		return fail(r.idColumn, "%s of %s has the same ID; remove one of them", where, first.File)
	}
	r.seen[at.ID] = at
	row := Row{InstanceID: at.ID, Raw: value, Where: at.where()}
	for _, f := range []struct {
		into  *string
		names []string
	}{
		{&row.Repo, []string{"repo"}},
		{&row.BaseCommit, []string{"base_commit"}},
		{&row.ProblemStatement, []string{"problem_statement", "prompt"}},
		{&row.ImageName, []string{"image_name", "docker_image"}},
		{&row.TestPatch, []string{"test_patch"}},
		{&row.Patch, []string{"patch"}},
		{&row.Version, []string{"version"}},
		{&row.TestCommand, []string{"test_command", "test_cmd"}},
		{&row.EvalScript, []string{"eval_script"}},
		{&row.Parser, []string{"log_parser", "parser"}},
	} {
		read := columnText
		if f.into == &row.TestCommand {
			read = columnCommand
		}
		for _, name := range f.names {
			text, reason := read(rawjson.Get(value, name))
			if reason != "" {
				return fail(name, "%s", reason)
			}
			if *f.into == "" {
				*f.into = text
			}
		}
	}
	for _, f := range []struct {
		into *[]string
		name string
	}{{&row.FailToPass, "FAIL_TO_PASS"}, {&row.PassToPass, "PASS_TO_PASS"}} {
		list := rawjson.Get(value, f.name)
		if list == nil {
			list = rawjson.Get(value, strings.ToLower(f.name))
		}
		var reason string
		if *f.into, reason = columnList(list); reason != "" {
			return fail(f.name, "%s", reason)
		}
	}
	r.rows = append(r.rows, row)
	return nil
}

// columnCommand reads a command: a text, a list of commands, or one of a program and its
// arguments, which is told by its words: none has a space, or the second is an option.
func columnCommand(value []byte) (text, reason string) {
	if kindName(value) != "a list" {
		return columnText(value)
	}
	words, reason := columnList(value)
	if reason != "" || len(words) < 2 {
		return strings.Join(words, "\n"), reason
	}
	spaced := func(word string) bool { return strings.ContainsAny(word, " \t\n") }
	if spaced(words[0]) || (!strings.HasPrefix(words[1], "-") && slices.ContainsFunc(words, spaced)) {
		return strings.Join(words, "\n"), ""
	}
	for i, word := range words {
		words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return strings.Join(words, " "), ""
}

// columnText reads a text. Numbers, as versions often are, are taken as they are written,
// and a list of texts as lines.
func columnText(value []byte) (text, reason string) {
	switch kindName(value) {
	case "text":
		return rawjson.Text(value), ""
	case "a number":
		return string(value), ""
	case "null", "missing":
		return "", ""
	case "a list":
		lines, reason := columnList(value)
		return strings.Join(lines, "\n"), reason
	}
	return "", "it is " + kindName(value) + ", want a text"
}

// columnList reads a list of texts, or a text that holds one as JSON.
func columnList(value []byte) (list []string, reason string) {
	switch kindName(value) {
	case "null", "missing":
		return nil, ""
	case "text":
		inner := strings.TrimSpace(rawjson.Text(value))
		if inner == "" {
			return nil, ""
		}
		if err := rawjson.Valid([]byte(inner)); err != nil {
			return nil, "its text is not a JSON list: " + err.Error()
		}
		value = []byte(inner)
	}
	if kind := kindName(value); kind == "null" {
		return nil, ""
	} else if kind != "a list" {
		return nil, "it is " + kind + ", want a list of texts"
	}
	for a := rawjson.Elements(value); a.Next(); {
		if kind := kindName(a.Value); kind != "text" {
			return nil, fmt.Sprintf("element %d is %s, want a text", len(list)+1, kind)
		}
		list = append(list, rawjson.Text(a.Value))
	}
	return list, ""
}

func kindName(value []byte) string {
	switch rawjson.Kind(value) {
	case 0:
		return "missing"
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "text"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}
