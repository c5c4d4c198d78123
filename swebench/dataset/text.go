package dataset

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"github.com/homing-go/homing/internal/rawjson"
)

// text reads the rows of a JSON or JSON Lines file.
func (r *rowReader) text(file string, data []byte) error {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) {
		return fault(file, "it is not UTF-8 text, and no Parquet file")
	}
	start := bytes.TrimSpace(data)
	switch {
	case len(start) == 0:
		return nil // a table without rows
	case start[0] == '[':
		return r.array(file, data)
	case isPage(start):
		return r.page(file, data)
	case isOne(start):
		return r.add(Error{File: file, Row: 1}, start)
	}
	return r.lines(file, data)
}

func (r *rowReader) array(file string, data []byte) error {
	if err := valid(file, data); err != nil {
		return err
	}
	n := 0
	for a := rawjson.Elements(data); a.Next(); {
		n++
		if err := r.add(Error{File: file, Row: n}, a.Value); err != nil {
			return err
		}
	}
	return nil
}

// isPage reports whether the file is one object with rows, and not a line of JSON Lines.
func isPage(start []byte) bool {
	if start[0] != '{' {
		return false
	}
	first, rest, _ := bytes.Cut(start, []byte("\n"))
	if rawjson.Valid(first) != nil { // an object over several lines, or a broken line
		return rawjson.Valid(start) == nil && rawjson.Kind(rawjson.Get(start, "rows")) == '['
	}
	return len(bytes.TrimSpace(rest)) == 0 && rawjson.Kind(rawjson.Get(first, "rows")) == '['
}

// isOne reports whether the file is one object over several lines: a row.
func isOne(start []byte) bool {
	first, _, more := bytes.Cut(start, []byte("\n"))
	return start[0] == '{' && more && rawjson.Valid(first) != nil && rawjson.Valid(start) == nil
}

// page reads {"rows": [...]}, each of which is a row or {"row": {...}, "truncated_cells": [...]}.
func (r *rowReader) page(file string, data []byte) error {
	n := 0
	for a := rawjson.Elements(rawjson.Get(data, "rows")); a.Next(); {
		n++
		at, value := Error{File: file, Row: n}, a.Value
		if rawjson.Kind(value) == '{' {
			if cut := rawjson.Get(value, "truncated_cells"); rawjson.Kind(cut) == '[' && rawjson.Kind(bytes.TrimSpace(cut[1:])) != ']' {
				at.Reason = "the hub has cut the columns " + string(cut[:min(len(cut), 200)]) + "; fetch the file instead of the page"
				return &at
			}
			if row := rawjson.Get(value, "row"); rawjson.Kind(row) == '{' {
				value = row
			}
		}
		if err := r.add(at, value); err != nil {
			return err
		}
	}
	return nil
}

func (r *rowReader) lines(file string, data []byte) error {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if err := rawjson.Valid(line); err != nil {
			return &Error{File: file, Line: n, Reason: "it is not JSON: " + err.Error(), Err: err}
		}
		if err := r.add(Error{File: file, Line: n}, line); err != nil {
			return err
		}
	}
	return nil
}

// valid checks a whole document and names the line at which it stops being JSON.
func valid(file string, data []byte) error {
	err := rawjson.Valid(data)
	if err == nil {
		return nil
	}
	at := fault(file, "it is not JSON: %w", err)
	var syntax *rawjson.SyntaxError
	switch {
	case errors.As(err, &syntax):
		at.Line = 1 + bytes.Count(data[:min(syntax.Offset, len(data))], []byte("\n"))
	case rawjson.IsEnd(err):
		at.Line = 1 + bytes.Count(bytes.TrimSpace(data), []byte("\n"))
	}
	return at
}
