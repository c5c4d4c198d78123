package sandbox

import (
	"fmt"
	"strings"
)

// A StartError says that a sandbox could not be started: the command of the task never began,
// so that starting again does the work only once.
type StartError struct {
	Image string // or the root folder
	Err   error
}

// Error names the image and the cause.
func (e *StartError) Error() string {
	return fmt.Sprintf("sandbox: %q did not start: %v", e.Image, e.Err)
}

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// An ImageError lists the images that Prepare could not get.
type ImageError struct{ Missing []MissingImage }

// A MissingImage is one of them, and why.
type MissingImage struct {
	Image string
	Err   error
}

// Error names at most 10 of the images.
func (e *ImageError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "sandbox: %d images are missing and could not be fetched:", len(e.Missing))
	for i, m := range e.Missing {
		if i == 10 {
			fmt.Fprintf(&b, " and %d more", len(e.Missing)-i)
			break
		}
		fmt.Fprintf(&b, " %q (%v)", m.Image, m.Err)
	}
	return b.String()
}

// Unwrap returns the causes.
func (e *ImageError) Unwrap() []error {
	errs := make([]error, len(e.Missing))
	for i, m := range e.Missing {
		errs[i] = m.Err
	}
	return errs
}

// A DiskError says that there is no room for the images that are missing.
type DiskError struct {
	Path       string
	Free, Need int64 // bytes
	Images     int
}

// Error says what is there, what is needed, and what to do.
func (e *DiskError) Error() string {
	return fmt.Sprintf("sandbox: %s has %d MiB free, %d missing images need %d MiB: free some, or lower DockerConfig.MinFree or ImageBytes",
		e.Path, e.Free>>20, e.Images, e.Need>>20)
}

// An EngineError says that the program that runs sandboxes failed; the sandbox may be alive.
type EngineError struct {
	Op       string // what was asked for
	ExitCode int    // of the program; -1 when it did not end by itself
	Stderr   string // its last words
	Err      error  // may be nil
}

// Error names the operation, the exit code and the last words.
func (e *EngineError) Error() string {
	text := fmt.Sprintf("sandbox: %s failed with exit code %d", e.Op, e.ExitCode)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if e.Stderr != "" {
		text += ": " + e.Stderr
	}
	return text
}

// Unwrap returns the cause.
func (e *EngineError) Unwrap() error { return e.Err }

// lastWords is the end of what a program said, in one line.
func lastWords(text []byte) string {
	s := strings.Join(strings.Fields(strings.ToValidUTF8(string(text), "\uFFFD")), " ")
	if len(s) > 600 {
		s = "..." + strings.ToValidUTF8(s[len(s)-600:], "")
	}
	return s
}
