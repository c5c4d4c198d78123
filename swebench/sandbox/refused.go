package sandbox

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// What keeps a command from beginning may be the command's own fault, or that of an earlier
// one. Then it is answered as a shell would: it is no failure of the place.

// tooLong answers a command whose arguments are too long.
func tooLong(res *Result, c Command) {
	res.answer(126, "argument list too long: put long text in a file or in standard input\n", c)
}

// isShellGone tells that the place has no shell any more to run a command with: that the
// engine could not start it, or that what it started in its place was none. Of a command with
// input the latter is not known: see [Docker] for what may become of its output.
func isShellGone(err error, c Command) bool {
	var e *EngineError
	if !errors.As(err, &e) || e.Err != nil {
		return false
	}
	words := strings.ToLower(e.Stderr)
	return e.ExitCode == 0 && c.Stdin == nil || strings.Contains(words, "/bin/sh") && slices.ContainsFunc(
		[]string{"no such file", "not found", "permission denied", "exec format", "not a directory", "too many levels"},
		func(why string) bool { return strings.Contains(words, why) })
}

// shellGone answers a command after one that has removed or broken the shell.
func shellGone(res *Result, c Command, err error) {
	res.answer(127, fmt.Sprintf("there is no /bin/sh in this sandbox that works: %v\n", err), c)
}

func (r *Result) answer(code int, text string, c Command) {
	r.ExitCode, r.Stdout, r.Stderr = code, Printed{}, Printed{}
	if c.Merge {
		r.Stdout.Head = []byte(text)
	} else {
		r.Stderr.Head = []byte(text)
	}
}
