package scorer

import (
	"os"
	"path/filepath"

	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/internal/atomicfile"
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

// writeAtomic replaces a file as a whole, or leaves it as it is; its folder is made.
func writeAtomic(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	return atomicfile.WritePrivate(path, data)
}
