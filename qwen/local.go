package qwen

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"time"
)

// Local is the [Sandbox] of this machine: no sandbox at all. It is for tests and for
// harnesses that run inside of a container themselves.
type Local struct {
	// Env is the environment; nil means that of this process.
	Env []string
	// MaxOutput bounds what is kept of each stream, in bytes; 0 means 64 MiB. The rest is
	// read and dropped.
	MaxOutput int
}

// Run implements [Sandbox].
func (l Local) Run(ctx context.Context, c Command) (Output, error) {
	if len(c.Args) == 0 {
		return Output{}, errors.New("qwen: local sandbox: the command has no program; set Args")
	}
	limit := l.MaxOutput
	if limit == 0 {
		limit = 64 << 20
	}
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...) //nolint:gosec // running the caller's command is what it is for
	cmd.Dir, cmd.Env = c.Dir, l.Env
	cmd.Stdin = bytes.NewReader(c.Stdin)
	stdout, stderr := &keeper{limit: limit}, &keeper{limit: limit}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if c.Merge {
		cmd.Stderr = stdout
	}
	// Children that outlive the command hold its output open.
	cmd.WaitDelay = time.Second
	ownGroup(cmd)
	err := cmd.Run()
	out := Output{Stdout: stdout.kept, Stderr: stderr.kept, Cut: stdout.cut || stderr.cut, ExitCode: -1}
	ended := false // by itself
	if cmd.ProcessState != nil {
		out.ExitCode, ended = cmd.ProcessState.ExitCode(), cmd.ProcessState.Exited()
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil && !ended:
		return out, ctx.Err()
	case err == nil, errors.As(err, &exit), errors.Is(err, exec.ErrWaitDelay):
		return out, nil
	}
	return out, err
}

// A keeper keeps the beginning of what is written to it.
type keeper struct {
	limit int
	kept  []byte
	cut   bool
}

func (k *keeper) Write(p []byte) (int, error) {
	n := min(len(p), k.limit-len(k.kept))
	k.kept = append(k.kept, p[:n]...)
	k.cut = k.cut || n < len(p)
	return len(p), nil
}
