//go:build unix

package dataset

import (
	"context"
	"os"
	"syscall"
	"time"
)

// lockFile opens a file for one process at a time; the lock ends with the file. It waits
// for the process that has it.
func lockFile(ctx context.Context, name string) (*os.File, error) {
	for {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644) //nolint:gosec // a cache
		if err != nil {
			return nil, err
		}
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			mine, errMine := f.Stat()
			now, errNow := os.Stat(name)
			if errMine == nil && errNow == nil && os.SameFile(mine, now) {
				return f, nil
			}
			// It was renamed to its place in between.
			_ = f.Close()
			if errMine != nil {
				return nil, errMine
			}
			continue
		}
		_ = f.Close()
		if err != syscall.EWOULDBLOCK { //nolint:errorlint // as the system returns it
			return nil, err
		}
		timer := time.NewTimer(50 * time.Millisecond)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		}
	}
}
