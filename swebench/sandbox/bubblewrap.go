package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// BubblewrapConfig configures a [Bubblewrap].
type BubblewrapConfig struct {
	// Command is the program; "" means bwrap.
	Command string
	// Root is the root folder for a Spec that has none, and no Image. Images is the folder
	// that has those for an Image: the one of its name, with / and : as _.
	Root, Images string
	// Writable are the folders, as a command sees them, that a command can change, besides
	// that of the task. Every sandbox gets copies of its own; the rest of the root is
	// read-only and shared. "/" means that all of the root is copied. nil means /tmp,
	// /var/tmp, /root and /home. Where Root is this machine's own, they begin empty.
	Writable []string
	// NoNetwork takes the network away.
	NoNetwork bool
	// Folder and MaxOutput are as in [LocalConfig].
	Folder    string
	MaxOutput int
}

// Bubblewrap runs commands with bubblewrap over a root folder. It is safe for concurrent use.
//
// Every command has a process space of its own: when it ends, what it left in the background
// ends too. Memory and number of processes are bounded by the shell's ulimit alone, the latter
// not for root.
type Bubblewrap struct {
	folders

	cfg BubblewrapConfig
}

var _ Runtime = (*Bubblewrap)(nil)

// NewBubblewrap returns a runtime. It checks that the program is installed and runs nothing.
func NewBubblewrap(cfg BubblewrapConfig) (*Bubblewrap, error) {
	program, err := exec.LookPath(or(cfg.Command, "bwrap"))
	if err != nil {
		return nil, fmt.Errorf("sandbox: bubblewrap is missing: %w; install it, or name it by BubblewrapConfig.Command", err)
	}
	cfg.Command = program
	if cfg.Writable == nil {
		cfg.Writable = []string{"/tmp", "/var/tmp", "/root", "/home"}
	}
	cfg.Writable = slices.Clone(cfg.Writable)
	for i, dir := range cfg.Writable {
		if !path.IsAbs(dir) || !plainText(dir) {
			return nil, &SpecError{"Writable", dir, "give an absolute path in UTF-8"}
		}
		cfg.Writable[i] = path.Clean(dir)
	}
	return &Bubblewrap{folders: foldersAt(cfg.Folder, "bubblewrap"), cfg: cfg}, nil
}

// Prepare implements [Runtime]: the images must have root folders.
func (b *Bubblewrap) Prepare(ctx context.Context, images ...string) error {
	if err := missingRoots(images, func(image string) (string, error) { return b.root(Spec{Image: image}) }); err != nil {
		return err
	}
	return ctx.Err()
}

// root is the root folder for a spec.
func (b *Bubblewrap) root(spec Spec) (string, error) {
	switch {
	case spec.Root != "":
		return filepath.Abs(spec.Root)
	case spec.Image != "" && b.cfg.Images != "":
		if err := checkImage(spec.Image); err != nil {
			return "", err
		}
		return filepath.Abs(filepath.Join(b.cfg.Images, strings.NewReplacer("/", "_", ":", "_").Replace(spec.Image)))
	case b.cfg.Root != "":
		return filepath.Abs(b.cfg.Root)
	}
	return "", &SpecError{"Root", "", "name a root folder in the Spec or in BubblewrapConfig.Root or Images"}
}

// Start implements [Runtime].
func (b *Bubblewrap) Start(ctx context.Context, spec Spec) (Sandbox, error) {
	spec, err := spec.checked()
	if err == nil {
		spec.Root, err = b.root(spec)
	}
	if err != nil {
		return nil, &StartError{Image: spec.Image + spec.Root, Err: err}
	}
	id, err := b.make(spec, func(d draft) error { return b.sandbox(d.id, spec).fill(ctx, d) })
	if err != nil {
		return nil, &StartError{Image: spec.Root, Err: err}
	}
	s := b.sandbox(id, spec)
	res, err := s.script(ctx, nil, `[ -d "$1" ]`, spec.Dir)
	if err == nil && res.ExitCode != 0 {
		err = fmt.Errorf("its folder %s is not there: %s", spec.Dir, lastWords(res.Stderr.Bytes()))
	}
	if err != nil {
		_ = b.remove(id)
		return nil, &StartError{Image: spec.Root, Err: err}
	}
	return s, nil
}

// Attach implements [Runtime].
func (b *Bubblewrap) Attach(ctx context.Context, id string) (Sandbox, error) {
	spec, err := b.attach(ctx, id)
	if err != nil {
		return nil, err
	}
	return b.sandbox(id, spec), nil
}

// Remove implements [Runtime].
func (b *Bubblewrap) Remove(ctx context.Context, ids ...string) error {
	for _, id := range ids {
		if err := checkID(id); err != nil {
			return err
		}
		_ = endMarked(context.WithoutCancel(ctx), sandboxMark+id, 0)
		if err := b.remove(id); err != nil {
			return err
		}
	}
	return nil
}

// A wrappedSandbox is a [Sandbox] of [Bubblewrap].
type wrappedSandbox struct {
	runner

	engine *Bubblewrap
	id     string
	spec   Spec
}

var _ Sandbox = (*wrappedSandbox)(nil)

func (b *Bubblewrap) sandbox(id string, spec Spec) *wrappedSandbox {
	s := &wrappedSandbox{engine: b, id: id, spec: spec}
	s.runner = runner{place: s, dir: spec.Dir, output: b.cfg.MaxOutput}
	return s
}

