package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/homing-go/homing/qwen"
)

// gitDiff compares with the commit of the start and depends on no setting of the user's.
const gitDiff = `git --literal-pathspecs -c core.quotepath="$quote" diff --no-color --no-ext-diff --no-textconv --binary --no-renames --submodule=short --src-prefix=a/ --dst-prefix=b/`

// everything makes the patch of all that differs, new files that are not ignored included.
const everything = `cd "$1" || exit 1
quote=off
git add -N -A . >/dev/null 2>&1
exec ` + gitDiff + ` "$2" --`

// names prints what differs below some paths.
const names = `cd "$1" || exit 1
base=$2; shift 2
exec git --literal-pathspecs diff --name-only -z --no-renames "$base" -- "$@"`

// one makes the patch of one file, as text, or, with an attribute that says so, in git's
// own form for binary files, which is ASCII. The attribute goes where none overrides it.
const one = `cd "$1" || exit 1
quote=on
if [ "$4" = binary ]; then
	f=$(git rev-parse --git-path info/attributes) && mkdir -p "${f%/*}" || exit 1
	k=$(mktemp) && { cat "$f" >"$k" 2>/dev/null && had=1 || had=; } || exit 1
	trap 'if [ -n "$had" ]; then cat "$k" >"$f"; else rm -f "$f"; fi; rm -f "$k"' EXIT
	printf '\n* -diff\n' >>"$f" || exit 1
fi
` + gitDiff + ` "$2" -- "$3"`

// diff returns the patch of everything.
func (e *executor) diff(ctx context.Context, limit time.Duration) ([]byte, error) {
	if e.base == "" {
		return nil, nil
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out, err := e.script(limited, everything, e.dir, e.base)
	if err != nil && ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded) {
		return nil, noPatchError(fmt.Sprintf("git diff took longer than %v; take large files away", limit))
	}
	if err := failure(out, err); err != nil {
		return nil, err
	}
	return e.portable(ctx, limit, out.Stdout, []string{"."})
}

func (e *executor) tooLong(size int) error {
	return noPatchError(fmt.Sprintf("the patch has %d bytes, and at most %d are taken; leave large files out", size, e.limits.Patch))
}

// noPatchError tells the model why there is no patch; the sandbox is all right.
type noPatchError string

func (e noPatchError) Error() string { return "not submitted: " + string(e) }

// refused is the result for a patch that could not be made; another error is the sandbox's.
func refused(err error) (qwen.Result, error) {
	if none := noPatchError(""); errors.As(err, &none) {
		return qwen.Result{Output: []byte(none.Error() + "\n"), ExitCode: 1}, nil
	}
	return qwen.Result{}, err
}

func failure(out qwen.Output, err error) error {
	switch {
	case err != nil:
		return err
	case out.ExitCode != 0:
		return noPatchError(fmt.Sprintf("git diff failed with exit code %d: %.200s", out.ExitCode, strings.TrimSpace(string(out.Stderr))))
	case out.Cut:
		return noPatchError("the patch is longer than the sandbox keeps; leave large files out")
	}
	return nil
}

// portable returns a patch that is text. Predictions travel as JSON, which has no place for
// bytes that are no UTF-8: where there are such, the files that have them go in git's
// binary form, and their names in quotes. Other patches stay as they are.
func (e *executor) portable(ctx context.Context, limit time.Duration, patch []byte, paths []string) ([]byte, error) {
	if utf8.Valid(patch) || e.base == "" || len(patch) > e.limits.Patch {
		return patch, nil
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	whole, err := e.fileByFile(limited, paths)
	if err != nil && ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded) {
		return nil, noPatchError(fmt.Sprintf("files that are no UTF-8 took longer than %v; leave them out", limit))
	}
	return whole, err
}

// fileByFile makes the patch of each file on its own.
func (e *executor) fileByFile(ctx context.Context, paths []string) ([]byte, error) {
	out, err := e.script(ctx, names, append([]string{e.dir, e.base}, paths...)...)
	if err := failure(out, err); err != nil {
		return nil, err
	}
	var whole []byte
	for name := range bytes.SplitSeq(bytes.TrimSuffix(out.Stdout, []byte{0}), []byte{0}) {
		if len(name) == 0 {
			break // nothing differs
		}
		var part []byte
		for _, form := range []string{"text", "binary"} {
			out, err := e.script(ctx, one, e.dir, e.base, string(name), form)
			if err := failure(out, err); err != nil {
				return nil, err
			}
			if part = out.Stdout; utf8.Valid(part) {
				break
			}
		}
		if whole = append(whole, part...); len(whole) > e.limits.Patch {
			break // it is not taken, however long it is
		}
	}
	return whole, nil
}
