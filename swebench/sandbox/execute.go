package sandbox

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// defaultOutput is what is kept of a stream.
	defaultOutput = 16 << 20
	// maxRead is what a command may print before it is ended.
	maxRead = 1 << 30
	// endTime bounds the ending of a command.
	endTime = 20 * time.Second
	// drainTime is what is left for the output to arrive after that, and after a command that
	// left children behind which hold its output open.
	drainTime = time.Second
)

// A place is where the wrapper is run, and how it is ended.
type place interface {
	// process is the process of this machine that runs the wrapper.
	process(j *job, c Command) (args, env []string)
	// end ends the command with all its children.
	end(ctx context.Context, j *job)
	// fault tells whether the place failed rather than the command, which ended by itself.
	fault(ctx context.Context, j *job, code int, stderr []byte) error
	// clear makes room in a place that is too full for a command to begin, if it can.
	clear(ctx context.Context) bool
}

// A job is one process that runs one command.
type job struct {
	*greeter

	pid   int
	merge bool
	ended atomic.Bool // not by itself
}

var errFlooded = errors.New("sandbox: the command printed too much")

// A runner runs the commands of one sandbox.
type runner struct {
	place  place
	dir    string
	output int // kept of each stream

	mu      sync.Mutex
	gone    error // why nothing runs any more
	cancels map[*job]context.CancelCauseFunc
	idle    sync.WaitGroup
}

// Dir is the folder in which commands start.
func (r *runner) Dir() string { return r.dir }

// Exec runs a command; see the function of this name.
func (r *runner) Exec(ctx context.Context, c Command) (Result, error) {
	c, err := c.resolved(r.dir)
	if err != nil {
		return Result{ExitCode: -1}, err
	}
	keep := r.output
	if keep == 0 {
		keep = defaultOutput
	}
	return r.execute(ctx, c, keep, maxRead)
}

// execute runs a command, a second time if it is proven not to have begun, by what the engine
// says of it, and the place has been cleared. That nothing at all was said is no proof: the
// output may be lost.
func (r *runner) execute(ctx context.Context, c Command, keep int, read int64) (Result, error) {
	res, began, err := r.once(ctx, c, keep, read)
	var refusal *EngineError
	if began || ctx.Err() != nil || !errors.As(err, &refusal) || refusal.Stderr == "" {
		return res, err
	}
	if c.Stdin != nil {
		s, ok := c.Stdin.(io.Seeker)
		if !ok {
			return res, err
		}
		if _, serr := s.Seek(0, io.SeekStart); serr != nil {
			return res, err
		}
	}
	if !r.place.clear(ctx) {
		return res, err
	}
	res, _, err = r.once(ctx, c, keep, read)
	return res, err
}

func (r *runner) once(ctx context.Context, c Command, keep int, read int64) (res Result, began bool, err error) {
	res.ExitCode = -1
	if err := ctx.Err(); err != nil {
		return res, false, err
	}
	limited, done := c.within(ctx)
	defer done()
	running, cancel := context.WithCancelCause(limited)
	defer cancel(nil)

	f := &flood{left: read, over: func() { cancel(errFlooded) }}
	half := max(keep/2, 1)
	stdout := &keeper{half: half, tee: c.Tee, flood: f}
	stderr := &keeper{half: half, flood: f}
	words := &keeper{half: copyKeep, flood: f} // what an engine says in place of output
	j := &job{greeter: &greeter{nonce: newNonce(), next: stdout, other: words, began: make(chan struct{})}, merge: c.Merge}
	leave, err := r.enter(j, cancel)
	if err != nil {
		return res, false, err
	}
	defer leave()

	if w, ok := c.Tee.(*io.PipeWriter); ok { // whoever should read may have left
		stop := context.AfterFunc(running, func() { _ = w.CloseWithError(context.Cause(running)) })
		defer stop()
	}
	args, env := r.place.process(j, c)
	cmd := exec.CommandContext(running, args[0], args[1:]...) //nolint:gosec // running commands is what it is for
	cmd.Env, cmd.Dir = env, "/"
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, j, stderr
	cmd.WaitDelay = drainTime
	ownGroup(cmd)
	cmd.Cancel = func() error {
		j.ended.Store(true)
		j.pid = cmd.Process.Pid // only here, where no other goroutine looks
		end, done := context.WithTimeout(context.WithoutCancel(ctx), endTime)
		defer done()
		r.place.end(end, j)
		return nil
	}
	if err = cmd.Start(); err == nil {
		err = cmd.Wait()
	}
	res.Stdout, res.Stderr = stdout.printed(), stderr.printed()
	began = j.hasBegun()
	if cmd.ProcessState == nil {
		return res, began, r.unstarted(ctx, &res, c, err)
	}
	if j.ended.Load() {
		return res, began, r.cutShort(ctx, running, &res)
	}
	res.ExitCode = exitCode(cmd.ProcessState)
	said := stderr.printed().Bytes()
	if !began {
		j.flush()
		said = append(said, words.printed().Bytes()...)
	}
	if err := r.place.fault(ctx, j, res.ExitCode, said); err != nil {
		switch {
		case isTooLong(err):
			tooLong(&res, c)
			return res, began, nil
		case !began && isShellGone(err, c):
			shellGone(&res, c, err)
			return res, began, nil
		}
		res.ExitCode = -1
		return res, began, err
	}
	return res, began, nil
}

// unstarted is for a process that could not be made.
func (r *runner) unstarted(ctx context.Context, res *Result, c Command, err error) error {
	switch {
	case isTooLong(err):
		tooLong(res, c)
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return &EngineError{Op: "starting a command", ExitCode: -1, Err: err}
}

// cutShort says why a command was ended.
func (r *runner) cutShort(ctx, running context.Context, res *Result) error {
	cause := context.Cause(running)
	switch {
	case errors.Is(cause, ErrGone):
		return cause
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(cause, errFlooded):
		res.Flooded = true
	default:
		res.TimedOut = true
	}
	return nil
}

// enter counts a job in, unless the sandbox is gone.
func (r *runner) enter(j *job, cancel context.CancelCauseFunc) (leave func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone != nil {
		return nil, r.gone
	}
	if r.cancels == nil {
		r.cancels = map[*job]context.CancelCauseFunc{}
	}
	r.cancels[j] = cancel
	r.idle.Add(1)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.cancels, j)
		r.idle.Done()
	}, nil
}

// others are the nonces of the jobs besides this one.
func (r *runner) others(j *job) (nonces []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for other := range r.cancels {
		if other != j {
			nonces = append(nonces, other.nonce)
		}
	}
	return nonces
}

// close notes that the sandbox is gone and why, unless it was before, and ends what runs.
func (r *runner) close(why string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone == nil {
		r.gone = goneError(why)
	}
	for _, cancel := range r.cancels {
		cancel(r.gone)
	}
	return r.gone
}

func (r *runner) closed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.gone != nil
}

func goneError(why string) error { return fmt.Errorf("sandbox: %s: %w", why, ErrGone) }

func newNonce() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
