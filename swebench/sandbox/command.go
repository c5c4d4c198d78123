package sandbox

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path"
	"strings"
	"time"

	"github.com/homing-go/homing/qwen"
)

// A Command is what [qwen.Command] is, and more. Either Args or Shell is set.
type Command struct {
	// Args is the program and its arguments. They may hold any byte but NUL.
	Args []string
	// Shell is a script for bash, or for sh if there is no bash. A script of more than 128
	// KiB comes over standard input; then Stdin must be nil.
	Shell string
	// Stdin is what the command reads; nil means nothing. It must not block for ever: a
	// command is not over before a Read under way has returned.
	Stdin io.Reader
	// Dir is where it starts; "" means the folder of the sandbox, a relative path is below
	// that.
	Dir string
	// Env is on top of the environment of the sandbox.
	Env map[string]string
	// Merge sends standard error to the same place as standard output.
	Merge bool
	// Timeout ends the command; 0 means that only the context does.
	Timeout time.Duration
	// Tee gets all of standard output as it comes, also what is not kept. What it returns is
	// ignored, and it must not block for ever.
	Tee io.Writer
}

// A Result is how a command ended.
type Result struct {
	Stdout, Stderr Printed
	// ExitCode is -1 when the command did not end by itself.
	ExitCode int
	// TimedOut tells that Command.Timeout was over.
	TimedOut bool
	// Flooded tells that the command was ended because it printed more than the sandbox reads.
	Flooded bool
}

// Exec runs a command in a sandbox. It is like Run, with the additions of [Command], and what
// was left out is told as a number. A sandbox of a type that has no method Exec does what it
// can by Run; Env and Tee are then not for it.
func Exec(ctx context.Context, s Sandbox, c Command) (Result, error) {
	if e, ok := s.(interface {
		Exec(context.Context, Command) (Result, error)
	}); ok {
		return e.Exec(ctx, c)
	}
	if len(c.Env) > 0 || c.Tee != nil {
		return Result{}, errors.New("sandbox: this type of sandbox takes no Env and no Tee: give it a method Exec")
	}
	c, err := c.resolved("/")
	if err != nil {
		return Result{}, err
	}
	plain := qwen.Command{Args: c.Args, Dir: c.Dir, Merge: c.Merge}
	if c.Stdin != nil {
		if plain.Stdin, err = io.ReadAll(c.Stdin); err != nil {
			return Result{}, err
		}
	}
	limited, cancel := c.within(ctx)
	defer cancel()
	out, err := s.Run(limited, plain)
	res := Result{Stdout: Printed{Head: out.Stdout}, Stderr: Printed{Head: out.Stderr}, ExitCode: out.ExitCode}
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		res.TimedOut, res.ExitCode, err = true, -1, nil
	}
	return res, err
}

// within bounds the context by the command's own limit.
func (c Command) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.Timeout > 0 {
		return context.WithTimeout(ctx, c.Timeout)
	}
	return context.WithCancel(ctx)
}

// maxArgument is what one argument of a process holds on Linux with pages of 4 KiB.
const maxArgument = 131_071

const (
	// byShell runs a script by the better shell.
	byShell = `if command -v bash >/dev/null 2>&1; then exec bash -c "$1"; fi; exec sh -c "$1"`
	// byFile does it for a script that is too long for an argument.
	byFile = `b=$(command -v bash || command -v sh); t=$(mktemp) && cat >"$t" && "$b" "$t" </dev/null; c=$?; rm -f "$t"; exit $c`
)

// resolved fills in Args and Dir.
func (c Command) resolved(dir string) (Command, error) {
	switch {
	case (len(c.Args) == 0) == (c.Shell == ""):
		return c, &SpecError{"Command", strings.Join(c.Args, " "), "set either Args or Shell"}
	case c.Shell != "" && len(c.Shell) <= maxArgument:
		c.Args = []string{"sh", "-c", byShell, "sh", c.Shell}
	case c.Shell != "" && c.Stdin != nil:
		return c, &SpecError{"Shell", c.Shell[:40] + "...", "a script of more than 128 KiB leaves no standard input: copy it in as a file"}
	case c.Shell != "":
		c.Args, c.Stdin = []string{"sh", "-c", byFile}, strings.NewReader(c.Shell)
	}
	for _, arg := range c.Args {
		if strings.ContainsRune(arg, 0) {
			return c, &SpecError{"Args", arg, "an argument has no NUL"}
		}
	}
	for name, value := range c.Env {
		if !envName.MatchString(name) || !plainText(value) {
			return c, &SpecError{"Env", name, "a name is letters, digits and _, a value UTF-8 without NUL"}
		}
	}
	if c.Dir == "" {
		c.Dir = dir
	} else if !path.IsAbs(c.Dir) {
		c.Dir = path.Join(dir, c.Dir)
	}
	if strings.ContainsRune(c.Dir, 0) {
		return c, &SpecError{"Dir", c.Dir, "a path has no NUL"}
	}
	return c, nil
}

// Run implements [qwen.Sandbox].
func (r *runner) Run(ctx context.Context, cmd qwen.Command) (qwen.Output, error) {
	c := Command{Args: cmd.Args, Dir: cmd.Dir, Merge: cmd.Merge}
	if len(cmd.Stdin) > 0 {
		c.Stdin = bytes.NewReader(cmd.Stdin)
	}
	res, err := r.Exec(ctx, c)
	return qwen.Output{
		Stdout: res.Stdout.Bytes(), Stderr: res.Stderr.Bytes(), ExitCode: res.ExitCode,
		Cut: res.Stdout.Omitted > 0 || res.Stderr.Omitted > 0 || res.Flooded,
	}, err
}
