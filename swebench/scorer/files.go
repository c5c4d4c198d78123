package scorer

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/homing-go/homing/swebench"
)

// Files of a report folder.
const (
	FileReport = "swe_bench_report.json"
	FileConfig = "swe_bench_config.yaml"

	dirRuns           = "swe_bench_runs"
	fileServiceStatus = "swe_bench_service_status.json"
)

func (s *Scorer) runDir(runID string) string {
	return filepath.Join(s.cfg.ReportDir, dirRuns, runID)
}

func (s *Scorer) resultPath() string {
	return filepath.Join(s.cfg.ReportDir, swebench.FileResults)
}

// writeAtomic replaces a file as a whole, or leaves it as it is.
func writeAtomic(path string, data []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
