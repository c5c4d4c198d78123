package qwen

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
)

// maxEdit bounds a file that is edited.
const maxEdit = 32 << 20

const readFile = `[ ! -d "$1" ] || { echo "$1 is a folder" >&2; exit 1; }
[ -e "$1" ] || { echo "$1 does not exist; use create for a new file" >&2; exit 1; }
[ -f "$1" ] || { echo "$1 is no regular file" >&2; exit 1; }
head -c "$2" <"$1"`

// edit replaces on bytes, so that line ends and other encodings stay as they are.
func (e *SandboxExecutor) edit(ctx context.Context, a Edit) (Result, error) {
	out, err := e.script(ctx, nil, readFile, a.Path, strconv.Itoa(maxEdit+1))
	if err != nil {
		return Result{}, err
	}
	switch {
	case out.ExitCode != 0:
		return shellFailure(out), nil
	case len(out.Stdout) > maxEdit || out.Cut:
		return failed("%s is larger than %d bytes; change it with a command", a.Path, maxEdit), nil
	}
	content, from, to := out.Stdout, []byte(a.Old), []byte(a.New)
	n := bytes.Count(content, from)
	if n == 0 && isCRLF(content) {
		// The model does not see carriage returns and cannot write them back.
		if crlf := toCRLF(from); bytes.Count(content, crlf) > 0 {
			from, to = crlf, toCRLF(to)
			n = bytes.Count(content, from)
		}
	}
	switch {
	case n == 0:
		return failed("old_str was not found in %s; nothing was changed.%s", a.Path, noMatchHint(content, a.Old)), nil
	case n > 1:
		return failed("old_str occurs %d times in %s, at lines %s; nothing was changed. Give more of the text around it", n, a.Path, matchLines(content, from)), nil
	}
	at := bytes.Index(content, from)
	changed := make([]byte, 0, len(content)-len(from)+len(to))
	changed = append(append(append(changed, content[:at]...), to...), content[at+len(from):]...)
	first, text := around(changed, at, len(to))
	message := fmt.Sprintf("replaced the text at line %d of %s:\n%s", lineAt(changed, at), a.Path, appendNumbered(nil, text, first))
	return e.write(ctx, a.Path, changed, "", strings.TrimSuffix(message, "\n"))
}

// isCRLF reports whether every line ends in carriage return and line feed.
func isCRLF(text []byte) bool {
	n := bytes.Count(text, []byte("\r\n"))
	return n > 0 && n == bytes.Count(text, []byte("\n"))
}

func toCRLF(text []byte) []byte {
	return bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
}

func lineAt(text []byte, at int) int { return bytes.Count(text[:at], []byte("\n")) + 1 }

// matchLines lists the lines at which a text occurs.
func matchLines(content, text []byte) string {
	const limit = 10
	var lines []string
	line, done := 1, 0
	for len(lines) < limit {
		i := bytes.Index(content[done:], text)
		if i < 0 {
			return strings.Join(lines, ", ")
		}
		line += bytes.Count(content[done:done+i], []byte("\n"))
		lines = append(lines, strconv.Itoa(line))
		line += bytes.Count(text, []byte("\n"))
		done += i + len(text)
	}
	return strings.Join(lines, ", ") + ", ..."
}

// around returns the lines of a change and three before and behind it, at most forty.
func around(text []byte, at, size int) (first int, lines []byte) {
	const context, most = 3, 40
	from := at
	for n := 0; from > 0; from-- {
		if text[from-1] == '\n' {
			if n == context {
				break
			}
			n++
		}
	}
	to := from
	for n, behind := 0, 0; to < len(text) && n < most && behind <= context; to++ {
		if text[to] == '\n' {
			if n++; to >= at+size {
				behind++
			}
		}
	}
	return lineAt(text, from), text[from:to]
}

// noMatchHint says what the model may have done. The text is not applied in another form:
// that would be a guess.
func noMatchHint(content []byte, old string) string {
	var b strings.Builder
	numbered := false
	for line := range strings.Lines(old) {
		rest := strings.TrimLeft(line, " ")
		digits := strings.TrimLeft(rest, "0123456789")
		if len(digits) == len(rest) || !strings.HasPrefix(digits, "\t") {
			if strings.TrimSpace(line) != "" {
				return ""
			}
			b.WriteString(line)
			continue
		}
		numbered = true
		b.WriteString(digits[1:])
	}
	if !numbered || !bytes.Contains(content, []byte(b.String())) {
		return ""
	}
	return " It begins its lines with the line numbers that view shows; without them it is in the file"
}

// writeFile takes the content over standard input into a file of its own first, so that a
// connection that breaks leaves the old content whole. Then it writes in place: mode, owner
// and symbolic links stay.
const writeFile = `[ ! -d "$1" ] || { echo "$1 is a folder" >&2; exit 1; }
[ -z "$3" ] || mkdir -p -- "$3" || exit 1
t=$(mktemp) || exit 1
trap 'rm -f "$t"' EXIT
cat >"$t" || exit 1
[ "$(($(wc -c <"$t")))" -eq "$2" ] || { echo "the content did not arrive whole; nothing was written" >&2; exit 1; }
cat <"$t" >"$1"`

// write writes a file; folder, if not empty, is made first.
func (e *SandboxExecutor) write(ctx context.Context, file string, content []byte, folder, message string) (Result, error) {
	if strings.HasSuffix(file, "/") {
		return failed("%s is the name of a folder; name a file", file), nil
	}
	out, err := e.script(ctx, content, writeFile, file, strconv.Itoa(len(content)), folder)
	if err != nil {
		return Result{}, err
	}
	if out.ExitCode != 0 {
		return shellFailure(out), nil
	}
	return Result{Output: append([]byte(message), '\n')}, nil
}
