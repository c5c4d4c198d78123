package runner

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/homing-go/homing/swebench/internal/atomicfile"
	"github.com/homing-go/homing/swebench/phase"
)

// The files of the output folder that are the runner's own.
const (
	fileRun   = "run.json"
	fileState = "state.json"
	fileLock  = ".lock"
)

// A record is what an output folder keeps of its run. What is in it must not change while
// the run goes on.
type record struct {
	Run   string `json:"run"`
	Shard string `json:"shard,omitempty"`
	// Owner marks the sandboxes and the processes of this folder.
	Owner        string    `json:"owner"`
	Created      time.Time `json:"created"`
	Model        string    `json:"model"`
	Template     string    `json:"template"`
	TemplateHash string    `json:"template_sha256"`
	// Headers are the names under which sessions travel; nil where that is not known.
	Headers   []string `json:"session_headers"`
	EvalRunID string   `json:"eval_run_id,omitempty"`
	// Named tells that the run's name was given, and is remembered elsewhere.
	Named bool `json:"named,omitempty"`
}

// runNameFault tells why a text cannot be the name of a run; "" if it can.
func runNameFault(name string) string {
	switch {
	case name == "":
		return "is empty"
	case len(name) > 200:
		return "has more than 200 characters"
	case strings.ContainsFunc(name, func(c rune) bool { return c < '!' || c > '~' }):
		return "has a space or a character that is not ASCII"
	}
	return ""
}

func random(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// A folder is an output folder that this process has locked.
type folder struct {
	dir   string
	lock  *os.File
	fresh bool
	record
}

// openFolder opens the output folder and checks that its run is the one that is wanted.
func openFolder(c *Config) (*folder, error) {
	if err := os.MkdirAll(c.Dir, 0o755); err != nil { //nolint:gosec // operators read it
		return nil, err
	}
	lock, ok, err := lockFile(filepath.Join(c.Dir, fileLock))
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, &ConfigError{Field: "Dir", Reason: fmt.Sprintf("another process uses %s; wait for its end, or name another folder", c.Dir)}
	}
	f := &folder{dir: c.Dir, lock: lock}
	if err := f.open(c); err != nil {
		_ = f.close()
		return nil, err
	}
	return f, nil
}

func (f *folder) open(c *Config) error {
	atomicfile.Sweep(f.dir)
	found, err := readJSON(f.path(fileRun), &f.record)
	if err != nil {
		return err
	}
	if found {
		return f.same(c)
	}
	f.fresh = true
	f.record = record{
		Run: c.Run, Shard: c.Shard.String(), Owner: random(16), Created: time.Now().UTC(),
		Model: c.Model, Template: c.Template.Name, TemplateHash: c.Template.Hash(), Headers: c.Headers, Named: c.Run != "",
	}
	if id := c.Labels[phase.RunLabel]; id != "" {
		f.Owner = id // by which a service finds what a killed one has left
	}
	if f.Run == "" {
		f.Run = "run-" + random(12)
	}
	if f.Named && c.Names != "" {
		if err := claimName(c.Names, f.Run, c.Shard, f.dir); err != nil {
			return err
		}
	}
	return f.save()
}

// same refuses to go on with something else.
func (f *folder) same(c *Config) error {
	for _, s := range []struct{ field, kept, given string }{
		{"Run", f.Run, c.Run},
		{"Model", f.Model, c.Model},
		{"Template", f.Template, c.Template.Name},
		{"Template", f.TemplateHash, c.Template.Hash()},
	} {
		if s.given != "" && s.given != s.kept {
			return &ConfigError{Field: s.field, Reason: fmt.Sprintf("it is %q, but %s has a run with %q; name another folder", s.given, f.dir, s.kept)}
		}
	}
	if c.Headers != nil && f.Headers != nil && !slices.Equal(c.Headers, f.Headers) {
		return &ConfigError{Field: "Headers", Reason: fmt.Sprintf("they are %q, but %s has a run with %q; name another folder", c.Headers, f.dir, f.Headers)}
	}
	if given := c.Shard.String(); given != f.Shard {
		return &ConfigError{Field: "Shard", Reason: fmt.Sprintf("it is %q, but %s has the part %q of a run; name another folder", given, f.dir, f.Shard)}
	}
	return nil
}

func (f *folder) save() error { return writeJSON(f.path(fileRun), f.record) }

func (f *folder) path(elem ...string) string {
	return filepath.Join(append([]string{f.dir}, elem...)...)
}

func (f *folder) close() error { return f.lock.Close() }
