package sandbox

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// LocalConfig configures a [Local]. The zero value works.
type LocalConfig struct {
	// Env is the environment of commands; Spec.Env is on top of it. nil means what of PATH,
	// HOME, USER, SHELL, LANG, LC_ALL, TZ and TMPDIR this process has, and nothing else:
	// secrets of this process are not for a model.
	Env []string
	// Folder is where the working copies are; "" means one of this user in the temporary
	// folder. Processes that share it see each other's sandboxes.
	Folder string
	// MaxOutput is as in [DockerConfig].
	MaxOutput int
}

// Local runs commands as processes of this machine: it isolates nothing. It is for tests, and
// for programs that run inside of a container themselves. It is safe for concurrent use.
//
// A sandbox with a Spec.Root works in a copy of that folder, which [Dir] names, and Spec.Dir
// is not used. Without one it works in Spec.Dir itself, which stays when the sandbox stops.
// The copy may be anywhere, so a command that names /testbed does not find it.
//
// When a command has to end, its process group is ended, and on Linux also all descendants
// that can be found by their environment or by their parents; one that has cleared its
// environment and lost its parents gets away. The same goes for Stop and what was left in the
// background.
type Local struct {
	folders

	env    []string
	output int
}

var _ Runtime = (*Local)(nil)

// inherited is what a command gets of the environment of this process.
var inherited = []string{"PATH", "HOME", "USER", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR"}

// NewLocal returns a runtime.
func NewLocal(cfg LocalConfig) *Local {
	l := &Local{folders: foldersAt(cfg.Folder, "local"), env: slices.Clone(cfg.Env), output: cfg.MaxOutput}
	if cfg.Env == nil {
		for _, name := range inherited {
			if value, ok := os.LookupEnv(name); ok {
				l.env = append(l.env, name+"="+value)
			}
		}
	}
	return l
}

// Prepare implements [Runtime]: there are no images, and all are there.
func (l *Local) Prepare(ctx context.Context, _ ...string) error { return ctx.Err() }

// Start implements [Runtime].
func (l *Local) Start(ctx context.Context, spec Spec) (Sandbox, error) {
	spec, err := spec.checked()
	if err != nil {
		return nil, &StartError{Image: spec.Root, Err: err}
	}
	id, err := l.make(spec, func(d draft) error {
		if spec.Root != "" {
			return d.copyTree(ctx, spec.Root, "work")
		}
		return os.MkdirAll(spec.Dir, 0o755) //nolint:gosec // as every working folder
	})
	if err != nil {
		return nil, &StartError{Image: spec.Root, Err: err}
	}
	return l.sandbox(id, spec), nil
}

// Attach implements [Runtime].
func (l *Local) Attach(ctx context.Context, id string) (Sandbox, error) {
	spec, err := l.attach(ctx, id)
	if err != nil {
		return nil, err
	}
	return l.sandbox(id, spec), nil
}

// Remove implements [Runtime].
func (l *Local) Remove(ctx context.Context, ids ...string) error {
	for _, id := range ids {
		if err := checkID(id); err != nil {
			return err
		}
		_ = endMarked(context.WithoutCancel(ctx), sandboxMark+id, 0)
		if err := l.remove(id); err != nil {
			return err
		}
	}
	return nil
}

// A localSandbox is a [Sandbox] of [Local].
type localSandbox struct {
	runner

	local  *Local
	id     string
	env    []string
	limits string
}

var _ Sandbox = (*localSandbox)(nil)

func (l *Local) sandbox(id string, spec Spec) *localSandbox {
	dir := spec.Dir
	if spec.Root != "" {
		dir = filepath.Join(l.dir, id, "work")
	}
	s := &localSandbox{local: l, id: id, limits: spec.ulimits(), env: append(slices.Clone(l.env), pairs(spec.Env)...)}
	s.runner = runner{place: s, dir: dir, output: l.output}
	return s
}

func pairs(env map[string]string) (list []string) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}

// ID implements [Sandbox].
func (s *localSandbox) ID() string { return s.id }

// Stop implements [Sandbox].
func (s *localSandbox) Stop(ctx context.Context) error {
	_ = s.close("the sandbox " + s.id + " was stopped")
	s.idle.Wait()
	return s.local.Remove(ctx, s.id)
}

// process implements place.
func (s *localSandbox) process(j *job, c Command) (args, env []string) {
	env = append(slices.Clone(s.env), pairs(c.Env)...)
	env = append(env, sandboxMark+s.id, execMark+j.nonce)
	return wrapped(c, false, s.limits), env
}

// end implements place.
func (s *localSandbox) end(ctx context.Context, j *job) {
	_ = endMarked(ctx, execMark+j.nonce, j.pid)
	endGroup(j.pid)
}

// fault implements place.
func (s *localSandbox) fault(_ context.Context, j *job, code int, stderr []byte) error {
	if j.hasBegun() {
		return nil
	}
	return &EngineError{Op: "the shell of this machine (" + runtime.GOOS + ")", ExitCode: code, Stderr: lastWords(stderr)}
}

// clear implements place.
func (s *localSandbox) clear(context.Context) bool { return false }
