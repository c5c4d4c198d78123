package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// FindReport finds the report that the Python harness has left in its output folder: under
// its documented name, else the one JSON file with the run's ID in its name, or the
// results.json in a folder of that name. None, or more than one, is a *[ReportError]: the
// wrong report is worse than none.
func FindReport(output, model, runID string) (string, error) {
	expected := filepath.Join(output, modelFile(model)+"."+runID+".json")
	if info, err := os.Lstat(expected); err == nil && info.Mode().IsRegular() {
		return expected, nil
	}
	found, err := reportsIn(output, runID)
	switch {
	case err != nil:
		return "", &ReportError{Reason: err.Error()}
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0:
		return "", &ReportError{Reason: fmt.Sprintf("there is no %s and no other JSON file with %s in its name", filepath.Base(expected), runID)}
	}
	return "", &ReportError{Reason: fmt.Sprintf("%d files have %s in their names, and none is %s", len(found), runID, filepath.Base(expected))}
}

// reportsIn are the files that may be the report of a run.
func reportsIn(output, runID string) (found []string, err error) {
	err = filepath.WalkDir(output, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		named := strings.Contains(name, runID) && strings.HasSuffix(name, ".json")
		if entry.Type().IsRegular() && (named || (name == "results.json" && filepath.Base(filepath.Dir(path)) == runID)) {
			found = append(found, path)
		}
		return nil
	})
	return found, err
}

// The files of an instance.
const (
	filePatch  = "patch.diff"
	fileScript = "eval.sh"
	fileOutput = "test_output.txt"
	fileLog    = "run_instance.log"
	fileReport = "report.json"
)

// instanceDirs are the folders in which an instance's files can be: where this package and
// version 4 have them, and where version 5 has them.
func (r Run) instanceDirs(model, id string) [2]string {
	return [2]string{
		filepath.Join(r.Dir, "logs", "run_evaluation", r.ID, modelFile(model), id),
		filepath.Join(r.Dir, "logs", "evaluation", r.ID, modelFile(model), id),
	}
}

// readFile reads a regular file of at most limit bytes. One that is not there has none.
func readFile(name string, limit int64) ([]byte, error) {
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", filepath.Base(name))
	case info.Size() > limit:
		return nil, fmt.Errorf("%s has %d bytes, the limit is %d", filepath.Base(name), info.Size(), limit)
	}
	return os.ReadFile(name) //nolint:gosec // in the run's folder
}
