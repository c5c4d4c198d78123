//go:build unix

package service

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lockRoot makes sure that no other service works in root. The lock ends with the process.
func lockRoot(root string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(root, ".lock"), os.O_CREATE|os.O_RDWR, 0o644) //nolint:gosec // nothing is in it
	if err != nil {
		return nil, fmt.Errorf("service: artifact root: %w", err)
	}
	for range 40 { // the one before may be about to end
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("service: artifact root %s: another service uses it (%w); stop that one or choose another folder", root, err)
	}
	return f, nil
}
