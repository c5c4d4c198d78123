package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
)

const (
	// receive writes a file beside the one that is meant.
	receive = `d=${1%/*}; d=${d:-/}
if [ -d "$1" ]; then echo "it is a folder" >&2; exit 1; fi
mkdir -p "$d" && cat >"$d/.homing-$2"`
	// settle puts it in its place.
	settle = `d=${1%/*}; d=${d:-/}; chmod "$3" "$d/.homing-$2" && mv -f "$d/.homing-$2" "$1"`
	// discard removes it.
	discard = `d=${1%/*}; rm -f "${d:-/}/.homing-$2"`
	// deliver prints a file after a letter that says that there is one.
	deliver = `if [ -d "$1" ]; then exit 4; elif [ ! -e "$1" ]; then exit 3; elif [ ! -f "$1" ]; then exit 6; elif [ ! -r "$1" ]; then exit 5; fi
printf f; exec cat <"$1"`
)

// copyKeep is what is kept of the output of a copy: its complaints.
const copyKeep = 4 << 10

// script runs a script of this package.
func (r *runner) script(ctx context.Context, stdin io.Reader, text string, args ...string) (Result, error) {
	c, err := Command{Args: append([]string{"/bin/sh", "-c", text, "sh"}, args...), Stdin: stdin, Dir: "/"}.resolved("/")
	if err != nil {
		return Result{}, err
	}
	return r.execute(ctx, c, copyKeep, maxRead)
}

// CopyIn implements [Sandbox].
func (r *runner) CopyIn(ctx context.Context, name string, content io.Reader, mode fs.FileMode) error {
	name = r.abs(name)
	nonce := newNonce()
	source := &source{r: content}
	res, err := r.script(ctx, source, receive, name, nonce)
	if source.err != nil {
		err = source.err
	}
	if err == nil && res.ExitCode == 0 {
		if mode.Perm() == 0 {
			mode = 0o644
		}
		res, err = r.script(ctx, nil, settle, name, nonce, fmt.Sprintf("%04o", mode.Perm()))
	}
	if err == nil && res.ExitCode == 0 {
		return nil
	}
	if !errors.Is(err, ErrGone) {
		_, _ = r.script(context.WithoutCancel(ctx), nil, discard, name, nonce)
	}
	if err == nil {
		err = fmt.Errorf("exit code %d: %s", res.ExitCode, lastWords(res.Stderr.Bytes()))
	}
	return fmt.Errorf("sandbox: %q was not copied in: %w", name, err)
}

// A source remembers how reading ended: to the process that reads, a failure is an end.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// CopyOut implements [Sandbox].
func (r *runner) CopyOut(ctx context.Context, name string) (io.ReadCloser, error) {
	name = r.abs(name)
	c, err := Command{Args: []string{"/bin/sh", "-c", deliver, "sh", name}, Dir: "/"}.resolved("/")
	if err != nil {
		return nil, err
	}
	reading, cancel := context.WithCancel(ctx)
	read, write := io.Pipe()
	c.Tee = write
	out := &outgoing{PipeReader: read, cancel: cancel, done: make(chan struct{})}
	go func() { // ends when the file does or when it is closed
		defer close(out.done)
		res, err := r.execute(reading, c, copyKeep, 1<<62)
		if err == nil && res.ExitCode != 0 {
			switch res.ExitCode {
			case 3:
				err = fs.ErrNotExist
			case 4:
				err = errors.New("it is a folder")
			case 5:
				err = fs.ErrPermission
			case 6:
				err = errors.New("it is not a file that has an end")
			default:
				err = fmt.Errorf("exit code %d: %s", res.ExitCode, lastWords(res.Stderr.Bytes()))
			}
		}
		if err != nil {
			err = fmt.Errorf("sandbox: %q was not copied out: %w", name, err)
		}
		_ = write.CloseWithError(err)
	}()
	var first [1]byte
	if _, err := io.ReadFull(read, first[:]); err != nil {
		_ = out.Close()
		return nil, err
	}
	return out, nil
}

// outgoing is a file on its way out.
type outgoing struct {
	*io.PipeReader

	cancel context.CancelFunc
	done   chan struct{}
}

// Close ends the copy and waits for its end.
func (o *outgoing) Close() error {
	o.cancel()
	err := o.PipeReader.Close()
	<-o.done
	return err
}

// abs is the path from the root of the sandbox, so that it is never taken for a flag.
func (r *runner) abs(name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(r.dir, name)
}
