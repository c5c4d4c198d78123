package phase

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// FindResult finds the report that the evaluation has left in its output folder: under its
// documented name, else the one JSON file with the evaluation's ID in its name. None, or
// more than one, is an error: the wrong report is worse than none.
func FindResult(output, model, evalRunID string) (string, error) {
	expected := filepath.Join(output, strings.ReplaceAll(model, "/", "__")+"."+evalRunID+".json")
	if info, err := os.Lstat(expected); err == nil && info.Mode().IsRegular() {
		return expected, nil
	}
	var found []string
	err := filepath.WalkDir(output, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.Type().IsRegular() && strings.Contains(name, evalRunID) && strings.HasSuffix(name, ".json") {
			found = append(found, path)
		}
		return nil
	})
	switch {
	case err != nil:
		return "", fmt.Errorf("result of the evaluation: %w", err)
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0:
		return "", fmt.Errorf("result of the evaluation: there is no %s and no other JSON file with %s in its name", filepath.Base(expected), evalRunID)
	}
	return "", fmt.Errorf("result of the evaluation: %d files have %s in their names, and none is %s", len(found), evalRunID, filepath.Base(expected))
}

// Filter is the pattern that matches exactly these instance IDs in the Python agent's
// --filter: escaped as Python's re.escape does it.
func Filter(ids []string) string {
	var b strings.Builder
	b.WriteString("^(?:")
	for i, id := range ids {
		if i > 0 {
			b.WriteByte('|')
		}
		for _, r := range id {
			if strings.ContainsRune("()[]{}?*+-|^$\\.&~# \t\n\r\v\f", r) {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		}
	}
	b.WriteString(")$")
	return b.String()
}
