//go:build unix

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// ownGroup makes the command the head of a process group.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// endGroup ends a process group.
func endGroup(pid int) {
	if pid > 1 {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
}

// endProcess ends one process.
func endProcess(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }

// exitCode is that of the process, as a shell tells it: 128 and the number of the signal.
func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

// isTooLong tells that the arguments were too long for a process of this machine, or of the
// engine's.
func isTooLong(err error) bool {
	if errors.Is(err, syscall.E2BIG) {
		return true
	}
	var engine *EngineError
	return errors.As(err, &engine) && strings.Contains(engine.Stderr, "argument list too long")
}

// ownedByUs tells whether a file belongs to the user of this process.
func ownedByUs(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(stat.Uid) == os.Geteuid()
}

// tryLock locks a file, for all that share its descriptor, until the last of them closes it.
// Whatever is in the way but another lock means that there are none where the file is.
func tryLock(file *os.File) error {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		return errLocked
	}
	return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
}

// freeBytes is what an ordinary user may still write where the path is.
func freeBytes(path string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil //nolint:gosec,unconvert // the types differ between systems; a disk has no 2^63 bytes
}
