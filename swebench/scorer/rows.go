package scorer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/dataset"
)

const maxDataset = 1 << 30

// A Row is one instance of a dataset.
type Row struct {
	InstanceID string
	Prompt     string // "" if the dataset has none
}

// A RowsError tells what is wrong with a dataset.
type RowsError struct {
	File   string
	Row    int // counted from 1; 0 if it is about the whole file
	Reason string
}

func (e *RowsError) Error() string {
	if e.Row > 0 {
		return fmt.Sprintf("scorer: dataset %s, row %d: %s", e.File, e.Row, e.Reason)
	}
	return fmt.Sprintf("scorer: dataset %s: %s", e.File, e.Reason)
}

// ReadRows reads the rows of a file, in their order: one JSON array of objects, JSON Lines,
// or Parquet. The ID is in the column of that name, "" meaning instance_id; the prompt in prompt
// or problem_statement. In file, {subset} and {split} stand for the two. A file that cannot
// be read is reported with its path, as a *[RowsError] or an error of the file system.
func ReadRows(ctx context.Context, file, column, subset, split string) ([]Row, error) {
	if strings.Contains(file, "{split}") && strings.ContainsAny(split, `/\`) {
		return nil, &RowsError{File: file, Reason: "split is not the name of a file; it cannot stand for {split}"}
	}
	file = strings.NewReplacer("{subset}", subset, "{split}", split).Replace(file)
	f, err := os.Open(file) //nolint:gosec // the caller names the file
	if err != nil {
		return nil, fmt.Errorf("scorer: dataset: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(io.LimitReader(f, maxDataset+1))
	if err != nil {
		return nil, fmt.Errorf("scorer: dataset: %w", err)
	}
	if len(data) > maxDataset {
		return nil, &RowsError{File: file, Reason: fmt.Sprintf("it has more than %d bytes", maxDataset)}
	}
	if bytes.HasPrefix(data, []byte(parquetMark)) {
		return parquetRows(ctx, file, column)
	}
	rows, err := ParseRows(data, column)
	var fault *RowsError
	if errors.As(err, &fault) {
		fault.File = file
	}
	return rows, err
}

// parquetMark begins a Parquet file.
const parquetMark = "PAR1"

func parquetRows(ctx context.Context, file, column string) ([]Row, error) {
	table, err := dataset.Load(ctx, dataset.Source{Path: file, IDColumn: column})
	var bad *dataset.Error
	switch {
	case errors.As(err, &bad):
		return nil, &RowsError{File: file, Row: bad.Row, Reason: bad.Reason}
	case err != nil:
		return nil, fmt.Errorf("scorer: %w", err)
	}
	rows := make([]Row, len(table))
	for i, row := range table {
		rows[i] = Row{InstanceID: row.InstanceID, Prompt: rawjson.Text(rawjson.Get(row.Raw, "prompt"))}
		if rows[i].Prompt == "" {
			rows[i].Prompt = row.ProblemStatement
		}
	}
	return rows, nil
}

// ParseRows is [ReadRows] on the bytes of a file, which cannot be Parquet.
func ParseRows(data []byte, column string) ([]Row, error) {
	if column == "" {
		column = "instance_id"
	}
	p := &rowParser{column: column, seen: map[string]int{}}
	var err error
	switch start := bytes.TrimSpace(data); {
	case bytes.HasPrefix(start, []byte(parquetMark)):
		err = &RowsError{Reason: "it is Parquet; use ReadRows, or write it as JSON Lines"}
	case !utf8.Valid(data):
		err = &RowsError{Reason: "it is not UTF-8"}
	case bytes.HasPrefix(start, []byte("[")):
		err = p.array(start)
	default:
		err = p.lines(data)
	}
	if err != nil {
		return nil, err
	}
	return p.rows, nil
}

type rowParser struct {
	column string
	rows   []Row
	seen   map[string]int
}

func (p *rowParser) array(data []byte) error {
	a := rawjson.Elements(data)
	for n := 1; a.Next(); n++ {
		if err := p.add(n, a.Value); err != nil {
			return err
		}
	}
	if a.Err != nil {
		return &RowsError{Reason: "it is not JSON: " + a.Err.Error()}
	}
	return nil
}

func (p *rowParser) lines(data []byte) error {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if err := rawjson.Valid(line); err != nil {
			return &RowsError{Row: n, Reason: "it is not JSON: " + err.Error()}
		}
		if err := p.add(n, line); err != nil {
			return err
		}
	}
	return nil
}

func (p *rowParser) add(n int, value []byte) error {
	if rawjson.Kind(value) != '{' {
		return &RowsError{Row: n, Reason: "it is not an object"}
	}
	id := rawjson.Get(value, p.column)
	var row Row
	switch kind := rawjson.Kind(id); {
	case kind == '"':
		row.InstanceID = rawjson.Text(id)
	case kind >= '0' && kind <= '9':
		row.InstanceID = string(id)
	default:
		return &RowsError{Row: n, Reason: fmt.Sprintf("it has no text in the column %q", p.column)}
	}
	if fault := swebench.InstanceIDFault(row.InstanceID); fault != "" {
		return &RowsError{Row: n, Reason: fmt.Sprintf("the ID in the column %q %s", p.column, fault)}
	}
	if first, ok := p.seen[row.InstanceID]; ok {
		return &RowsError{Row: n, Reason: fmt.Sprintf("the ID %q is that of row %d, too", row.InstanceID, first)}
	}
	p.seen[row.InstanceID] = n
	if row.Prompt = rawjson.Text(rawjson.Get(value, "prompt")); row.Prompt == "" {
		row.Prompt = rawjson.Text(rawjson.Get(value, "problem_statement"))
	}
	p.rows = append(p.rows, row)
	return nil
}
