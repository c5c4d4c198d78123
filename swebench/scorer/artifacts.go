package scorer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/homing-go/homing/swebench"
)

const (
	chunk            = 1 << 20
	artifactAttempts = 3
	artifactWhole    = time.Hour
)

// fetch downloads the artifacts of a run and returns the names of those that came. What
// does not come is a warning.
func (s *Scorer) fetch(ctx context.Context, view swebench.StatusView) map[string]bool {
	came := map[string]bool{}
	for _, a := range view.Artifacts {
		switch {
		case !swebench.IsArtifact(a.Name) || a.URL == "" || came[a.Name] || ctx.Err() != nil:
		case a.URL != swebench.ArtifactPath(view.RunID, a.Name):
			s.log.Warn("an artifact has a URL that is not its own and is left out", "artifact", a.Name)
		default:
			if err := s.fetchOne(ctx, view.RunID, a.Name); err != nil {
				s.log.Warn("an artifact could not be downloaded", "artifact", a.Name, "error", err)
				continue
			}
			came[a.Name] = true
		}
	}
	return came
}

func (s *Scorer) fetchOne(ctx context.Context, runID, name string) error {
	for attempt := 1; ; attempt++ {
		err := s.download(ctx, runID, name)
		var setup *SetupError
		if err == nil || attempt == artifactAttempts || !errors.As(err, &setup) || !setup.transient() {
			return err
		}
		if pause(ctx, min(s.backoff(attempt, setup), time.Second)) != nil {
			return err
		}
	}
}

// download streams one artifact beside its place and puts it there when it is whole.
func (s *Scorer) download(ctx context.Context, runID, name string) (err error) {
	target := filepath.Join(s.runDir(runID), name)
	if err := os.MkdirAll(filepath.Dir(target), 0o750); err != nil {
		return err
	}
	part := target + ".tmp"
	f, err := os.OpenFile(part, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600) //nolint:gosec // the run ID and the name are checked
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(part)
		}
	}()
	path := swebench.ArtifactPath(runID, name)
	k := call{op: "GET " + path[1:], method: http.MethodGet, path: path[1:], accept: "application/octet-stream", limit: artifactLimit, whole: artifactWhole}
	if err := s.client.do(ctx, k, func(r io.Reader) error { return s.copy(f, r, k.op) }); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(part, target)
}

func (s *Scorer) copy(w io.Writer, r io.Reader, op string) error {
	limit := s.cfg.MaxArtifactBytes
	// Hidden from io.Copy, which would let the file choose its own way of reading.
	n, err := io.CopyBuffer(struct{ io.Writer }{w}, io.LimitReader(r, limit+1), make([]byte, chunk))
	if err == nil && n > limit {
		return &SetupError{Op: op, Reason: fmt.Sprintf("it has more than %d bytes, the limit (-max-artifact-bytes)", limit)}
	}
	return err
}
