package runner

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/homing-go/homing/swebench/agent"
	"github.com/homing-go/homing/swebench/dataset"
	"github.com/homing-go/homing/swebench/harness"
	"github.com/homing-go/homing/swebench/sandbox"
)

// The names that commands have for sandboxes and harnesses.
const (
	SandboxNames = "local, docker, podman or bwrap[=ROOT]"
	HarnessNames = "native, official or none"
)

// dirCheckouts is where the checkouts of a run are, in its output folder.
const dirCheckouts = ".repos"

// A Place is where sandboxes are, as a command's flag names it.
type Place struct {
	// Name is one of SandboxNames: bwrap=ROOT names the root folder for rows without one.
	Name string
	// Base is the folder that relative paths of rows are below.
	Base string
	// Dir is where the repository is in a sandbox; "" means /testbed.
	Dir string
	// MemoryBytes and PIDs are those of a [sandbox.Spec]. 0 means no limit, except that Docker
	// gets one of 4096 processes: it has none of its own, and a model can write a fork bomb.
	MemoryBytes int64
	PIDs        int
}

// dockerPIDs is more than tests run at a time.
const dockerPIDs = 4096

// Open returns the runtime and the workspace around it, whose checkouts are below cache.
func (p Place) Open(cache string) (*Workspace, error) {
	w := &Workspace{Base: p.Base, Cache: filepath.Join(cache, dirCheckouts), Dir: p.Dir, MemoryBytes: p.MemoryBytes, PIDs: p.PIDs}
	kind, root, _ := strings.Cut(p.Name, "=")
	if root != "" && kind != "bwrap" && kind != "bubblewrap" {
		kind = p.Name
	}
	var err error
	switch kind {
	case "local":
		w.Local, w.Runtime = true, sandbox.NewLocal(sandbox.LocalConfig{})
	case "docker":
		w.Runtime, err = sandbox.NewDocker(sandbox.DockerConfig{CommandFromEnv: true})
		w.PIDs = cmp.Or(p.PIDs, dockerPIDs)
	case "podman":
		w.Runtime, err = sandbox.NewDocker(sandbox.DockerConfig{Command: []string{"podman"}})
	case "bwrap", "bubblewrap":
		cfg := sandbox.BubblewrapConfig{Root: root}
		if root != "" {
			cfg.Images = filepath.Dir(filepath.Clean(root))
			if info, err := os.Stat(root); err != nil || !info.IsDir() {
				return nil, &ConfigError{Field: "sandbox", Reason: fmt.Sprintf("there is no root folder %q", root)}
			}
		}
		w.Runtime, err = sandbox.NewBubblewrap(cfg)
		w.plainRoot = root
	default:
		err = &ConfigError{Field: "sandbox", Reason: fmt.Sprintf("it is %.40q, want %s", p.Name, SandboxNames)}
	}
	if err != nil {
		return nil, err
	}
	return w, nil
}

// NewEvaluator returns the evaluator of a name among HarnessNames, nil for none. The native
// one grades in sandboxes of the workspace. The official one is the command in the
// environment variable SWEBENCH_HARNESS, split at spaces, else the Python module.
func NewEvaluator(name string, w *Workspace, workers int, hide ...string) (harness.Evaluator, error) {
	switch name {
	case "native":
		return harness.Native{Runtime: w, Spec: w.Spec, Workers: workers}, nil
	case "official":
		return harness.Official{Command: strings.Fields(os.Getenv("SWEBENCH_HARNESS")), Workers: workers, Hide: hide}, nil
	case "none":
		return nil, nil
	}
	return nil, &ConfigError{Field: "harness", Reason: fmt.Sprintf("it is %.40q, want %s", name, HarnessNames)}
}

// gradable finds rows that the native grader cannot grade before agents work on them.
func gradable(name string, rows []dataset.Row) error {
	if name != "native" {
		return nil
	}
	var ids []string
	for _, row := range rows {
		if (row.TestCommand == "" && row.EvalScript == "") || len(row.FailToPass)+len(row.PassToPass) == 0 {
			ids = append(ids, row.InstanceID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return &ConfigError{Field: "harness", Reason: fmt.Sprintf(
		"native needs a test_command or an eval_script, and FAIL_TO_PASS or PASS_TO_PASS, which %d rows do not have; use official: %s", len(ids), named(ids))}
}

// LoadTemplate returns the template default or qwen_tools, or that of configuration files of
// mini-swe-agent, which merge. No name means default.
func LoadTemplate(names ...string) (agent.Template, error) {
	for _, own := range []agent.Template{agent.Default(), agent.QwenTools()} {
		if len(names) == 1 && names[0] == own.Name {
			return own, nil
		}
	}
	if len(names) == 0 {
		return agent.Default(), nil
	}
	for _, name := range names {
		if name == agent.Default().Name || name == agent.QwenTools().Name {
			return agent.Template{}, &ConfigError{Field: "template", Reason: fmt.Sprintf("%q is one of the library's own and merges with no file; give one or the other", name)}
		}
	}
	for _, name := range names {
		if _, err := os.Stat(name); err != nil {
			return agent.Template{}, &ConfigError{Field: "template", Reason: err.Error() + "; the built-in ones are default and qwen_tools"}
		}
	}
	return agent.Load(names...)
}

// ParseSource returns the source that a text names: a file, a folder, or a dataset on a hub
// as HUB/datasets/OWNER/NAME, with @REVISION behind it if one is meant. In the path of a file
// {subset} and {split} stand for the two. HF_TOKEN in the environment is the hub's token, and
// HF_HUB_OFFLINE makes do with what was fetched before, as in the hub's own tools.
func ParseSource(text string) (dataset.Source, error) {
	if !isURL(text) {
		if text == "" {
			return dataset.Source{}, &ConfigError{Field: "dataset", Reason: "it is empty; name a file, a folder or a dataset on a hub"}
		}
		return dataset.Source{Path: text}, nil
	}
	base, repo, _ := strings.Cut(strings.TrimSuffix(text, "/"), "/datasets/")
	repo, revision, _ := strings.Cut(repo, "@")
	return dataset.Source{
		Hub: dataset.Hub{Base: base, Token: os.Getenv("HF_TOKEN"), Offline: isSet("HF_HUB_OFFLINE")}, Repo: repo, Revision: revision,
	}, nil
}

// isSet reports whether an environment variable says yes, as those of the hub's tools do.
func isSet(variable string) bool {
	return slices.Contains([]string{"1", "ON", "YES", "TRUE"}, strings.ToUpper(os.Getenv(variable)))
}

// SourceBase is the folder that relative paths in the rows of a source are below: that of its
// file.
func SourceBase(s dataset.Source) string {
	if s.Path == "" {
		return ""
	}
	if info, err := os.Stat(s.Path); err == nil && info.IsDir() {
		return s.Path
	}
	return filepath.Dir(s.Path)
}
