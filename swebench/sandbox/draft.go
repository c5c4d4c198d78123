package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A folder has another name until all is in it, and again before anything is taken out of it.
// So a process that is killed leaves whole sandboxes, and folders with these names, which no ID
// has.
const (
	newPrefix = ".new-"
	oldPrefix = ".old-"
)

// A draft is the folder of a sandbox that is being made. It is locked until it is whole: by
// this process, and by what this process starts to fill it. The system gives the lock back
// when the last of them is dead. An age would not tell, since a copy may take long; nor would
// the ID of a process, which another one may have by now. Where files cannot be locked, what
// is half made stays.
type draft struct {
	id, path string
	lock     *os.File // nil where files cannot be locked
}

// make makes a sandbox, with its record and what fill puts there, which may be nil.
func (f folders) make(spec Spec, fill func(draft) error) (id string, err error) {
	if err := f.ours(); err != nil {
		return "", err
	}
	d, err := f.draft()
	if err != nil {
		return "", err
	}
	defer d.lock.Close() //nolint:errcheck // nothing was written to it, and it may be nil
	if err = d.describe(spec); err == nil && fill != nil {
		err = fill(d)
	}
	if err == nil {
		err = os.Rename(d.path, filepath.Join(f.dir, d.id))
	}
	if err != nil {
		_ = removeAll(d.path)
		return "", err
	}
	return d.id, nil
}

// draft makes a folder and locks it, once more if it was tidied away before it was locked.
func (f folders) draft() (draft, error) {
	for {
		d := draft{id: newNonce()}
		d.path = filepath.Join(f.dir, newPrefix+d.id)
		err := os.Mkdir(d.path, 0o700)
		if err != nil {
			return draft{}, err
		}
		d.lock, err = lockFolder(d.path)
		switch {
		case err == nil, errors.Is(err, errors.ErrUnsupported):
			return d, nil
		case !errors.Is(err, errLocked) && !errors.Is(err, fs.ErrNotExist):
			_ = os.Remove(d.path)
			return draft{}, err
		}
	}
}

var errLocked = errors.New("it is locked")

// lockFolder opens a folder and locks it, or says that it is locked or not there.
func lockFolder(path string) (*os.File, error) {
	file, err := os.Open(path) //nolint:gosec // of this package
	if err != nil {
		return nil, err
	}
	err = tryLock(file)
	if err == nil { // whoever had the lock may have removed or renamed it
		_, err = os.Lstat(path)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// describe writes the record.
func (d draft) describe(spec Spec) error {
	raw, err := json.Marshal(record{
		Image: spec.Image, Name: spec.Name, Dir: spec.Dir, Root: spec.Root, Env: spec.Env, Labels: spec.Labels,
		MemoryBytes: spec.MemoryBytes, FileBytes: spec.FileBytes, PIDs: spec.PIDs, Created: time.Now().UTC(),
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(d.path, recordName), raw, 0o600)
}

// copyTree copies a folder to one of this name, with modes, owners, times and links. cp does
// it well, and without copying data where the file system can.
func (d draft) copyTree(ctx context.Context, from, name string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder", from)
	}
	to := filepath.Join(d.path, name)
	if err := os.MkdirAll(to, 0o755); err != nil { //nolint:gosec // it is below a folder that only this user enters
		return err
	}
	cmd := exec.CommandContext(ctx, "cp", "-a", "--", from+"/.", to) //nolint:gosec // paths after --
	if d.lock != nil {
		cmd.ExtraFiles = []*os.File{d.lock}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%s cannot be copied: %w: %s", from, err, lastWords(out))
	}
	return nil
}

// emptyFolder makes a folder of this name, which stands for dir, and below it what leads to
// inside, if that is in dir.
func (d draft) emptyFolder(dir, name, inside string) error {
	to := filepath.Join(d.path, name)
	mode := fs.FileMode(0o755)
	if strings.HasSuffix(dir, "/tmp") {
		mode = 0o777 | fs.ModeSticky
	}
	if err := os.MkdirAll(to, 0o755); err != nil { //nolint:gosec // it is below a folder that only this user enters
		return err
	}
	if rest, ok := strings.CutPrefix(inside, dir+"/"); ok {
		if err := os.MkdirAll(filepath.Join(to, rest), 0o755); err != nil { //nolint:gosec // as above
			return err
		}
	}
	return os.Chmod(to, mode)
}

// remove removes a sandbox. It may be half removed already.
func (f folders) remove(id string) error {
	if err := checkID(id); err != nil {
		return err
	}
	old := filepath.Join(f.dir, oldPrefix+id)
	if err := os.Rename(filepath.Join(f.dir, id), old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return removeAll(old)
}

// tidy removes what is half made by a process that is dead, and half removed by any. What
// cannot be removed now is left for the next time.
func (f folders) tidy(ctx context.Context) {
	entries, _ := os.ReadDir(f.dir)
	for _, entry := range entries {
		path := filepath.Join(f.dir, entry.Name())
		switch {
		case ctx.Err() != nil:
			return
		case strings.HasPrefix(entry.Name(), oldPrefix):
			_ = removeAll(path)
		case strings.HasPrefix(entry.Name(), newPrefix):
			if lock, err := lockFolder(path); err == nil {
				_ = removeAll(path)
				_ = lock.Close()
			}
		}
	}
}

// removeAll removes a folder, also what the task made unreadable.
func removeAll(path string) error {
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
