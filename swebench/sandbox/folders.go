package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
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

// make makes the folder of a new sandbox, with its record.
func (f folders) make(spec Spec) (id, path string, err error) {
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return "", "", err
	}
	// Others must not have put a folder of theirs there.
	if info, err := os.Lstat(f.dir); err != nil || !info.IsDir() || !ownedByUs(info) {
		return "", "", fmt.Errorf("%s is not a folder of this user: name another", f.dir)
	}
	id = newNonce()
	path = filepath.Join(f.dir, id)
	if err := os.Mkdir(path, 0o700); err != nil {
		return "", "", err
	}
	raw, err := json.Marshal(record{
		Image: spec.Image, Name: spec.Name, Dir: spec.Dir, Root: spec.Root, Env: spec.Env, Labels: spec.Labels,
		MemoryBytes: spec.MemoryBytes, FileBytes: spec.FileBytes, PIDs: spec.PIDs, Created: time.Now().UTC(),
	})
	if err == nil {
		err = os.WriteFile(filepath.Join(path, recordName), raw, 0o600)
	}
	if err != nil {
		_ = os.RemoveAll(path)
		return "", "", err
	}
	return id, path, nil
}

// load reads a record. A folder without one is half made or half removed.
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

// List implements [Runtime]. A sandbox that is not whole is listed as not running.
func (f folders) List(ctx context.Context, labels map[string]string) ([]Info, error) {
	entries, err := os.ReadDir(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
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

// remove removes a folder, also what the task made unreadable.
func (f folders) remove(id string) error {
	if err := checkID(id); err != nil {
		return err
	}
	path := filepath.Join(f.dir, id)
	if os.RemoveAll(path) == nil {
		return nil
	}
	_ = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.IsDir() {
			_ = os.Chmod(name, 0o700) //nolint:gosec // a folder is entered with x; it is removed right after
		}
		return nil // whatever can be opened is
	})
	return os.RemoveAll(path)
}

// copyTree copies a folder with modes, owners, times and links. cp does it well, and without
// copying data where the file system can.
func copyTree(ctx context.Context, from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder", from)
	}
	if err := os.MkdirAll(to, 0o755); err != nil { //nolint:gosec // it is below a folder that only this user enters
		return err
	}
	cmd := exec.CommandContext(ctx, "cp", "-a", "--", from+"/.", to) //nolint:gosec // paths after --
	if out, err := cmd.CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%s cannot be copied: %w: %s", from, err, lastWords(out))
	}
	return nil
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
