package phase

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/homing-go/homing/swebench/internal/atomicfile"
	"github.com/homing-go/homing/swebench/redact"
)

// Limits of a log: what the file holds, and what an error shows of its end.
const (
	MaxLogBytes  = 64 << 20
	maxTailBytes = 64 << 10
	maxTailLines = 50
)

// A Log is the log of a phase. Secrets are taken out before anything is written, so
// that not even a crash leaves one on disk. Until Publish the file has a hidden name.
// A log is safe for concurrent use.
type Log struct {
	name string // where it will be

	mu      sync.Mutex
	clean   *redact.Writer
	file    *os.File
	written int
	tail    []byte
}

// Create starts the log that will have this name. With resume it goes on behind what an
// earlier process left there.
func Create(name string, r *redact.Redactor, resume bool) (*Log, error) {
	l := &Log{name: name}
	flags := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if !resume {
		flags |= os.O_TRUNC
	} else if old, err := atomicfile.Open(name); err == nil {
		err = l.copyOld(old)
		if err = errors.Join(err, old.Close()); err != nil {
			return nil, err
		}
	}
	var err error
	if l.file, err = os.OpenFile(l.hidden(), flags, 0o644); err != nil { //nolint:gosec // operators read logs
		return nil, err
	}
	l.clean = r.Writer(sink{l})
	if info, err := l.file.Stat(); err == nil && info.Size() > 0 {
		l.written = int(info.Size())
		_, _ = io.WriteString(sink{l}, "\n[the service was restarted]\n")
	}
	return l, nil
}

// copyOld makes what was published the beginning of the hidden file, unless a later
// attempt has left one.
func (l *Log) copyOld(old io.Reader) error {
	f, err := os.OpenFile(l.hidden(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644) //nolint:gosec // operators read logs
	if errors.Is(err, os.ErrExist) {
		return nil
	} else if err != nil {
		return err
	}
	_, err = io.Copy(f, io.LimitReader(old, MaxLogBytes))
	return errors.Join(err, f.Close())
}

func (l *Log) hidden() string { return hidden(l.name) }

func hidden(name string) string {
	return filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+".part")
}

// PublishLeft gives the log that a killed process has left its name. Where there is none
// it does nothing.
func PublishLeft(name string) error {
	if err := atomicfile.Rename(hidden(name), name); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Write takes raw output. It reports no fault of the disk, which must not end the child:
// Publish does.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.clean == nil {
		return 0, os.ErrClosed
	}
	return l.clean.Write(p)
}

// Publish ends the log and gives the file its name. A second call does nothing.
func (l *Log) Publish() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.clean == nil {
		return nil
	}
	err := l.clean.Flush()
	l.clean = nil
	if l.written > MaxLogBytes {
		_, cutErr := fmt.Fprintf(l.file, "\n[the log was cut here: %d bytes is the limit]\n", MaxLogBytes)
		err = errors.Join(err, cutErr)
	}
	if err = errors.Join(err, l.file.Sync(), l.file.Close()); err != nil {
		return fmt.Errorf("log %s: %w", filepath.Base(l.name), err)
	}
	return atomicfile.Rename(l.hidden(), l.name)
}

// Tail returns the last 50 lines of at most the last 64 KiB, without secrets. Call it
// after Publish to have all of them.
func (l *Log) Tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := strings.Split(strings.TrimRight(string(bytes.ToValidUTF8(l.tail, []byte("\ufffd"))), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-maxTailLines):], "\n")
}

// sink is where the clean output of a log goes.
type sink struct{ l *Log }

func (s sink) Write(p []byte) (int, error) {
	l := s.l
	l.tail = append(l.tail, p...)
	if n := len(l.tail) - maxTailBytes; n > 0 {
		l.tail = append(l.tail[:0], l.tail[n:]...)
	}
	if room := max(0, MaxLogBytes-l.written); room > 0 {
		if _, err := l.file.Write(p[:min(len(p), room)]); err != nil {
			return 0, err
		}
	}
	l.written += len(p)
	return len(p), nil
}
