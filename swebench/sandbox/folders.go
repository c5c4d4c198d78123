package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// folders keeps the sandboxes of a kind that has no engine: one folder each, with a record of
// what it is, so that another process finds them.
type folders struct {
	dir string
}

// A record is what is kept of a sandbox.
type record struct {
	Image, Name, Dir, Root string
	Env, Labels            map[string]string
	MemoryBytes, FileBytes int64
	PIDs                   int
	Created                time.Time
}

const (
	recordName = "sandbox.json"
	maxRecord  = 4 << 20
)

// foldersAt are the folders below dir, or below one of this user in the temporary folder.
func foldersAt(dir, kind string) folders {
	if dir == "" {
		dir = filepath.Join(os.TempDir(), "homing-"+kind+"-"+strconv.Itoa(os.Getuid()))
	}
	return folders{dir: dir}
}

// ours makes sure of the folder: others must not have put one of theirs there.
func (f folders) ours() error {
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return err
	}
	if info, err := os.Lstat(f.dir); err != nil || !info.IsDir() || !ownedByUs(info) {
		return fmt.Errorf("%s is not a folder of this user: name another", f.dir)
	}
	return nil
}

// load reads a record.
func (f folders) load(id string) (spec Spec, created time.Time, err error) {
	if err := checkID(id); err != nil {
		return spec, created, err
	}
	file, err := os.Open(filepath.Join(f.dir, id, recordName)) //nolint:gosec // the ID is checked
	if errors.Is(err, fs.ErrNotExist) {
		return spec, created, goneError("the sandbox " + id + " was removed")
	} else if err != nil {
		return spec, created, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	raw, err := io.ReadAll(io.LimitReader(file, maxRecord+1))
	if err != nil {
		return spec, created, err
	}
	var r record
	if err := json.Unmarshal(raw, &r); err != nil {
		return spec, created, fmt.Errorf("sandbox: the record of %s (at most %d bytes) cannot be read: %w", id, maxRecord, err)
	}
	return Spec{
		Image: r.Image, Name: r.Name, Dir: r.Dir, Root: r.Root, Env: r.Env, Labels: r.Labels,
		MemoryBytes: r.MemoryBytes, FileBytes: r.FileBytes, PIDs: r.PIDs,
	}, r.Created, nil
}

// attach reads a record and ends what an earlier process has begun in the sandbox.
func (f folders) attach(ctx context.Context, id string) (Spec, error) {
	spec, _, err := f.load(id)
	if err == nil {
		err = endMarked(ctx, sandboxMark+id, 0)
	}
	return spec, err
}

// List implements [Runtime]. A sandbox without a record that can be read is listed as not
// running. What a process that was killed has left half made or half removed is not listed: it
// is removed.
func (f folders) List(ctx context.Context, labels map[string]string) ([]Info, error) {
	if _, err := os.Stat(f.dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if f.ours() == nil {
		f.tidy(ctx)
	}
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, err
	}
	var infos []Info
	for _, entry := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !entry.IsDir() || checkID(entry.Name()) != nil {
			continue
		}
		spec, created, err := f.load(entry.Name())
		info := Info{ID: entry.Name(), Name: spec.Name, Image: spec.Image, Labels: spec.Labels, Running: err == nil, Created: created}
		if hasLabels(info, labels) {
			infos = append(infos, info)
		}
	}
	return infos, nil
}

// missingRoots are the names among images for which there is no root folder.
func missingRoots(images []string, root func(image string) (string, error)) error {
	var missing []MissingImage
	for _, image := range images {
		path, err := root(image)
		if err == nil {
			var info fs.FileInfo
			if info, err = os.Stat(path); err == nil && !info.IsDir() {
				err = fmt.Errorf("%s is not a folder", path)
			}
		}
		if err != nil {
			missing = append(missing, MissingImage{image, err})
		}
	}
	if len(missing) > 0 {
		return &ImageError{Missing: missing}
	}
	return nil
}
