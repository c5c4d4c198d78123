package agent

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"unicode/utf8"
)

// printed is a patch that a command has printed, made again by git where it is no text: the
// files that it names, as they are now.
func (e *executor) printed(ctx context.Context, patch []byte) ([]byte, error) {
	if utf8.Valid(patch) {
		return patch, nil
	}
	const hint = "; print nothing behind the first line, and all that differs is taken"
	var whole []byte
	var err error
	switch paths := pathsOf(patch); {
	case e.base == "" || len(paths) == 0:
		err = noPatchError("the patch has bytes that are no UTF-8, which no prediction can hold" + hint)
	default:
		whole, err = e.portable(ctx, e.limits.Command, patch, paths)
		if err == nil && len(whole) == 0 {
			err = noPatchError("the patch has bytes that are no UTF-8, and the files that it names do not differ" + hint)
		}
	}
	if none := noPatchError(""); e.anywhere && errors.As(err, &none) {
		return patch, nil // mini-swe-agent takes whatever is printed
	}
	return whole, err
}

// pathsOf are the files that a patch of git's names, each once.
func pathsOf(patch []byte) (paths []string) {
	header := true
	for line := range bytes.Lines(patch) {
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case bytes.HasPrefix(line, []byte("diff --git ")):
			header = true
		case bytes.HasPrefix(line, []byte("@@ ")):
			header = false
		}
		name, ok := bytes.CutPrefix(line, []byte("--- "))
		if !ok {
			name, ok = bytes.CutPrefix(line, []byte("+++ "))
		}
		if !header || !ok {
			continue
		}
		name, _, _ = bytes.Cut(name, []byte("\t"))
		text := string(name)
		if plain, err := strconv.Unquote(text); err == nil { // git's quoting is that of C
			text = plain
		}
		if len(text) > 2 && (text[:2] == "a/" || text[:2] == "b/") && !slices.Contains(paths, text[2:]) {
			paths = append(paths, text[2:])
		}
	}
	return paths
}
