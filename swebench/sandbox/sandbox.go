package sandbox

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	"github.com/homing-go/homing/qwen"
)

// ErrGone says that a sandbox is dead or was removed: nothing will run in it any more. What
// happened to it is in the text that it is wrapped in.
var ErrGone = errors.New("the sandbox is gone")

// A Sandbox is one place in which the commands of one task run. Its methods may be called by
// several goroutines at once.
//
// Run returns an error only when ctx is done or the place itself has failed: whatever a
// command does, exit codes, a missing program and a missing folder included, is an
// [qwen.Output]. An error that is not the context's therefore means infrastructure, and one
// that is [ErrGone] means that there is no use in trying again. When ctx is done, no process of
// the command is left, neither one that ignores signals nor one in a session of its own.
//
// A command that removes or breaks the shell has done so itself: the commands after it have the
// exit code 127 and are told why.
//
// Run returns when the command's first process has ended. Output that children of it hold open
// is read for about a second more, with an engine for as long as its client does, which with
// Docker is some seconds; what comes later is lost. Without input a command reads nothing, and
// there is no terminal.
//
// Each stream of the output is kept up to a limit, from there on as head and tail: in the
// middle is a line that names the number of bytes left out, and Cut is true.
type Sandbox interface {
	qwen.Sandbox
	// ID identifies the sandbox for Attach and Remove, also in a later process.
	ID() string
	// CopyIn writes a file, and the folders above it. The file is replaced as a whole; when
	// content fails it is as it was. The path may hold any byte but NUL. Folders on it may be
	// links, which lead where they lead a command of the sandbox, with [Local] also out of the
	// copy; a file that is a link is replaced, and what it leads to stays as it is.
	CopyIn(ctx context.Context, path string, content io.Reader, mode fs.FileMode) error
	// CopyOut reads a file, through links as a command of the sandbox would. The caller closes
	// it; an error wraps [fs.ErrNotExist] if there is no such file. Pipes and devices are
	// refused. How much is read is the caller's business.
	CopyOut(ctx context.Context, path string) (io.ReadCloser, error)
	// Stop ends what runs and removes the sandbox, also when ctx is done. A second Stop does
	// nothing.
	Stop(ctx context.Context) error
}

// A Runtime makes sandboxes of one kind. It is safe for concurrent use.
type Runtime interface {
	// Prepare makes sure that the images are here, before any clock starts. An [*ImageError]
	// lists those that are not, a [*DiskError] says that there is no room to fetch them.
	Prepare(ctx context.Context, images ...string) error
	// Start makes a sandbox. An error that is a [*StartError] proves that no command began.
	Start(ctx context.Context, spec Spec) (Sandbox, error)
	// Attach returns a sandbox that an earlier process made, or an error that is [ErrGone].
	// Before it returns, all that runs in the sandbox is ended, so that a command that lost its
	// process in the middle does not go on beside new ones. What commands left in the background
	// is ended too: nothing tells it apart. So a sandbox is for one process at a time. Files
	// are not touched.
	Attach(ctx context.Context, id string) (Sandbox, error)
	// List returns the sandboxes that have all these labels, running or not; without labels
	// all that this package made.
	List(ctx context.Context, labels map[string]string) ([]Info, error)
	// Remove ends and removes sandboxes. One that is not there is no error.
	Remove(ctx context.Context, ids ...string) error
}

// Info describes a sandbox.
type Info struct {
	ID, Name, Image string
	Labels          map[string]string
	Running         bool
	Created         time.Time
}

// Dir is the folder in which commands of the sandbox start, as they see it. It is what
// [Spec.Dir] says, except for [Local], where it is the working copy. It is "" for a sandbox of
// a type that has no method Dir.
func Dir(s Sandbox) string {
	if d, ok := s.(interface{ Dir() string }); ok {
		return d.Dir()
	}
	return ""
}

// Sweep removes the sandboxes that have all these labels, except those that keep wants, and
// returns what it removed. Call it before a run begins, for what an earlier process that was
// killed has left behind.
func Sweep(ctx context.Context, r Runtime, labels map[string]string, keep func(Info) bool) ([]Info, error) {
	found, err := r.List(ctx, labels)
	if err != nil {
		return nil, err
	}
	var doomed []Info
	var ids []string
	for _, info := range found {
		if keep == nil || !keep(info) {
			doomed, ids = append(doomed, info), append(ids, info.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	if err := r.Remove(ctx, ids...); err != nil {
		return nil, err
	}
	return doomed, nil
}
