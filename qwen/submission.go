package qwen

import (
	"fmt"
	"path"
	"strings"

	"github.com/homing-go/homing/internal/rawjson"
)

// maxPaths bounds the paths of one submission in bytes, since they are arguments of processes.
const maxPaths = 128 << 10

// submit translates a call of finish. One path that cannot be submitted refuses the call:
// a patch without it would be half of the work.
func (s Toolset) submit(id string, a *arguments) (Action, *CallError) {
	const param = "files_modified"
	var paths []string
	seen := map[string]bool{}
	size := 0
	for e := rawjson.Elements(a.values[param]); e.Next(); {
		name := rawjson.Text(e.Value)
		inside, reason := s.relative(name)
		if reason != "" {
			return nil, a.refuse(KindBadValue, param, "%q %s; name files inside of %s", shorten(name), reason, s.root())
		}
		if !seen[inside] {
			seen[inside] = true
			paths = append(paths, inside)
			size += len(inside) + 1
		}
	}
	if len(paths) == 0 {
		return nil, a.refuse(KindBadValue, param, "the list is empty; name every file that is part of the solution")
	}
	if size > maxPaths {
		return nil, a.refuse(KindTooLarge, param, "the paths have %d bytes, and the limit is %d; name folders instead of all that is in them", size, maxPaths)
	}
	return Submit{CallID: id, Paths: paths}, nil
}

// relative returns a path clean and relative to the repository, or why it cannot be
// submitted.
func (s Toolset) relative(name string) (inside, reason string) {
	root := s.root()
	if strings.Contains(name, "\x00") {
		return "", "holds a NUL character"
	}
	if name == "" {
		return "", "is empty"
	}
	if len(name) > maxPath {
		return "", fmt.Sprintf("has %d bytes, and no system takes more than %d", len(name), maxPath)
	}
	full := name
	if !strings.HasPrefix(name, "/") {
		full = root + "/" + name
	}
	full = path.Clean(s.inRoot(path.Clean(full)))
	if full == root {
		return "", "is the whole repository, scratch files included"
	}
	inside, ok := strings.CutPrefix(full, strings.TrimSuffix(root, "/")+"/")
	switch {
	case !ok:
		return "", "is outside of the repository"
	case inside == ".git" || strings.HasPrefix(inside, ".git/"):
		return "", "belongs to git itself"
	}
	return inside, ""
}
