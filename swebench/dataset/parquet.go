package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/parquet-go/parquet-go"
)

// parquetBatch is how many rows are decoded at a time.
const parquetBatch = 64

// parquet reads the rows of a Parquet file. The library that decodes it panics on some
// broken files; that is an error like others here.
func (r *rowReader) parquet(file string, f *os.File, size, limit int64) (err error) {
	n := 0
	defer func() {
		if p := recover(); p != nil {
			err = &Error{File: file, Row: n + 1, Reason: fmt.Sprintf("the Parquet file is damaged: %v", p)}
		}
	}()
	pf, err := parquet.OpenFile(f, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return fault(file, "it is not a readable Parquet file: %v", err)
	}
	var total int64
	for _, group := range pf.Metadata().RowGroups {
		for i := range group.Columns {
			total += max(0, group.Columns[i].MetaData.TotalUncompressedSize)
		}
	}
	if total > limit {
		return fault(file, "it has %d bytes without its compression, the limit is %d", total, limit)
	}
	schema, names := pf.Schema(), []string{}
	for _, field := range schema.Fields() {
		names = append(names, field.Name())
	}
	total = 0
	var promised int64
	for _, group := range pf.RowGroups() {
		promised += group.NumRows()
		if err := r.group(file, schema, names, group, &n, &total, limit); err != nil {
			return err
		}
	}
	if int64(n) != promised {
		return fault(file, "it has %d rows, but says that it has %d; it is damaged", n, promised)
	}
	return nil
}

func (r *rowReader) group(file string, schema *parquet.Schema, names []string, group parquet.RowGroup, n *int, total *int64, limit int64) error {
	rows := group.Rows()
	defer rows.Close() //nolint:errcheck // it was only read
	buf := make([]parquet.Row, parquetBatch)
	for {
		count, err := rows.ReadRows(buf)
		for _, row := range buf[:count] {
			at := Error{File: file, Row: *n + 1}
			var value any
			if err := schema.Reconstruct(&value, row); err != nil {
				at.Reason, at.Err = "it cannot be decoded: "+err.Error(), err
				return &at
			}
			columns, _ := value.(map[string]any)
			raw := appendObject(nil, names, columns)
			if *total += int64(len(raw)); *total > limit {
				at.Reason = fmt.Sprintf("the rows up to here have more than %d bytes, which is the limit", limit)
				return &at
			}
			if err := r.add(at, raw); err != nil {
				return err
			}
			*n++
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return &Error{File: file, Row: *n + 1, Reason: "it cannot be read: " + err.Error(), Err: err}
		case count == 0:
			return &Error{File: file, Row: *n + 1, Reason: "the file ends before its rows do"}
		}
	}
}

func appendObject(dst []byte, names []string, members map[string]any) []byte {
	dst = append(dst, '{')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(rawjson.AppendQuoted(dst, name), ':')
		dst = appendValue(dst, members[name])
	}
	return append(dst, '}')
}

// appendValue writes a decoded value as JSON. Bytes are text, and numbers that JSON does not
// have are null.
func appendValue(dst []byte, value any) []byte {
	switch v := value.(type) {
	case nil:
		return append(dst, "null"...)
	case string:
		return rawjson.AppendQuoted(dst, v)
	case []byte:
		return rawjson.AppendQuoted(dst, v)
	case []any:
		dst = append(dst, '[')
		for i, element := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendValue(dst, element)
		}
		return append(dst, ']')
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		return appendObject(dst, names, v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return append(dst, "null"...)
		}
	case float32:
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return append(dst, "null"...)
		}
	}
	text, err := json.Marshal(value)
	if err != nil {
		return rawjson.AppendQuoted(dst, fmt.Sprint(value))
	}
	return append(dst, text...)
}
