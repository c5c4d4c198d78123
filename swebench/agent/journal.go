package agent

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// A Journal keeps the steps of one trajectory. Append returns when a crash cannot take the
// step any more; its error ends the trajectory.
type Journal interface {
	Append(Step) error
}

// maxJournalLine bounds one step on disk.
const maxJournalLine = 256 << 20

// A FileJournal is a [Journal] in a file: JSON Lines, a line a step, each on the disk before
// Append returns. It is safe for concurrent use, and belongs to one process.
type FileJournal struct {
	path    string
	past    []Step
	dropped int

	mu   sync.Mutex
	file *os.File
	err  error // of the last write: what follows would stand behind half a line
}

// OpenJournal opens the journal of a trajectory, or begins one. What an earlier execution
// left is in [FileJournal.Past]. A last line that was not written to its end is cut off; see
// [FileJournal.Dropped]. The error is a *[JournalError].
func OpenJournal(path string) (*FileJournal, error) {
	fail := func(err error) (*FileJournal, error) { return nil, &JournalError{Path: path, Err: err} }
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // it is the caller's path
	if err != nil {
		return fail(err)
	}
	j := &FileJournal{path: path, file: file}
	size, err := j.read()
	if err == nil {
		err = j.cut(size)
	}
	if err != nil {
		_ = file.Close()
		var own *JournalError
		if errors.As(err, &own) {
			return nil, err
		}
		return fail(err)
	}
	return j, nil
}

// read reads the whole steps and returns where they end.
func (j *FileJournal) read() (size int64, err error) {
	reader := bufio.NewReaderSize(j.file, 64<<10)
	var bad error // the line at which size stands; it may be the last only
	for line := 1; ; line++ {
		text, err := readLine(reader)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, &JournalError{Path: j.path, Line: line, Err: err}
		}
		if len(text) == 0 {
			return size, nil
		}
		if bad != nil {
			return 0, &JournalError{Path: j.path, Line: line - 1, Err: fmt.Errorf("it is damaged, and steps follow: %w", bad)}
		}
		var step Step
		if bad = json.Unmarshal(text, &step); bad == nil && (err != nil || !step.whole()) {
			bad = errors.New("it is no step")
		}
		if bad != nil {
			j.dropped = len(text)
			continue
		}
		if (line == 1) != (step.Start != nil) {
			return 0, &JournalError{Path: j.path, Line: line, Err: errNotAJournal}
		}
		if line == 1 && step.Start.Version != journalVersion {
			return 0, &JournalError{Path: j.path, Line: line, Err: fmt.Errorf("its version is %d, and this program reads %d", step.Start.Version, journalVersion)}
		}
		j.past = append(j.past, step)
		size += int64(len(text))
	}
}

func (s *Step) whole() bool {
	n := 0
	for _, set := range []bool{s.Start != nil, s.Answer != nil, s.Result != nil, s.Exit != nil} {
		if set {
			n++
		}
	}
	return n == 1
}

// readLine returns a line with its end, or what is left with io.EOF.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxJournalLine:
			return nil, fmt.Errorf("it is longer than %d bytes", maxJournalLine)
		case errors.Is(err, bufio.ErrBufferFull):
		default:
			return line, err
		}
	}
}

// cut takes away what is behind the last whole step, and makes the file itself last.
func (j *FileJournal) cut(size int64) error {
	if j.dropped > 0 {
		if err := j.file.Truncate(size); err != nil {
			return err
		}
	}
	if _, err := j.file.Seek(size, io.SeekStart); err != nil {
		return err
	}
	if err := j.file.Sync(); err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(j.path))
	if err != nil {
		return err
	}
	defer folder.Close() //nolint:errcheck // it was only read
	return folder.Sync()
}

// Past returns the steps that were there when the journal was opened, for [Replay]. They
// must not be changed.
func (j *FileJournal) Past() []Step { return j.past }

// Dropped returns how many bytes of a half-written last line were cut off; 0 is none.
func (j *FileJournal) Dropped() int { return j.dropped }

// Append implements [Journal].
func (j *FileJournal) Append(step Step) error {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(step); err != nil {
		return &JournalError{Path: j.path, Err: err}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return j.err
	}
	if line.Len() > maxJournalLine {
		return &JournalError{Path: j.path, Err: fmt.Errorf("a step of %d bytes is longer than %d bytes", line.Len(), maxJournalLine)}
	}
	_, err := j.file.Write(line.Bytes())
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		j.err = &JournalError{Path: j.path, Err: err}
	}
	return j.err
}

// Close closes the file.
func (j *FileJournal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil {
		j.err = &JournalError{Path: j.path, Err: os.ErrClosed}
	}
	return j.file.Close()
}

// ReadJournal returns the steps of a journal without changing it, for [WriteTrajectory]. A
// half-written last line is left out.
func ReadJournal(path string) ([]Step, error) {
	file, err := os.Open(path) //nolint:gosec // it is the caller's path
	if err != nil {
		return nil, &JournalError{Path: path, Err: err}
	}
	defer file.Close() //nolint:errcheck // it was only read
	j := &FileJournal{path: path, file: file}
	if _, err := j.read(); err != nil {
		return nil, err
	}
	return j.past, nil
}

// A MemoryJournal keeps the steps in memory, for tests and for trajectories that need not
// outlive the process. The zero value works. It is safe for concurrent use.
type MemoryJournal struct {
	mu    sync.Mutex
	steps []Step
}

// Append implements [Journal].
func (j *MemoryJournal) Append(step Step) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.steps = append(j.steps, step)
	return nil
}

// Steps returns what was appended.
func (j *MemoryJournal) Steps() []Step {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]Step(nil), j.steps...)
}
