package harness

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/homing-go/homing/internal/rawjson"
)

// maxTail is how much of a log is searched for what went wrong.
const maxTail = 256 << 10

// What logs of the Python harness say of errors that are the patch's own.
var (
	markPatch   = []byte(">>>>> Patch Apply Failed")
	markTimeout = []byte("Timeout error:") // in the tests' output
	markLate    = []byte("Test timed out after")
)

// verdict reads the report of an instance.
func verdict(dir, id string) (resolved, ok bool) {
	data, err := readFile(filepath.Join(dir, fileReport), maxReport)
	if err != nil || rawjson.Valid(data) != nil || rawjson.Kind(data) != '{' {
		return false, false
	}
	entry := rawjson.Get(data, id)
	if rawjson.Kind(entry) != '{' {
		return false, false
	}
	switch string(rawjson.Get(entry, "resolved")) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

// stale removes reports of instances that were made for another patch than the one that is
// to be graded: they would be taken for reports of this one.
func (r Run) stale(predictions map[string]Prediction) error {
	for id, p := range predictions {
		for _, dir := range r.instanceDirs(p.Model, id) {
			report := filepath.Join(dir, fileReport)
			if _, err := os.Lstat(report); err != nil {
				continue
			}
			patch, err := readFile(filepath.Join(dir, filePatch), MaxPredictions)
			_, whole := verdict(dir, id)
			if err == nil && whole && (patch == nil || string(patch) == p.Patch) {
				continue
			}
			r.Warn("the report of " + id + " is broken or of another patch; it is graded again")
			if err := os.Remove(report); err != nil {
				return err
			}
		}
	}
	return nil
}

// collect makes a report of what the instances' own reports say: of those that were
// finished, and of nothing else.
func (r Run) collect(predictions map[string]Prediction) Report {
	report := Report{TotalInstances: len(r.Rows)}
	for _, row := range r.Rows {
		id := row.InstanceID
		p, ok := predictions[id]
		if !ok {
			report.IncompleteIDs = append(report.IncompleteIDs, id)
			continue
		}
		report.SubmittedIDs = append(report.SubmittedIDs, id)
		if p.Patch == "" {
			report.EmptyPatchIDs = append(report.EmptyPatchIDs, id)
			continue
		}
		graded := false
		for _, dir := range r.instanceDirs(p.Model, id) {
			resolved, ok := verdict(dir, id)
			if !ok || graded {
				continue
			}
			graded = true
			report.CompletedIDs = append(report.CompletedIDs, id)
			if resolved {
				report.ResolvedIDs = append(report.ResolvedIDs, id)
			} else {
				report.UnresolvedIDs = append(report.UnresolvedIDs, id)
			}
		}
		if !graded {
			report.ErrorIDs = append(report.ErrorIDs, id)
		}
	}
	report.count()
	return report
}

// count sorts the lists and sets the counters by them.
func (r *Report) count() {
	for _, f := range r.fields() {
		if f.ids != nil {
			slices.Sort(*f.ids)
			if f.count != nil {
				*f.count = len(*f.ids)
			}
		}
	}
}

// explain finds reasons for errors that have none, in the logs of the instances, and adds
// the failures that agents had before. What has no trace of a fault of the patch is a
// failure of the infrastructure.
func (r Run) explain(report *Report, predictions map[string]Prediction) {
	for _, id := range report.ErrorIDs {
		reason := report.FailureReasons[id]
		if reason != "" || slices.Contains(report.InfraFailureIDs, id) {
			continue
		}
		for _, dir := range r.instanceDirs(predictions[id].Model, id) {
			log := tail(filepath.Join(dir, fileLog))
			switch {
			case bytes.Contains(log, markPatch):
				reason = reasonPatch
			case bytes.Contains(log, markLate), bytes.Contains(tail(filepath.Join(dir, fileOutput)), markTimeout):
				reason = reasonTimeout
			}
		}
		if reason == "" {
			report.infra(id, "the harness has no verdict, and its logs show no fault of the patch")
			continue
		}
		report.because(id, reason)
	}
	for id, p := range predictions {
		if p.Failure != "" {
			report.infra(id, r.Redact.Text(p.Failure))
		}
	}
}

// tail is the end of a log; empty if there is none.
func tail(name string) []byte {
	f, err := os.Open(name) //nolint:gosec // in the run's folder
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // it was only read
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	data, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-maxTail), maxTail))
	if err != nil {
		return nil
	}
	return data
}
