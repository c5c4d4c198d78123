package scorer_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/scorer"
	"github.com/stretchr/testify/require"
)

// rig is a scorer in front of a service on the loopback.
type rig struct {
	*pyService
	cfg scorer.Config
	log *lines
}

// lines collects log lines.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// with returns the lines that hold all parts.
func (l *lines) with(parts ...string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []string
next:
	for line := range strings.Lines(l.b.String()) {
		for _, p := range parts {
			if !strings.Contains(line, p) {
				continue next
			}
		}
		found = append(found, line)
	}
	return found
}

func newRig(t *testing.T, s *pyService) *rig {
	t.Helper()
	s.t = t
	if s.capabilities == nil {
		s.capabilities = capable()
	}
	server := httptest.NewServer(s)
	server.Config.ErrorLog = nil
	t.Cleanup(server.Close)
	log := new(lines)
	key := "endpoint-key-0123456789"
	return &rig{pyService: s, log: log, cfg: scorer.Config{
		ServiceURL: server.URL, AuthToken: s.token, DatasetName: "swe_bench", ReportDir: t.TempDir(), PollInterval: time.Millisecond, Tolerance: time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(log, nil)),
		Request: swebench.RunRequest{
			ModelName: "m", EndpointURLs: []string{"http://endpoint"}, EndpointAPIKey: &key, Subset: "verified", Split: "test",
			NumInstances: 3, Workers: 10, MaxEvalWorkers: 10, EvaluatedInstanceIDs: []string{"c", "a", "b"}, Template: "default",
		},
	}}
}

func (r *rig) scorer(t *testing.T) *scorer.Scorer {
	t.Helper()
	s, err := scorer.New(r.cfg)
	require.NoError(t, err)
	return s
}

func (r *rig) score(t *testing.T) *scorer.Entry {
	t.Helper()
	e, err := r.scorer(t).Score(context.Background())
	require.NoError(t, err)
	return e
}

func (r *rig) setupError(t *testing.T) *scorer.SetupError {
	t.Helper()
	err := r.scorer(t).Preflight(context.Background())
	var setup *scorer.SetupError
	require.ErrorAs(t, err, &setup)
	return setup
}

// file returns a file of the report folder; "" if it is not there.
func (r *rig) file(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{r.cfg.ReportDir}, path...)...))
	if errors.Is(err, os.ErrNotExist) {
		return ""
	}
	require.NoError(t, err)
	return string(data)
}

// files lists what is in the report folder.
func (r *rig) files(t *testing.T) []string {
	t.Helper()
	var list []string
	require.NoError(t, filepath.WalkDir(r.cfg.ReportDir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(r.cfg.ReportDir, path)
			list = append(list, strings.Replace(filepath.ToSlash(name), runID, "ID", 1))
		}
		return err
	}))
	return list
}

func (r *rig) put(t *testing.T, text string, path ...string) {
	t.Helper()
	file := filepath.Join(append([]string{r.cfg.ReportDir}, path...)...)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o750))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
}

// incomplete checks that there is no score, for exactly these reasons.
func incomplete(t *testing.T, e *scorer.Entry, codes ...scorer.Code) {
	t.Helper()
	require.Nil(t, e.Score)
	reasons(t, e, codes...)
}

func reasons(t *testing.T, e *scorer.Entry, codes ...scorer.Code) {
	t.Helper()
	var got []scorer.Code
	for _, r := range e.Reasons {
		got = append(got, r.Code)
		require.NotEmpty(t, r.Text)
	}
	require.Equal(t, codes, got, "%v", e.Reasons)
	require.Equal(t, len(codes) == 0, e.Complete)
}
