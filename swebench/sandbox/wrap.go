package sandbox

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// wrap is the shell script that begins every command, in a container and out of it. It needs
// nothing but the builtins of a POSIX shell. Its first line of output is the proof that the
// command began, and tells since when, as /proc counts, and as which process; then it becomes
// the command. Its arguments are flags, limits, the folder, and the command.
//
// BASH_ENV is expanded by bash: the first one reads the file, those below it read nothing,
// since they inherit what it set, and a file that itself runs bash would never end.
const wrap = `
greet() { printf '\036%s %s %s\n' "$HOMING_EXEC" "${20}" "$$"; }
s=; [ -r /proc/self/stat ] && IFS= read -r s </proc/self/stat
set -f; greet ${s##*) }; set +f
f=$1 l=$2; shift 2
case $f in *m*) exec 2>&1; esac
case $f in *n*) exec </dev/null; esac
case $f in *e*)
	n=$#
	while [ "$n" -gt 0 ]; do a=$(printf '%b.' "$1"); shift; set -- "$@" "${a%.}"; n=$((n-1)); done
esac
case $f in *a*) if [ -z "${BASH_ENV+x}" ]; then
	for s in "${HOME:-/root}/.bashrc" /root/.bashrc; do
		if [ -r "$s" ]; then
			HOMING_RC=$s HOMING_NESTED=0 BASH_ENV='${HOMING_RC:$((HOMING_NESTED++ * 9999))}'
			export HOMING_RC HOMING_NESTED BASH_ENV; break
		fi
	done
	s=/opt/miniconda3/envs/testbed
	if [ -z "${BASH_ENV+x}" ] && [ -d $s/bin ]; then
		PATH=$s/bin:$PATH CONDA_PREFIX=$s CONDA_DEFAULT_ENV=testbed; export PATH CONDA_PREFIX CONDA_DEFAULT_ENV
	fi
fi; esac
if ! cd "$1" 2>/dev/null; then printf 'cannot enter the folder %s\n' "$1" >&2; exit 126; fi
shift
for s in $l; do
	case $s in
	v*) ulimit -v "${s#v}" ;;
	f*) ulimit -f "${s#f}" ;;
	u*) ulimit -u "${s#u}" 2>/dev/null || ulimit -p "${s#u}" ;;
	esac
done
unset s f l n a
exec "$@"
`

// wrapped are the arguments of the shell that runs the command. What is not UTF-8 would not
// get through the API of an engine, which is JSON: then all is in octal.
func wrapped(c Command, activate bool, limits string) []string {
	flags := "-"
	if activate {
		flags += "a"
	}
	if c.Merge {
		flags += "m"
	}
	if c.Stdin == nil {
		flags += "n"
	}
	tail := append([]string{c.Dir}, c.Args...)
	if slices.ContainsFunc(tail, func(arg string) bool { return !utf8.ValidString(arg) }) {
		flags += "e"
		for i := range tail {
			tail[i] = octal(tail[i])
		}
	}
	return append([]string{"/bin/sh", "-c", wrap, "homing", flags, limits}, tail...)
}

// octal writes a string so that the %b of printf reads it.
func octal(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c == '\\' || c < ' ' || c > '~' {
			fmt.Fprintf(&b, `\0%03o`, c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// ulimits are the limits of a spec for where nothing but the shell sets them.
func (s Spec) ulimits() string {
	var l []string
	if s.MemoryBytes > 0 {
		l = append(l, fmt.Sprintf("v%d", (s.MemoryBytes+1023)/1024))
	}
	if s.PIDs > 0 {
		l = append(l, fmt.Sprintf("u%d", s.PIDs))
	}
	if s.FileBytes > 0 {
		l = append(l, fmt.Sprintf("f%d", (s.FileBytes+511)/512))
	}
	return strings.Join(l, " ")
}

// A greeter takes the first line of the wrapper out of the output. Without that line, what
// comes is no output of a command, and goes elsewhere.
type greeter struct {
	nonce string
	next  io.Writer
	other io.Writer
	line  []byte
	past  bool
	began chan struct{} // closed when the line has come
	since string        // set before that, as is first
	first string
}

// maxGreeting is more than such a line has.
const maxGreeting = 256

// Write implements [io.Writer].
func (g *greeter) Write(p []byte) (int, error) {
	switch {
	case g.past && g.hasBegun():
		return g.next.Write(p)
	case g.past:
		return g.other.Write(p)
	}
	g.line = append(g.line, p...)
	end := bytes.IndexByte(g.line, '\n')
	if end < 0 && len(g.line) < maxGreeting {
		return len(p), nil
	}
	g.past = true
	rest, to := g.line, g.other
	if end >= 0 {
		if since, ok := strings.CutPrefix(string(g.line[:end]), "\x1e"+g.nonce+" "); ok {
			g.since, g.first, _ = strings.Cut(since, " ")
			rest, to = g.line[end+1:], g.next
			close(g.began)
		}
	}
	g.line = nil
	if len(rest) == 0 {
		return len(p), nil
	}
	_, err := to.Write(rest)
	return len(p), err
}

// flush is for when nothing more comes.
func (g *greeter) flush() {
	if !g.past && len(g.line) > 0 {
		g.past = true
		_, _ = g.other.Write(g.line)
	}
}

func (g *greeter) hasBegun() bool {
	select {
	case <-g.began:
		return true
	default:
		return false
	}
}
