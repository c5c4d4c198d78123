// Package atomicfile replaces files so that a reader, or a restart, sees the old or the
// new content and nothing between.
package atomicfile

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Write replaces the file name by data: a temporary file in the same folder, synced and
// renamed, and the folder synced.
func Write(name string, data []byte) error { return write(name, data, true, 0o644) }

// WritePrivate is Write of a file that only its user may read.
func WritePrivate(name string, data []byte) error { return write(name, data, true, 0o600) }

// Replace is Write without syncing: the file survives the end of the process, but maybe
// not that of the machine.
func Replace(name string, data []byte) error { return write(name, data, false, 0o644) }

func write(name string, data []byte, sync bool, mode os.FileMode) (err error) {
	dir := filepath.Dir(name)
	f, err := os.CreateTemp(dir, "."+filepath.Base(name)+".*.tmp")
	if err != nil {
		return err
	}
	temp := f.Name()
	defer func() {
		if err != nil {
			_ = os.Remove(temp)
		}
	}()
	if _, err = f.Write(data); err == nil {
		err = f.Chmod(mode)
	}
	if err == nil && sync {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	if !sync {
		return os.Rename(temp, name)
	}
	return Rename(temp, name)
}

// Sweep removes what a killed process has left half written in a folder. Nobody may write
// there meanwhile.
func Sweep(dir string) {
	entries, _ := os.ReadDir(dir) // what is not there needs no sweeping
	for _, entry := range entries {
		if name := entry.Name(); IsTemp(name) {
			_ = os.Remove(filepath.Join(dir, name))
		}
	}
}

// IsTemp reports whether a file of this name is one that is being written.
func IsTemp(name string) bool { return strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".tmp") }

// Rename moves a finished file to its place and syncs the folder.
func Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(to))
	if err != nil {
		return err
	}
	_ = dir.Sync() // some file systems cannot; the rename has happened
	return dir.Close()
}

// Read reads a regular file of at most limit bytes, and no link to one.
func Read(name string, limit int64) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	return readAll(f, limit)
}

// ReadThrough reads what name leads to, a file, a link or a pipe, of at most limit bytes.
func ReadThrough(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name) //nolint:gosec // the caller's file
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	return readAll(f, limit)
}

func readAll(f *os.File, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s: it has more than %d bytes, which is the limit", filepath.Base(f.Name()), limit)
	}
	return data, err
}

// Open opens a regular file for reading. What is a link, a pipe or a folder is refused
// with an error for which errors.Is(err, os.ErrNotExist) holds.
func Open(name string) (*os.File, error) {
	for {
		before, err := os.Lstat(name)
		if err != nil {
			return nil, err
		}
		if !before.Mode().IsRegular() {
			return nil, fmt.Errorf("%s: not a regular file: %w", filepath.Base(name), os.ErrNotExist)
		}
		f, err := os.OpenFile(name, os.O_RDONLY|nonblock, 0) //nolint:gosec // the caller's file
		if err != nil {
			return nil, err
		}
		after, err := f.Stat()
		if err == nil && os.SameFile(before, after) {
			return f, nil
		}
		_ = f.Close()
		if err != nil {
			return nil, err
		}
		// It was replaced in between: look again.
	}
}
