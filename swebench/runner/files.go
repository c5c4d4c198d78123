package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/homing-go/homing/swebench/internal/atomicfile"
)

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
	return atomicfile.Write(name, append(data, '\n'))
}
