package harness

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/homing-go/homing/qwen"
)

// attempts are the ways in which a patch is applied, in the order of the Python harness. The
// patch is on standard input.
var attempts = [][]string{
	{"git", "apply", "--verbose", "-"},
	{"git", "apply", "--verbose", "--reject", "-"},
	{"patch", "--batch", "--fuzz=5", "-p1", "-i", "-"},
}

// An attempt that failed may have left a part of the patch. snapshot notes the tree, with
// what is not in its index but not what is ignored; restore goes back to it.
const (
	snapshot = `d=$(git rev-parse --absolute-git-dir) && cp "$d/index" "$d/homing-index" && GIT_INDEX_FILE="$d/homing-index" git add -A`
	restore  = `d=$(git rev-parse --absolute-git-dir) && cd "$(git rev-parse --show-toplevel)" && GIT_INDEX_FILE="$d/homing-index" git checkout-index -a -f -q && GIT_INDEX_FILE="$d/homing-index" git clean -f -d -q`
	forget   = `rm -f "$(git rev-parse --absolute-git-dir)/homing-index"`
)

// applyPatch applies the patch of a prediction.
func (p *place) applyPatch(ctx context.Context, patch string) error {
	runnable, noted := false, false
	for i, argv := range attempts {
		if i == 1 { // the first one changes nothing when it fails
			noted = p.quiet(ctx, snapshot)
		} else if i > 1 && noted {
			p.quiet(ctx, restore)
		}
		out, err := p.run(ctx, p.timeout, qwen.Command{Args: argv, Stdin: []byte(patch), Merge: true})
		if err != nil {
			return lost(err)
		}
		p.log.printf("%s: exit code %d\n%s", strings.Join(argv, " "), out.ExitCode, out.Stdout)
		if out.ExitCode != 126 && out.ExitCode != 127 {
			runnable = true
		}
		if out.ExitCode == 0 {
			p.log.printf(">>>>> Applied Patch")
			if noted {
				p.quiet(ctx, forget)
			}
			return nil
		}
	}
	if !runnable {
		return &infraError{"its sandbox has neither git nor patch"}
	}
	p.log.printf("%s", markPatch)
	return &patchError{reasonPatch}
}

// quiet runs a script whose failure matters to nobody but the log.
func (p *place) quiet(ctx context.Context, script string, args ...string) bool {
	out, err := p.run(ctx, p.timeout, qwen.Command{Args: append([]string{"sh", "-c", script, "sh"}, args...), Merge: true})
	if err != nil || out.ExitCode != 0 {
		p.log.printf("%s: exit code %d, %v\n%s", script, out.ExitCode, err, out.Stdout)
	}
	return err == nil && out.ExitCode == 0
}

// restoreTests takes files as the base commit has them; those that it does not have are
// removed: whatever the prediction wrote there, the tests are the dataset's.
const restoreTests = `base=HEAD; git cat-file -e "$1^{commit}" 2> /dev/null && base=$1; shift
for f; do
	if git cat-file -e "$base:$f" 2> /dev/null; then rm -rf -- "$f"; git checkout -q "$base" -- "$f" || exit 1; else rm -rf -- "$f"; fi
done`

// applyTests applies the test patch.
func (p *place) applyTests(ctx context.Context, patch, base string) error {
	if strings.TrimSpace(patch) == "" {
		return nil
	}
	files := patchFiles(patch)
	for chunk := range slices.Chunk(files, 100) {
		if !p.quiet(ctx, restoreTests, append([]string{base}, chunk...)...) {
			return &infraError{"the files of the test patch could not be taken from the base commit"}
		}
	}
	out, err := p.run(ctx, p.timeout, qwen.Command{Args: []string{"git", "apply", "--verbose", "-"}, Stdin: []byte(patch), Merge: true})
	if err != nil {
		return lost(err)
	}
	p.log.printf("test patch: exit code %d\n%s", out.ExitCode, out.Stdout)
	if out.ExitCode != 0 {
		return &infraError{"the test patch of the row did not apply"}
	}
	return nil
}

// patchFiles are the files that a patch of git's names, before and after it.
func patchFiles(patch string) []string {
	var files []string
	add := func(name string) {
		if strings.HasPrefix(name, `"`) {
			if plain, err := strconv.Unquote(name); err == nil { // git's quoting is that of C
				name = plain
			}
		} else {
			name, _, _ = strings.Cut(name, "\t")
		}
		for _, side := range []string{"a/", "b/"} {
			if rest, ok := strings.CutPrefix(name, side); ok {
				name = rest
				break
			}
		}
		if name = path.Clean(name); name == "/dev/null" || path.IsAbs(name) || name == "." || name == ".." || strings.HasPrefix(name, "../") {
			return
		}
		if !slices.Contains(files, name) {
			files = append(files, name)
		}
	}
	header := false
	for line := range strings.Lines(patch) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(line, "diff --git "):
			header = true
			// Binary files are named here alone, twice by one name.
			if both := strings.TrimPrefix(line, "diff --git "); len(both)%2 == 1 && strings.HasPrefix(both[len(both)/2:], " b/") && both[2:len(both)/2] == both[len(both)/2+3:] {
				add(both[:len(both)/2])
			}
		case strings.HasPrefix(line, "@@ "):
			header = false
		case header || !strings.Contains(patch, "diff --git "):
			for _, prefix := range []string{"--- ", "+++ ", "rename from ", "rename to ", "copy to "} {
				if name, ok := strings.CutPrefix(line, prefix); ok {
					add(name)
				}
			}
		}
	}
	return files
}
