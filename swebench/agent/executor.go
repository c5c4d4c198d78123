package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/homing-go/homing/qwen"
)

// An executor carries the actions of one trajectory out.
type executor struct {
	files    *qwen.SandboxExecutor // all but commands
	sandbox  qwen.Sandbox
	dir      string
	base     string // the commit of the start; "" where there is none
	prefix   []string
	interp   []string
	limits   Limits
	anywhere bool // the marker ends the task whoever printed it
	handIn   bool // commands can hand work in
}

// machine is what the sandbox says of itself, and base the commit that is checked out.
type place struct {
	base    string
	machine [4]string
}

// lookAround prints the commit and the machine, a line each.
const lookAround = `cd "$1" || exit 1
git rev-parse -q --verify HEAD 2>/dev/null || echo
for o in -s -r -v -m; do uname $o 2>/dev/null || echo; done
command -v bash >/dev/null 2>&1 && echo bash || echo sh`

// newExecutor looks at the sandbox. base is that of an earlier execution, or "".
func newExecutor(ctx context.Context, cfg *Config, dir, base string) (*executor, place, error) {
	e := &executor{
		sandbox: cfg.Sandbox, dir: dir, limits: cfg.Limits, interp: cfg.Template.Interpreter,
		anywhere: cfg.MarkerEnds, handIn: !cfg.Template.editor,
	}
	ctx, cancel := context.WithTimeout(ctx, max(cfg.Limits.Command, time.Minute))
	defer cancel()
	out, err := e.script(ctx, lookAround, dir)
	if err != nil {
		return nil, place{}, err
	}
	lines := strings.Split(strings.TrimSuffix(string(out.Stdout), "\n"), "\n")
	switch {
	case out.ExitCode != 0:
		return nil, place{}, fmt.Errorf("agent: %s cannot be used as the repository: %.200s", dir, strings.TrimSpace(string(out.Stderr)))
	case len(lines) != 6:
		return nil, place{}, fmt.Errorf("agent: the shell of the sandbox does not answer as expected: %.100q", out.Stdout)
	}
	here := place{base: lines[0], machine: [4]string(lines[1:5])}
	if base != "" {
		here.base = base
	}
	if len(e.interp) == 0 {
		e.interp = []string{lines[5], "-c"}
	}
	if len(cfg.Template.Env) > 0 {
		e.prefix = []string{"env"}
		for _, name := range slices.Sorted(maps.Keys(cfg.Template.Env)) {
			e.prefix = append(e.prefix, name+"="+cfg.Template.Env[name])
		}
	}
	e.base = here.base
	e.files, err = qwen.NewExecutor(ctx, cfg.Sandbox, qwen.ExecutorConfig{Root: dir, Base: here.base, Timeout: cfg.Limits.Command})
	return e, here, err
}

func (e *executor) script(ctx context.Context, script string, args ...string) (qwen.Output, error) {
	return e.sandbox.Run(ctx, qwen.Command{Args: append([]string{"sh", "-c", script, "sh"}, args...)})
}

// do carries one action out. An error means that the sandbox has failed.
func (e *executor) do(ctx context.Context, action qwen.Action) (qwen.Result, error) {
	res, err := e.carry(ctx, action)
	if s := res.Submission; err == nil && s != nil && len(s.Patch) > e.limits.Patch {
		return refused(e.tooLong(len(s.Patch)))
	}
	return res, err
}

func (e *executor) carry(ctx context.Context, action qwen.Action) (qwen.Result, error) {
	run, ok := action.(qwen.Exec)
	if ok {
		return e.exec(ctx, run)
	}
	limited, cancel := context.WithTimeout(ctx, e.limits.Command)
	defer cancel()
	res, err := e.files.Execute(limited, action)
	if err != nil && ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded) {
		return e.stopped(qwen.Output{}), nil
	}
	if err != nil && ctx.Err() == nil && e.alive(ctx) {
		// The model has taken away what its action needs, such as the folder of the repository.
		return qwen.Result{Output: fmt.Appendf(nil, "%v\n", err), ExitCode: 1}, nil
	}
	submit, ok := action.(qwen.Submit)
	if err == nil && ok && res.Submission != nil {
		if res.Submission.Patch, err = e.portable(ctx, e.limits.Command, res.Submission.Patch, submit.Paths); err != nil {
			return refused(err)
		}
	}
	res.Output = e.keep(res.Output)
	return res, err
}

// alive reports whether the sandbox still runs commands.
func (e *executor) alive(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, e.limits.Command)
	defer cancel()
	out, err := e.sandbox.Run(ctx, qwen.Command{Args: []string{"sh", "-c", "echo alive"}, Dir: "/"})
	return err == nil && string(out.Stdout) == "alive\n"
}

// maxArgument is what one argument of a process holds on Linux with pages of 4 KiB.
const maxArgument = 131_071

// exec runs a command of the model. Standard error is among the output, but not in one that
// hands work in: warnings of git are no part of a patch.
func (e *executor) exec(ctx context.Context, a qwen.Exec) (qwen.Result, error) {
	limited, cancel := context.WithTimeout(ctx, e.limits.Command)
	defer cancel()
	mayEnd := e.handIn && !e.anywhere && handsIn(a.Command)
	cmd := qwen.Command{Dir: e.dir, Merge: !mayEnd, Args: slices.Concat(e.prefix, e.interp, []string{a.Command})}
	if len(a.Command) > maxArgument {
		cmd.Args[len(cmd.Args)-1] = `eval "$(cat)"`
		cmd.Stdin = []byte(a.Command)
	}
	out, err := e.sandbox.Run(limited, cmd)
	if err != nil {
		if ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded) {
			return e.stopped(out), nil
		}
		return qwen.Result{}, err
	}
	res := qwen.Result{Output: e.keep(slices.Concat(out.Stdout, out.Stderr)), ExitCode: out.ExitCode}
	if out.Cut {
		res.Note = "the output was longer than the sandbox keeps; a part of it is missing"
	}
	if !mayEnd && !e.anywhere {
		return res, nil
	}
	patch, ok := afterMarker(out.Stdout, out.ExitCode)
	switch {
	case !ok:
		return res, nil
	case out.Cut:
		res.Note = "not submitted: the patch is longer than the sandbox keeps; leave large files out"
		return res, nil
	}
	if mayEnd && len(bytes.TrimSpace(patch)) == 0 {
		patch, err = e.diff(ctx, e.limits.Command)
	} else {
		patch, err = e.printed(ctx, patch)
	}
	if err != nil {
		return refused(err)
	}
	res.Submission = &qwen.Submission{Patch: patch}
	return res, nil
}

// stopped is the result of an action whose time was over.
func (e *executor) stopped(out qwen.Output) qwen.Result {
	return qwen.Result{
		Output: e.keep(slices.Concat(out.Stdout, out.Stderr)), ExitCode: -1,
		Note: fmt.Sprintf("the command was stopped after %v; run what takes longer in parts or in the background", e.limits.Command.Round(time.Millisecond)),
	}
}

// keep bounds an output, by its middle.
func (e *executor) keep(output []byte) []byte {
	if len(output) <= e.limits.Output {
		return output
	}
	half := e.limits.Output / 2
	left := len(output) - 2*half
	return slices.Concat(output[:half], fmt.Appendf(nil, "\n[%d bytes left out]\n", left), output[len(output)-half:])
}
