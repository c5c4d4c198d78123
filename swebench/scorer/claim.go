package scorer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/google/uuid"
	"github.com/homing-go/homing/swebench"
)

const (
	fileClaim = "swe_bench_submission.json"
	maxClaim  = 4 << 10
)

// A claim is a submission whose run is not known to be over. It outlives the process.
type claim struct {
	Key     string `json:"idempotency_key"`
	Request string `json:"request_sha256"` // of service and body, without the endpoint's key
}

func (s *Scorer) claimPath() string { return filepath.Join(s.cfg.ReportDir, fileClaim) }

// claim returns the key of the submission r. It is taken from a process before this one, if
// that did not come to its end.
func (s *Scorer) claim(r swebench.RunRequest) (key string, taken bool, err error) {
	body, err := r.MarshalJSON()
	if err != nil {
		return "", false, err
	}
	digest := sha256.Sum256(append([]byte(s.client.base), body...))
	c := claim{Request: hex.EncodeToString(digest[:])}
	if old, ok := s.claimed(); ok && old.Request == c.Request {
		s.log.Info("a submission under way is taken up again", "dataset", s.cfg.DatasetName)
		return old.Key, true, nil
	}
	c.Key = uuid.NewString()
	data, err := json.Marshal(c)
	if err == nil {
		err = writeAtomic(s.claimPath(), append(data, '\n'))
	}
	if err != nil {
		return "", false, &SetupError{Op: "report folder", Reason: err.Error()}
	}
	return c.Key, false, nil
}

// claimed reads the claim of an earlier process; one that cannot be read does not count.
func (s *Scorer) claimed() (c claim, ok bool) {
	f, err := os.Open(s.claimPath())
	if err != nil {
		return c, false
	}
	defer f.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(io.LimitReader(f, maxClaim))
	if err != nil || json.Unmarshal(data, &c) != nil {
		return c, false
	}
	_, err = uuid.Parse(c.Key)
	return c, err == nil
}

// unclaim forgets the submission: its run is over, or there is none.
func (s *Scorer) unclaim() {
	if err := os.Remove(s.claimPath()); err != nil && !errors.Is(err, os.ErrNotExist) {
		s.log.Warn("the key of the submission could not be removed; the next run may be taken for this one", "error", err)
	}
}
