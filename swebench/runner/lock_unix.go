//go:build unix

package runner

import (
	"errors"
	"os"
	"syscall"
)

// lockFile opens a file for one process; false if another one has it. The lock ends with the
// file, or with the process.
func lockFile(name string) (*os.File, bool, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644) //nolint:gosec // nothing is in it
	if err != nil {
		return nil, false, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, true, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, false, nil
	}
	return nil, false, err
}