// ID implements [Sandbox].
func (s *wrappedSandbox) ID() string { return s.id }

// Stop implements [Sandbox].
func (s *wrappedSandbox) Stop(ctx context.Context) error {
	_ = s.close("the sandbox " + s.id + " was stopped")
	s.idle.Wait()
	return s.engine.Remove(ctx, s.id)
}

// writable are the folders that are the sandbox's own, outer ones first.
func (s *wrappedSandbox) writable() []string {
	dirs := append(slices.Clone(s.engine.cfg.Writable), path.Clean(s.spec.Dir))
	slices.Sort(dirs)
	return slices.DeleteFunc(slices.Compact(dirs), func(dir string) bool {
		return slices.ContainsFunc(dirs, func(outer string) bool {
			return outer != dir && strings.HasPrefix(dir, strings.TrimSuffix(outer, "/")+"/")
		})
	})
}

// ownName is where, in the folder of a sandbox, its copy of the writable folder of this number is.
func ownName(i int) string { return filepath.Join("own", strconv.Itoa(i)) }

func (s *wrappedSandbox) own(i int) string { return filepath.Join(s.engine.dir, s.id, ownName(i)) }

// resolver is the file that says where names are resolved.
const resolver = "/etc/resolv.conf"

// fill copies the writable folders out of the root, which they must not leave by links. What
// is mounted needs a folder in the root to be mounted on.
func (s *wrappedSandbox) fill(ctx context.Context, d draft) error {
	root, err := os.OpenRoot(s.spec.Root)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // it was only read
	for _, dir := range []string{s.spec.Dir, "/proc", "/dev"} {
		if err := root.MkdirAll("."+path.Clean(dir), 0o755); err != nil {
			return fmt.Errorf("the root folder has no %s to mount on: %w", dir, err)
		}
	}
	machine, err := s.onMachine()
	if err != nil {
		return err
	}
	for i, dir := range s.writable() {
		info, err := root.Stat("." + dir)
		switch {
		case err == nil && info.IsDir() && machine:
			err = d.emptyFolder(dir, ownName(i), s.spec.Dir)
		case err == nil && info.IsDir():
			err = d.copyTree(ctx, filepath.Join(s.spec.Root, dir), ownName(i))
		case errors.Is(err, fs.ErrNotExist):
			err = nil // nothing is mounted there
		case err == nil:
			err = fmt.Errorf("%s is not a folder in it", dir)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// onMachine reports whether the root is that of this machine. Its writable folders hold what
// is nobody's business in a sandbox, and any amount of it: those of the sandbox begin empty.
func (s *wrappedSandbox) onMachine() (bool, error) {
	here, err := os.Stat("/")
	if err != nil {
		return false, err
	}
	root, err := os.Stat(s.spec.Root)
	if err != nil || !os.SameFile(here, root) {
		return false, err
	}
	if s.writable()[0] == "/" {
		return false, &SpecError{"Writable", "/", "the root of this machine is not copied; name a folder with a system in it as Root"}
	}
	return true, nil
}

// process implements place.
func (s *wrappedSandbox) process(j *job, c Command) (args, env []string) {
	args = []string{
		s.engine.cfg.Command, "--die-with-parent", "--new-session", "--unshare-pid", "--unshare-ipc",
		"--unshare-uts", "--unshare-cgroup-try", "--hostname", "sandbox",
	}
	if os.Geteuid() == 0 {
		// What root may do to files, and not what it may do to the machine.
		args = append(args, "--cap-drop", "ALL")
		for _, capability := range []string{"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID"} {
			args = append(args, "--cap-add", "CAP_"+capability)
		}
	} else {
		args = append(args, "--unshare-user", "--uid", "0", "--gid", "0")
	}
	if s.engine.cfg.NoNetwork {
		args = append(args, "--unshare-net")
	}
	dirs := s.writable()
	if dirs[0] == "/" {
		args = append(args, "--bind", s.own(0), "/")
		dirs = nil
	} else {
		args = append(args, "--ro-bind", s.spec.Root, "/")
	}
	for i, dir := range dirs {
		if _, err := os.Stat(s.own(i)); err == nil {
			args = append(args, "--bind", s.own(i), dir)
		}
	}
	args = append(args, "--proc", "/proc", "--dev", "/dev")
	if info, err := os.Lstat(filepath.Join(s.spec.Root, resolver)); err == nil && info.Mode().IsRegular() && !s.engine.cfg.NoNetwork {
		args = append(args, "--ro-bind-try", resolver, resolver)
	}
	vars := map[string]string{"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}
	maps.Copy(vars, s.spec.Env)
	maps.Copy(vars, c.Env)
	vars["HOMING_EXEC"], vars["HOMING_SANDBOX"] = j.nonce, s.id
	args = append(args, "--chdir", "/", "--")
	return append(args, wrapped(c, true, s.spec.ulimits())...), pairs(vars)
}

// end implements place: with the first process of a process space all others end.
func (s *wrappedSandbox) end(ctx context.Context, j *job) {
	endGroup(j.pid)
	_ = endMarked(ctx, execMark+j.nonce, j.pid)
}

// fault implements place.
func (s *wrappedSandbox) fault(_ context.Context, j *job, code int, stderr []byte) error {
	if j.hasBegun() {
		return nil
	}
	return &EngineError{Op: "bwrap", ExitCode: code, Stderr: lastWords(stderr)}
}

// clear implements place.
func (s *wrappedSandbox) clear(context.Context) bool { return false }
