package runner

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/qwen"
	"github.com/homing-go/homing/swebench/dataset"
	"github.com/homing-go/homing/swebench/sandbox"
)

// A Workspace is a [sandbox.Runtime] for rows whose repository is not in an image but named
// by the row: by its image, if that is a folder, or by its repo, if that is a folder, a file
// or an http(s) URL. It makes a clean checkout of the base commit, without what came later,
// and brings a copy into each sandbox. What a URL has of a user and a password goes to its
// server alone, and is in no error, no argument of a process and no checkout.
//
//	w := &runner.Workspace{Runtime: sandbox.NewLocal(sandbox.LocalConfig{}), Local: true, Cache: "out/.repos"}
//	cfg.Runtime, cfg.Spec = w, w.Spec
//
// Other rows have their repository in the image, as SWE-bench has it. In a local sandbox there
// is no image, so a row that names no repository at all gets an empty one, and one whose
// repository cannot be found does not start.
type Workspace struct {
	sandbox.Runtime
	// Local tells that sandboxes have no images.
	Local bool
	// Base is the folder that relative paths of rows are below; "" means the working folder.
	Base string
	// Cache takes the checkouts; it is made if it is missing. They stay there, for the next run
	// with it. Several processes may share it; what a killed one has left half made is removed
	// when there is no other one.
	Cache string
	// Arch is the architecture for [dataset.ImageFor].
	Arch string
	// Dir is where the repository is in a sandbox; "" means /testbed. A local one has it in a
	// folder of its own.
	Dir string
	// MemoryBytes and PIDs are those of each [sandbox.Spec].
	MemoryBytes int64
	PIDs        int

	plainRoot string // for rows whose image has no root folder of its own

	mu    sync.Mutex
	ready map[string]*checkout
	share *os.File // of the cache, until this process ends
}

// labelRepo tells Start what a sandbox is to be filled with.
const labelRepo = "homing.repository"

// Spec describes the sandbox of a row.
func (w *Workspace) Spec(ctx context.Context, row dataset.Row) (sandbox.Spec, error) {
	spec := sandbox.Spec{Dir: w.Dir, MemoryBytes: w.MemoryBytes, PIDs: w.PIDs}
	if w.Local {
		spec.Env = map[string]string{"BASH_ENV": ""} // what .bashrc sets is in this process already
	}
	if root, ok := w.folder(row.ImageName); ok {
		if !w.Local {
			spec.Root = root
			return spec, nil
		}
		if _, err := os.Stat(filepath.Join(root, ".git")); err == nil {
			spec.Root = root
			return spec, nil
		}
		var err error
		spec.Root, err = w.checkout(ctx, root, "")
		return spec, err
	}
	source, named := w.source(row)
	if !w.Local {
		spec.Image = w.ImageOf(row)
		if !named {
			return spec, nil
		}
	} else if !named && row.Repo != "" {
		return spec, fmt.Errorf("its repository %q is no folder here and no URL, and a local sandbox has no images: put a folder into the column repo or image_name", withoutUser(row.Repo))
	}
	path, err := w.checkout(ctx, source, row.BaseCommit)
	if err != nil {
		return spec, err
	}
	if w.Local {
		spec.Root = path
	} else {
		spec.Labels = map[string]string{labelRepo: path}
	}
	return spec, nil
}

// ImageOf is the image that has to be there for a row; "" if none has.
func (w *Workspace) ImageOf(row dataset.Row) string {
	if w.Local {
		return ""
	}
	if _, ok := w.folder(row.ImageName); ok {
		return ""
	}
	if _, named := w.source(row); w.plainRoot != "" && (named || row.ImageName == "") {
		return "" // the one root is for all
	}
	return dataset.ImageFor(row, w.Arch)
}

// folder returns the folder that a text of a row names.
func (w *Workspace) folder(text string) (string, bool) {
	if text == "" || strings.Contains(text, "\x00") {
		return "", false
	}
	path := strings.TrimPrefix(text, "file://")
	if !filepath.IsAbs(path) {
		path = filepath.Join(w.Base, path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", false
	}
	info, err := os.Stat(path)
	return path, err == nil && info.IsDir()
}

// source is what a row's repository is cloned from; "" is an empty one.
func (w *Workspace) source(row dataset.Row) (string, bool) {
	for _, name := range []string{"repo_path", "repo_url"} {
		if text := rawjson.Text(rawjson.Get(row.Raw, name)); text != "" {
			if path, ok := w.folder(text); ok {
				return path, true
			}
			if isURL(text) {
				return text, true
			}
		}
	}
	if path, ok := w.folder(row.Repo); ok {
		return path, true
	}
	return row.Repo, isURL(row.Repo)
}

func isURL(text string) bool {
	return strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://")
}

// unpack fills the folder of a sandbox, which may be there and empty.
const unpack = `mkdir -p "$1" && cd "$1" && tar xf "$2" && rm -f "$2" && git config --global --add safe.directory "$1"`

// Start implements [sandbox.Runtime].
func (w *Workspace) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	box, err := w.Runtime.Start(ctx, spec)
	path := spec.Labels[labelRepo]
	if err != nil || path == "" {
		return box, err
	}
	if err := fill(ctx, box, path, spec.Dir); err != nil {
		// Nothing of the task has begun.
		return nil, &sandbox.StartError{Image: spec.Image, Err: fmt.Errorf("the repository was not copied in: %w", joined(err, box.Stop(ctx)))}
	}
	return box, nil
}

func joined(err, second error) error {
	if second != nil {
		return fmt.Errorf("%w; %w", err, second)
	}
	return err
}

func fill(ctx context.Context, box sandbox.Sandbox, path, dir string) error {
	if dir == "" {
		dir = sandbox.Dir(box)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pack := exec.CommandContext(ctx, "tar", "cf", "-", "--owner=0", "--group=0", "-C", path, ".") //nolint:gosec // a path of ours
	read, err := pack.StdoutPipe()
	if err != nil {
		return err
	}
	if err := pack.Start(); err != nil {
		return err
	}
	const archive = "/tmp/.homing-repository.tar"
	err = box.CopyIn(ctx, archive, read, 0o600)
	_, _ = io.Copy(io.Discard, read)
	if packErr := pack.Wait(); err == nil {
		err = packErr
	}
	if err != nil {
		return err
	}
	out, err := box.Run(ctx, qwen.Command{Args: []string{"sh", "-c", unpack, "sh", dir, archive}, Merge: true})
	if err == nil && out.ExitCode != 0 {
		err = fmt.Errorf("exit code %d: %.300s", out.ExitCode, out.Stdout)
	}
	return err
}
