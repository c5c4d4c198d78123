package qwen

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
)

// maxView bounds what is fetched of a file to be shown.
const maxView = 16 << 20

// viewFile prints a mark and the names in a folder, or a mark, the number of lines and the
// lines asked for: from $2 on, at most $3 of them if that is set, at most $4 bytes.
const viewFile = `if [ -d "$1" ]; then echo d; exec ls -Ap -- "$1"; fi
[ -e "$1" ] || { echo "$1 does not exist" >&2; exit 1; }
[ -f "$1" ] || { echo "$1 is no regular file" >&2; exit 1; }
n=$(wc -l <"$1") || exit 1
[ -z "$(tail -c 1 <"$1")" ] || n=$((n+1))
echo "f $((n))"
if [ "$2" -gt 1 ]; then tail -n "+$2" <"$1"; else cat <"$1"; fi |
if [ -n "$3" ]; then head -n "$3"; else cat; fi | head -c "$4"`

// view shows a file with line numbers as cat -n does, or lists a folder.
func (e *SandboxExecutor) view(ctx context.Context, a View) (Result, error) {
	count := ""
	if a.Start > 0 && a.End >= a.Start {
		count = strconv.Itoa(a.End - a.Start + 1)
	}
	start := max(a.Start, 1)
	out, err := e.script(ctx, nil, viewFile, a.Path, strconv.Itoa(start), count, strconv.Itoa(maxView))
	if err != nil {
		return Result{}, err
	}
	if out.ExitCode != 0 {
		return shellFailure(out), nil
	}
	mark, body, _ := bytes.Cut(out.Stdout, []byte("\n"))
	if string(mark) == "d" {
		return Result{Output: body}, nil
	}
	lines, err := strconv.Atoi(strings.TrimPrefix(string(mark), "f "))
	if err != nil {
		return Result{}, fmt.Errorf("qwen: executor: the shell of the sandbox does not answer as expected: %s", excerpt(mark, 0))
	}
	if start > lines && start > 1 {
		return failed("view_range begins at line %d, but %s has only %d lines", start, a.Path, lines), nil
	}
	res := Result{Output: appendNumbered(nil, body, start)}
	if len(body) == maxView {
		res.Note = fmt.Sprintf("only the first %d bytes are shown; give a view_range", maxView)
	}
	return res, nil
}

// appendNumbered numbers lines in the form of cat -n.
func appendNumbered(dst, text []byte, first int) []byte {
	for line := range bytes.Lines(text) {
		dst = fmt.Appendf(dst, "%6d\t", first)
		dst = append(dst, line...)
		first++
	}
	return dst
}
