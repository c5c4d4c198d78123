package qwen

import (
	"path"
	"strings"

	"github.com/homing-go/homing/model"
)

// The names of the three tools.
const (
	toolBash   = "bash"
	toolFinish = "finish"
	toolEditor = "str_replace_editor"
)

// A Toolset is the three tools of a SWE-bench agent: bash, finish and str_replace_editor.
// It turns the calls of an answer into typed actions, which an [Executor] carries out. The
// zero value works.
type Toolset struct {
	// Root is the folder of the repository where commands run; "" means /testbed.
	Root string
	// Alias is another absolute path by which the model may name Root, for a repository that
	// is not where the prompt or the model's training has it; "" means none. It holds for the
	// paths of finish and str_replace_editor, and commands are left as they are.
	Alias string
	// MaxPayload bounds a command and a text to write, in bytes; 0 means 1 MiB.
	MaxPayload int
}

func (s Toolset) root() string {
	if s.Root == "" {
		return "/testbed"
	}
	return path.Clean(s.Root)
}

// inRoot is a path with Root in the place of Alias.
func (s Toolset) inRoot(name string) string {
	if s.Alias == "" {
		return name
	}
	rest, ok := strings.CutPrefix(name, path.Clean(s.Alias))
	if !ok || (rest != "" && rest[0] != '/') {
		return name
	}
	return s.root() + rest
}

func (s Toolset) maxPayload() int {
	if s.MaxPayload == 0 {
		return 1 << 20
	}
	return s.MaxPayload
}

// Tools returns the definitions, for a request or a trajectory.
func (s Toolset) Tools() *model.Tools {
	tools, err := model.NewTools(
		model.ToolDef{
			Name: toolBash,
			Description: "Runs a command with bash in " + s.root() + " and returns its output and its exit code. " +
				"Each call starts a new shell: a cd or an exported variable does not last.",
			Parameters: []byte(`{"type":"object","properties":{"command":{"type":"string","description":"The command, as one text."}},"required":["command"]}`),
		},
		model.ToolDef{
			Name: toolFinish,
			Description: "Ends the task and submits the changes of the listed files. " +
				"List every source file that is part of the solution, and no other: no tests or scripts made on the way.",
			Parameters: []byte(`{"type":"object","properties":{"files_modified":{"type":"array","items":{"type":"string"},` +
				`"description":"Paths of the files that were changed, added or removed."}},"required":["files_modified"]}`),
		},
		model.ToolDef{
			Name: toolEditor,
			Description: "Shows and changes files. view shows a file with line numbers, or a folder. " +
				"str_replace replaces old_str, which must occur exactly once in the file, by new_str. " +
				"create writes new_str as the whole content of a file and makes the folders above it.",
			Parameters: []byte(`{"type":"object","properties":{` +
				`"command":{"type":"string","enum":["view","str_replace","create"],"description":"What to do."},` +
				`"path":{"type":"string","description":"Path of the file, absolute or from the repository."},` +
				`"old_str":{"type":"string","description":"For str_replace: the text to replace, without line numbers and with its white space."},` +
				`"new_str":{"type":"string","description":"For str_replace: the new text. For create: the content."},` +
				`"view_range":{"type":"array","items":{"type":"integer"},"description":"For view: first and last line, such as [10, 40]; -1 as the last means the end."}` +
				`},"required":["command","path"]}`),
		},
	)
	if err != nil {
		panic(err) // the definitions are constants
	}
	return tools
}
