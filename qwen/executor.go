package qwen

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// An Executor carries actions out, one at a time. An error means that the place where they
// run has failed; whatever an action itself meets is a [Result].
type Executor interface {
	Execute(ctx context.Context, action Action) (Result, error)
}

// A SandboxExecutor carries actions out by processes in a [Sandbox]: a POSIX shell with
// the usual tools, bash if it is there, and git. It serves one task, and one goroutine.
type SandboxExecutor struct {
	sandbox Sandbox
	root    string
	shell   string
	timeout time.Duration
	base    string // the commit at the start; "" when there is no repository
	// insisted tells that the model was told once that nothing had changed.
	insisted bool
}

var _ Executor = (*SandboxExecutor)(nil)

// ExecutorConfig configures a [SandboxExecutor].
type ExecutorConfig struct {
	// Root is the folder of the repository; "" means /testbed.
	Root string
	// Base is the commit that a submission is compared with; "" means the one that is
	// checked out when the executor is made.
	Base string
	// Timeout bounds one command of the model; 0 means 5 minutes.
	Timeout time.Duration
}

// NewExecutor looks at the repository and returns an executor for one task. It must be
// called before the model runs anything: what the model commits belongs to its patch.
func NewExecutor(ctx context.Context, sandbox Sandbox, cfg ExecutorConfig) (*SandboxExecutor, error) {
	e := &SandboxExecutor{sandbox: sandbox, root: Toolset{Root: cfg.Root}.root(), timeout: cfg.Timeout, base: cfg.Base}
	if e.timeout == 0 {
		e.timeout = 5 * time.Minute
	}
	out, err := e.script(ctx, nil, lookAround, e.root, e.base)
	if err != nil {
		return nil, err
	}
	if out.ExitCode != 0 {
		return nil, fmt.Errorf("qwen: executor: %s cannot be used as the repository: %s", e.root, firstLine(out.Stderr))
	}
	var ok bool
	if e.shell, e.base, ok = strings.Cut(strings.TrimSuffix(string(out.Stdout), "\n"), "\n"); !ok {
		return nil, fmt.Errorf("qwen: executor: the shell of the sandbox does not answer as expected: %s", excerpt(out.Stdout, 0))
	}
	if cfg.Base != "" && e.base == "" {
		return nil, fmt.Errorf("qwen: executor: there is no commit %.60q in %s", cfg.Base, e.root)
	}
	return e, nil
}

// lookAround prints the shell to use and the commit to compare with. An empty repository
// is compared with the empty tree.
const lookAround = `cd "$1" || exit 1
command -v bash || command -v sh
if [ -n "$2" ]; then git rev-parse -q --verify "$2^{commit}" || echo
elif git rev-parse -q --verify HEAD; then :
elif git rev-parse --git-dir >/dev/null 2>&1; then git hash-object -t tree /dev/null
else echo; fi`

// script runs a shell script with arguments. What it reads comes over standard input.
func (e *SandboxExecutor) script(ctx context.Context, stdin []byte, script string, args ...string) (Output, error) {
	return e.sandbox.Run(ctx, Command{Args: append([]string{"sh", "-c", script, "sh"}, args...), Stdin: stdin})
}

// Execute implements [Executor].
func (e *SandboxExecutor) Execute(ctx context.Context, action Action) (Result, error) {
	switch a := action.(type) {
	case Exec:
		return e.exec(ctx, a)
	case View:
		return e.view(ctx, a)
	case Edit:
		return e.edit(ctx, a)
	case Write:
		return e.write(ctx, a.Path, []byte(a.Content), a.Path[:strings.LastIndexByte(a.Path, '/')+1], "wrote "+a.Path)
	case Submit:
		return e.submit(ctx, a)
	}
	return Result{}, fmt.Errorf("qwen: executor: unknown action %T", action)
}

// maxArgument is what one argument of a process holds on Linux with pages of 4 KiB.
const maxArgument = 131_071

// fromFile runs a command that is too long for an argument out of a file.
const fromFile = `t=$(mktemp) && cat >"$t" && "$1" "$t" </dev/null; c=$?; rm -f "$t"; exit $c`

func (e *SandboxExecutor) exec(ctx context.Context, a Exec) (Result, error) {
	limited, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	cmd := Command{Args: []string{e.shell, "-c", a.Command}, Dir: e.root, Merge: true}
	if len(a.Command) > maxArgument {
		cmd.Args = []string{"sh", "-c", fromFile, "sh", e.shell}
		cmd.Stdin = []byte(a.Command)
	}
	out, err := e.sandbox.Run(limited, cmd)
	res := Result{Output: out.Stdout, ExitCode: out.ExitCode}
	if out.Cut {
		res.Note = "the output was longer than the sandbox keeps; a part of it is missing"
	}
	switch {
	case err == nil:
		return res, nil
	case ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded):
		res.ExitCode, res.Note = -1, fmt.Sprintf("the command was stopped after %v; run what takes longer in parts or in the background", e.timeout)
		return res, nil
	}
	return res, err
}

// failed is the result of an action that could not be carried out.
func failed(format string, args ...any) Result {
	return Result{Output: fmt.Appendf(nil, format+"\n", args...), ExitCode: 1}
}

// shellFailure is the result of a script that failed.
func shellFailure(out Output) Result {
	text := out.Stderr
	if len(text) == 0 {
		text = fmt.Appendf(nil, "exit code %d\n", out.ExitCode)
	}
	return Result{Output: text, ExitCode: max(out.ExitCode, 1)}
}

func firstLine(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return shorten(validText(line))
}
