package agent

import (
	"errors"
	"fmt"
)

// A ConfigError names the setting that cannot be used, and why. Nothing was sent and nothing
// was run.
type ConfigError struct {
	// Field is the setting, such as "Limits.Steps" or "agent.system_template".
	Field, Reason string
}

func (e *ConfigError) Error() string { return fmt.Sprintf("agent: config: %s: %s", e.Field, e.Reason) }

// A JournalError tells why a journal cannot be read or written.
type JournalError struct {
	// Path is the file; "" for a journal that is none.
	Path string
	// Line is the line at fault, from 1; 0 if it is the file as a whole.
	Line int
	Err  error
}

func (e *JournalError) Error() string {
	switch {
	case e.Path == "":
		return fmt.Sprintf("agent: journal: %v", e.Err)
	case e.Line == 0:
		return fmt.Sprintf("agent: journal %s: %v", e.Path, e.Err)
	}
	return fmt.Sprintf("agent: journal %s: line %d: %v", e.Path, e.Line, e.Err)
}

// Unwrap returns the cause.
func (e *JournalError) Unwrap() error { return e.Err }

var errNotAJournal = errors.New("it does not begin with the start of a trajectory; give a file that OpenJournal wrote")
