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

// shareFile opens a file for several processes, until it is closed or they end. alone is called
// first if there is no other one, and none comes in meanwhile.
func shareFile(name string, alone func()) (*os.File, error) {
	f, ok, err := lockFile(name)
	switch {
	case err != nil:
		return nil, err
	case ok:
		alone()
	default:
		if f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644); err != nil { //nolint:gosec // nothing is in it
			return nil, err
		}
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
