package qwen

import (
	"context"
	"fmt"
	"strings"
)

// lookAtPaths prints one letter for each path: d for a folder, f for anything else that is
// there, b for what only the base has, - for what is nowhere.
const lookAtPaths = `cd "$1" || exit 1
base=$2; shift 2
for p; do
if [ -d "./$p" ] && [ ! -L "./$p" ]; then printf d
elif [ -e "./$p" ] || [ -L "./$p" ]; then printf f
elif git cat-file -e "$base:$p" 2>/dev/null; then printf b
else printf -- -; fi
done`

// makePatch adds each path on its own, and goes on when that fails: what git tracks needs
// no adding. -f is for new files that are ignored, and not for folders, where it would
// take build products along. Standard error stays apart: warnings are no part of a patch.
const makePatch = `cd "$1" || exit 1
base=$2; shift 2
for p; do
if [ -d "./$p" ] && [ ! -L "./$p" ]; then git --literal-pathspecs add -N -- "$p"
else git --literal-pathspecs add -N -f -- "$p"; fi >/dev/null 2>&1
done
exec git --literal-pathspecs -c core.quotepath=off diff --no-color --no-ext-diff --no-textconv --binary --no-renames --src-prefix=a/ --dst-prefix=b/ "$base" -- "$@"`

// submit makes the patch.
func (e *SandboxExecutor) submit(ctx context.Context, a Submit) (Result, error) {
	if e.base == "" {
		return failed("there is no git repository in %s, so there is no patch to submit", e.root), nil
	}
	paths, missing, err := e.existing(ctx, a.Paths)
	if err != nil {
		return Result{}, err
	}
	if len(missing) > 0 {
		return failed("not submitted: %s does not exist, neither now nor in the commit that the task began with; correct the list", strings.Join(missing, ", ")), nil
	}
	out, err := e.script(ctx, nil, makePatch, append([]string{e.root, e.base}, paths...)...)
	switch {
	case err != nil:
		return Result{}, err
	case out.ExitCode != 0:
		return shellFailure(out), nil
	case out.Cut:
		return failed("not submitted: the patch is longer than the sandbox keeps; leave large files out"), nil
	}
	if len(out.Stdout) == 0 && !e.insisted {
		e.insisted = true
		return failed("not submitted: there is no change in the listed files (%s). If nothing has to change, call finish again", strings.Join(paths, ", ")), nil
	}
	return Result{Output: []byte("submitted\n"), Submission: &Submission{Patch: out.Stdout}}, nil
}

// existing returns the paths as they are in the repository, and those that are nowhere. A
// path below a folder named as the repository itself is, which is not there, is meant
// without it.
func (e *SandboxExecutor) existing(ctx context.Context, names []string) (paths, missing []string, err error) {
	prefix := e.root[strings.LastIndexByte(e.root, '/')+1:] + "/"
	asked := append([]string(nil), names...)
	for _, name := range names {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			asked = append(asked, rest)
		}
	}
	out, err := e.script(ctx, nil, lookAtPaths, append([]string{e.root, e.base}, asked...)...)
	if err != nil {
		return nil, nil, err
	}
	if out.ExitCode != 0 || len(out.Stdout) != len(asked) {
		return nil, nil, fmt.Errorf("qwen: executor: the paths cannot be looked at: %s", firstLine(out.Stderr))
	}
	found := map[string]bool{}
	for i, name := range asked {
		found[name] = out.Stdout[i] != '-'
	}
	for _, name := range names {
		rest, ok := strings.CutPrefix(name, prefix)
		switch {
		case found[name]:
			paths = append(paths, name)
		case ok && found[rest]:
			paths = append(paths, rest)
		default:
			missing = append(missing, name)
		}
	}
	return paths, missing, nil
}
