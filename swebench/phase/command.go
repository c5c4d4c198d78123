package phase

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Grace is how long a process has between SIGTERM and SIGKILL, and again until it must be
// gone.
const Grace = 10 * time.Second

// A Command is the child process of a phase.
type Command struct {
	// Name tells the phase in errors, such as "agent".
	Name string
	Argv []string
	Dir  string
	Env  []string
	// Log takes the output, and is published when the command has ended. It must be set.
	Log *Log
	// Timeout ends the command; 0 means that it may take any time.
	Timeout time.Duration
	// Grace is for tests; 0 means the constant.
	Grace time.Duration
	// Hide makes texts without secrets for errors; nil hides nothing.
	Hide func(string) string
}

// An ExitError tells how a command failed: it could not be started, it returned a code
// other than 0, or it took too long.
type ExitError struct {
	Phase   string
	Command string
	// Code is the exit code; -1 if there is none.
	Code   int
	Reason string
	// Tail is the end of the output, without secrets.
	Tail string
}

func (e *ExitError) Error() string {
	text := fmt.Sprintf("%s phase: %s: %s", e.Phase, e.Command, e.Reason)
	if e.Tail != "" {
		text += "; the end of its output:\n" + e.Tail
	}
	return text
}

// Run runs the command to its end. When ctx ends, or the time is up, its whole process
// group gets SIGTERM, and SIGKILL after the grace period. Whatever of the group is left
// when the command itself has ended is killed too. The error is that of ctx, an
// *[ExitError], or one of the log. No process starts if ctx is over.
func (c Command) Run(ctx context.Context) error {
	err := c.run(ctx)
	if logErr := c.Log.Publish(); err == nil {
		return logErr
	}
	var exit *ExitError
	if errors.As(err, &exit) {
		exit.Tail = c.Log.Tail()
	}
	return err
}

func (c Command) run(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	grace := c.Grace
	if grace == 0 {
		grace = Grace
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		return err
	}
	defer out.Close() //nolint:errcheck // it was only read
	// Not CommandContext: the group is ended as a whole, below.
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...) //nolint:gosec,noctx // the operator's command
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.Dir, c.Env, childOut, childOut
	ownSession(cmd)
	err = cmd.Start()
	_ = childOut.Close()
	if err != nil {
		return c.failed(-1, "it cannot be started: "+err.Error())
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		copyAll(c.Log, out)
	}()
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()

	var timeout <-chan time.Time
	if c.Timeout > 0 {
		timer := time.NewTimer(c.Timeout)
		defer timer.Stop()
		timeout = timer.C
	}
	var waitErr error
	ended := true // by itself
	select {
	case waitErr = <-exited:
	case <-ctx.Done():
		ended, err = false, ctx.Err()
	case <-timeout:
		ended, err = false, c.failed(-1, fmt.Sprintf("it took longer than its limit of %s; raise the limit or send fewer instances", c.Timeout))
	}
	if !ended {
		terminate(cmd.Process)
		if !within(exited, grace) {
			kill(cmd.Process)
			if !within(exited, grace) {
				err = fmt.Errorf("%w (and process %d could not be killed)", err, cmd.Process.Pid)
			}
		}
	}
	// Those that hold the output get what is left of the grace when they were told to end.
	if ended {
		terminate(cmd.Process)
	}
	if !within(drained, min(grace, time.Second)) {
		kill(cmd.Process)
		if !within(drained, grace) { // someone outside of the group holds the output
			_ = out.SetReadDeadline(time.Now())
			<-drained
		}
	}
	kill(cmd.Process) // those that hold nothing
	if err != nil {
		return err
	}
	var exit *exec.ExitError
	switch {
	case errors.As(waitErr, &exit):
		return c.failed(exit.ExitCode(), "it ended with "+exit.String())
	case waitErr != nil:
		return c.failed(-1, waitErr.Error())
	}
	return nil
}

func (c Command) failed(code int, reason string) error {
	command := strings.Join(c.Argv, " ")
	if c.Hide != nil {
		command, reason = c.Hide(command), c.Hide(reason)
	}
	const limit = 500
	if len(command) > limit {
		command = strings.ToValidUTF8(command[:limit], "") + "..."
	}
	return &ExitError{Phase: c.Name, Command: command, Code: code, Reason: reason}
}

// within waits for c, but no longer than d.
func within[T any](c <-chan T, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
		return false
	}
}

// copyAll reads all of out; a fault of the log must not block the child.
func copyAll(log *Log, out *os.File) {
	buf := make([]byte, 32<<10)
	for {
		n, err := out.Read(buf)
		_, _ = log.Write(buf[:n])
		if err != nil {
			return
		}
	}
}
