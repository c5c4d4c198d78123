package dataset

import (
	"errors"
	"fmt"
	"strings"
)

// An Error tells what is wrong with a dataset, and where.
type Error struct {
	File string
	// Line is that of JSON Lines, Row that of other files, both from 1; 0 if it is about
	// the whole file.
	Line, Row int
	// ID is the instance, if it is known; Column the column, if it is about one.
	ID, Column string
	Reason     string
	// Err is the cause, if there is one; Reason has its text.
	Err error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("dataset")
	if where := e.where(); where != "" {
		b.WriteString(" " + where)
	}
	if e.ID != "" {
		fmt.Fprintf(&b, " (%s)", e.ID)
	}
	if e.Column != "" {
		fmt.Fprintf(&b, ", column %q", e.Column)
	}
	return b.String() + ": " + e.Reason
}

// where is the place that the error is about; "" if it is about none.
func (e *Error) where() string {
	switch {
	case e.Line > 0:
		return fmt.Sprintf("%s, line %d", e.File, e.Line)
	case e.Row > 0:
		return fmt.Sprintf("%s, row %d", e.File, e.Row)
	}
	return e.File
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// fault makes an error about a whole file; a cause is given by %w.
func fault(file, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{File: file, Reason: err.Error(), Err: errors.Unwrap(err)}
}
