//go:build !unix

package runner

import "os"

// lockFile opens a file; this system has no locks that end with a process.
func lockFile(name string) (*os.File, bool, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	return f, err == nil, err
}

// shareFile opens a file; whether others have it is not known.
func shareFile(name string, _ func()) (*os.File, error) {
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644) //nolint:gosec // nothing is in it
}
