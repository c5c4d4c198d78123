package harness

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/homing-go/homing/swebench/dataset"
	"github.com/homing-go/homing/swebench/redact"
)

// maxNamed is how many instances an error names.
const maxNamed = 10

// An Evaluator grades predictions. It is safe for concurrent use, in different folders.
//
// When the error is not nil the report has what was graded until then.
type Evaluator interface {
	Evaluate(ctx context.Context, predictions map[string]Prediction, run Run) (Report, error)
}

// A Run is one evaluation.
type Run struct {
	// ID names it in files and containers; see [NewRunID]. Where Dir has reports of a run of
	// this ID, it is continued.
	ID string
	// Model names the report's file; "" means the model of the first prediction.
	Model string
	// Rows are the instances that are evaluated, those without a prediction too.
	Rows []dataset.Row
	// Dir takes the report and the logs; it is made if it is missing.
	Dir string
	// Log is where the output of [Official] goes, "" meaning swe_bench_eval.log in Dir.
	Log string
	// Env are further variables, as NAME=value, for child processes of [Official].
	Env []string
	// Redact takes secrets out of logs; nil takes out what looks like one.
	Redact *redact.Redactor
	// Progress hears of each instance that has ended, and from time to time of those that
	// have not; it is called by one goroutine at a time. nil is fine.
	Progress func(Progress)
	// Warn takes warnings, without secrets. nil is fine.
	Warn func(text string)
}

// Progress is how far a run is.
type Progress struct {
	Total, Finished int
	// Running are the instances under way, the oldest first; Oldest is how long that one
	// has been.
	Running []string
	Oldest  time.Duration
}

// NewRunID makes an ID for a [Run].
func NewRunID() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return "endpoints_" + hex.EncodeToString(b[:])
}

// An InputError tells why a run cannot begin. Nothing was started.
type InputError struct {
	Reason string
	// IDs are the instances that it is about, if any.
	IDs []string
}

func (e *InputError) Error() string {
	text := "harness: " + e.Reason
	if len(e.IDs) > 0 {
		text += ": " + named(e.IDs)
	}
	return text
}

func named(ids []string) string {
	text := strings.Join(ids[:min(len(ids), maxNamed)], ", ")
	if more := len(ids) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

var runIDForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`)

// checked returns the run with what was left open, or what is wrong with it.
func (r Run) checked(predictions map[string]Prediction) (Run, error) {
	if !runIDForm.MatchString(r.ID) || strings.Contains(r.ID, "..") {
		return r, &InputError{Reason: fmt.Sprintf("the run's ID is %q, want letters, digits and _ . -, at most 100", r.ID)}
	}
	if r.Dir == "" {
		return r, &InputError{Reason: "the run has no folder; set Dir"}
	}
	known := map[string]bool{}
	for _, row := range r.Rows {
		if known[row.InstanceID] {
			return r, &InputError{Reason: "the run has an instance twice", IDs: []string{row.InstanceID}}
		}
		known[row.InstanceID] = true
	}
	var strange []string
	for _, id := range slices.Sorted(maps.Keys(predictions)) {
		if !known[id] {
			strange = append(strange, id)
		}
		if model := predictions[id].Model; r.Model == "" {
			r.Model = model
		}
		if fault := ModelFault(predictions[id].Model); fault != "" {
			return r, &InputError{Reason: "the model " + fault, IDs: []string{id}}
		}
	}
	if len(strange) > 0 {
		return r, &InputError{Reason: fmt.Sprintf("%d predictions are for instances that are not evaluated", len(strange)), IDs: strange}
	}
	if fault := ModelFault(r.Model); fault != "" {
		return r, &InputError{Reason: "the model " + fault}
	}
	if r.Progress == nil {
		r.Progress = func(Progress) {}
	}
	if r.Warn == nil {
		r.Warn = func(string) {}
	}
	var err error
	if r.Dir, err = filepath.Abs(r.Dir); err != nil {
		return r, err
	}
	return r, nil
}

// ids are the instances of the run, in the order of its rows.
func (r Run) ids() []string {
	ids := make([]string, len(r.Rows))
	for i, row := range r.Rows {
		ids[i] = row.InstanceID
	}
	return ids
}

// ModelFault tells why predictions of a model cannot be graded, whose name is a part of files'
// names with each slash as two underscores; "" if they can.
func ModelFault(model string) string {
	name := modelFile(model)
	if name == "." || name == ".." || len(name) > 200 || strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c == '\\' }) {
		return fmt.Sprintf("%.100q cannot be the name of a folder: at most 200 bytes, no control characters and no backslash", model)
	}
	return ""
}

// modelFile is the name of a model in names of files and folders: requests have the name
// unchanged.
func modelFile(model string) string {
	if model == "" {
		return "None" // as the Python harness has it
	}
	return strings.ReplaceAll(model, "/", "__")
}

// reportName is where the report of a run is.
func (r Run) reportName() string { return filepath.Join(r.Dir, modelFile(r.Model)+"."+r.ID+".json") }
