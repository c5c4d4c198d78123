package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// writeFile replaces a file, so that a reader, or a restart, sees the old or the new content
// and nothing between.
func writeFile(name string, data []byte) (err error) {
	dir := filepath.Dir(name)
	f, err := os.CreateTemp(dir, "."+filepath.Base(name)+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(data); err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return err
	}
	return syncFolder(dir)
}

func syncFolder(name string) error {
	dir, err := os.Open(name) //nolint:gosec // in the output folder
	if err != nil {
		return err
	}
	_ = dir.Sync() // some file systems cannot; the rename has happened
	return dir.Close()
}

// readFile reads a file of at most limit bytes; nil if it does not exist.
func readFile(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name) //nolint:gosec // in the output folder
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s: it has more than %d bytes, which is the limit", name, limit)
	}
	return data, err
}

// maxState bounds run.json and state.json.
const maxState = 1 << 20

// readJSON reads a file into value; false if it does not exist.
func readJSON(name string, value any) (bool, error) {
	data, err := readFile(name, maxState)
	if err != nil || data == nil {
		return false, err
	}
	if err := json.Unmarshal(data, value); err != nil {
		return false, fmt.Errorf("%s cannot be read: %w; take it away to begin anew", name, err)
	}
	return true, nil
}

func writeJSON(name string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(name, append(data, '\n'))
}

// sweepTemporary removes what a killed process has left half written.
func sweepTemporary(dir string) {
	entries, _ := os.ReadDir(dir) // what is not there needs no sweeping
	for _, entry := range entries {
		if name := entry.Name(); strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".tmp") {
			_ = os.Remove(filepath.Join(dir, name))
		}
	}
}
