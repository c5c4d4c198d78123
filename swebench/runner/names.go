package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// A claim is a folder that has used the name of a run.
type claim struct {
	Dir   string    `json:"dir"`
	Index int       `json:"index"`
	Of    int       `json:"of"`
	Time  time.Time `json:"time"`
}

// claims are those of one name.
type claims struct {
	Run    string  `json:"run"`
	Claims []claim `json:"claims"`
}

// claimName notes that a fresh folder uses the name of a run, and refuses one that has been
// used: session IDs depend on nothing but the name, the instance and the attempt, so two
// trajectories would share one. Parts of one run may have one name.
func claimName(names, run string, shard Shard, dir string) error {
	if err := os.MkdirAll(names, 0o755); err != nil { //nolint:gosec // names of runs are no secrets
		return err
	}
	sum := sha256.Sum256([]byte(run))
	file := filepath.Join(names, hex.EncodeToString(sum[:])+".json")
	lock, err := waitLock(file + ".lock")
	if err != nil {
		return err
	}
	defer lock.Close() //nolint:errcheck // nothing was written
	known := claims{Run: run}
	if _, err := readJSON(file, &known); err != nil {
		return err
	}
	own := claim{Dir: dir, Of: max(shard.Of, 1), Time: time.Now().UTC()}
	own.Index = shard.Index % own.Of
	for _, c := range known.Claims {
		if c.Of == own.Of && c.Index != own.Index {
			continue
		}
		return &ConfigError{Field: "Run", Reason: fmt.Sprintf(
			"%q was used on %s with the folder %s, whose trajectories have its session IDs: go on with that folder, or choose another name",
			run, c.Time.Format(time.DateOnly), c.Dir)}
	}
	known.Claims = append(known.Claims, own)
	return writeJSON(file, known)
}

// waitLock takes a lock that others have for moments only.
func waitLock(name string) (*os.File, error) {
	for range 500 {
		f, ok, err := lockFile(name)
		if err != nil || ok {
			return f, err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil, fmt.Errorf("runner: another process does not let go of %s", name)
}

// NamesFolder is where the commands of this user remember the names of runs.
func NamesFolder() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "homing", "runs"), nil
}
