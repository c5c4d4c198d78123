package qwen

import (
	"strconv"
	"strings"

	"github.com/homing-go/homing/internal/rawjson"
)

// maxPath is what Linux takes as a path. Paths travel as arguments of processes, which may
// not be long.
const maxPath = 4096

// edit translates a call of the editor.
func (s Toolset) edit(id string, a *arguments) (Action, *CallError) {
	command, _, err := a.text("command")
	if err != nil {
		return nil, err
	}
	name, _, err := a.text("path")
	switch {
	case err != nil:
		return nil, err
	case name == "":
		return nil, a.refuse(KindBadValue, "path", "the path is empty; name a file")
	case len(name) > maxPath:
		return nil, a.refuse(KindBadValue, "path", "the path has %d bytes, and no system takes more than %d; name a file", len(name), maxPath)
	}
	file := s.resolve(name)
	switch command {
	case "view":
		return s.view(id, file, a)
	case "str_replace":
		return s.replace(id, file, a)
	}
	// Models that know another editor write file_text. Without either the file would be
	// emptied.
	content, given, err := a.text("new_str")
	if err == nil && !given {
		content, given, err = a.text("file_text")
	}
	switch {
	case err != nil:
		return nil, err
	case !given:
		return nil, a.refuse(KindMissingParam, "new_str", "create needs the content of the file in new_str; an empty text makes an empty file")
	}
	return Write{CallID: id, Path: file, Content: content}, nil
}

// resolve makes a path absolute. Nothing else is done to it: taking .. away would go wrong
// behind a symbolic link. What is outside of the repository may be read and written, since
// the shell can do that anyway.
func (s Toolset) resolve(name string) string {
	if strings.HasPrefix(name, "/") {
		return s.inRoot(name)
	}
	for strings.HasPrefix(name, "./") {
		name = strings.TrimLeft(name[2:], "/")
	}
	if name == "" || name == "." {
		return s.root()
	}
	return strings.TrimSuffix(s.root(), "/") + "/" + name
}

func (s Toolset) replace(id, file string, a *arguments) (Action, *CallError) {
	from, given, err := a.text("old_str")
	switch {
	case err != nil:
		return nil, err
	case !given:
		return nil, a.refuse(KindMissingParam, "old_str", "str_replace needs the text to replace in old_str")
	case from == "":
		return nil, a.refuse(KindBadValue, "old_str", "it is empty; give the text to replace, or use create for a new file")
	}
	to, _, err := a.text("new_str")
	switch {
	case err != nil:
		return nil, err
	case from == to:
		return nil, a.refuse(KindBadValue, "new_str", "it equals old_str, so nothing would change")
	}
	return Edit{CallID: id, Path: file, Old: from, New: to}, nil
}

const rangeRule = "give the first and the last line, such as [10, 40]; -1 as the last means the end of the file"

func (s Toolset) view(id, file string, a *arguments) (Action, *CallError) {
	value, given := a.values["view_range"]
	if !given {
		return View{CallID: id, Path: file}, nil
	}
	var lines []int
	for e := rawjson.Elements(value); e.Next(); {
		if len(lines) == 2 {
			lines = append(lines, 0)
			break
		}
		n, err := strconv.Atoi(string(e.Value))
		if err != nil {
			return nil, a.refuse(KindBadValue, "view_range", "%s is too large for a line number; %s", shorten(string(e.Value)), rangeRule)
		}
		lines = append(lines, n)
	}
	if len(lines) != 2 {
		return nil, a.refuse(KindBadType, "view_range", "%s", rangeRule)
	}
	start, end := lines[0], lines[1]
	if start == 0 {
		start = 1
	}
	if start < 0 || end != -1 && end < start {
		return nil, a.refuse(KindBadValue, "view_range", "[%d, %d] holds no line; %s", lines[0], end, rangeRule)
	}
	return View{CallID: id, Path: file, Start: start, End: end}, nil
}
