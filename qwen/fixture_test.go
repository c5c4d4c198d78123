package qwen_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/homing-go/homing/qwen"
	"github.com/stretchr/testify/require"
)

// newRoot makes the folder of a repository. Its name counts.
func newRoot(t *testing.T) string {
	t.Helper()
	root := filepath.Join(must(filepath.EvalSymlinks(t.TempDir())), "testbed")
	require.NoError(t, os.Mkdir(root, 0o755))
	return root
}

// environment is that of the sandbox: no configuration of this machine's user.
func environment() []string {
	return append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
}

func shell(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Dir, cmd.Env = dir, environment()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", script, out)
	return string(out)
}

// A fileValue is the content of a file: its text, or an object that describes it.
type fileValue struct {
	content []byte
	mode    os.FileMode
	absent  bool
}

func (f *fileValue) UnmarshalJSON(raw []byte) error {
	f.mode = 0
	if string(raw) == "null" {
		f.absent = true
		return nil
	}
	if raw[0] == '"' {
		var text string
		err := json.Unmarshal(raw, &text)
		f.content = []byte(text)
		return err
	}
	var object struct {
		Text   *string `json:"text"`
		Base64 *string `json:"base64"`
		Repeat *string `json:"repeat"`
		Count  int     `json:"count"`
		Mode   string  `json:"mode"`
	}
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.DisallowUnknownFields()
	if err := d.Decode(&object); err != nil {
		return err
	}
	switch {
	case object.Text != nil:
		f.content = []byte(*object.Text)
	case object.Base64 != nil:
		var err error
		if f.content, err = base64.StdEncoding.DecodeString(*object.Base64); err != nil {
			return err
		}
	case object.Repeat != nil:
		f.content = []byte(strings.Repeat(*object.Repeat, object.Count))
	}
	if object.Mode != "" {
		mode, err := strconv.ParseUint(object.Mode, 8, 32)
		if err != nil {
			return err
		}
		f.mode = os.FileMode(mode)
	}
	return nil
}

func (f *fileValue) write(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, f.content, 0o644))
	if f.mode != 0 {
		require.NoError(t, os.Chmod(path, f.mode))
	}
}

// A fixture is what is there before the action runs.
type fixture struct {
	Files        map[string]*fileValue `json:"files"`
	GitCommitted map[string]*fileValue `json:"git_committed"`
	Steps        []struct {
		Write  string          `json:"write"`
		Text   *string         `json:"text"`
		Base64 *string         `json:"base64"`
		Repeat *string         `json:"repeat"`
		Count  int             `json:"count"`
		Mode   string          `json:"mode"`
		Value  json.RawMessage `json:"value"`
		Delete string          `json:"delete"`
		Shell  string          `json:"shell"`
	} `json:"steps"`
}

// build makes the fixture and returns an executor that noted its commit before the steps.
func (f *fixture) build(t *testing.T, root string) *qwen.SandboxExecutor {
	t.Helper()
	if f == nil {
		f = &fixture{}
	}
	if f.GitCommitted != nil {
		for name, value := range f.GitCommitted {
			value.write(t, name)
		}
		shell(t, root, "git init -q . && git add -A -f && git commit -q -m base")
	}
	executor, err := qwen.NewExecutor(t.Context(), qwen.Local{Env: environment()}, qwen.ExecutorConfig{Root: root})
	require.NoError(t, err)
	for name, value := range f.Files {
		value.write(t, name)
	}
	for _, step := range f.Steps {
		switch {
		case step.Write != "":
			value := &fileValue{}
			object := map[string]any{"count": step.Count, "mode": step.Mode}
			for name, text := range map[string]*string{"text": step.Text, "base64": step.Base64, "repeat": step.Repeat} {
				if text != nil {
					object[name] = *text
				}
			}
			require.NoError(t, json.Unmarshal(must(json.Marshal(object)), value))
			if step.Value != nil {
				require.NoError(t, json.Unmarshal(step.Value, value))
			}
			value.write(t, step.Write)
		case step.Delete != "":
			require.NoError(t, os.RemoveAll(step.Delete))
		default:
			require.NotEmpty(t, step.Shell)
			shell(t, root, step.Shell)
		}
	}
	return executor
}

// wantRun is the outcome of an action.
type wantRun struct {
	Stdout         *string               `json:"stdout"`
	StdoutContains string                `json:"stdout_contains"`
	StdoutNotEmpty bool                  `json:"stdout_not_empty"`
	IgnoreFinal    bool                  `json:"ignore_final_newline"`
	RC             *int                  `json:"rc"`
	RCNonzero      bool                  `json:"rc_nonzero"`
	FilesAfter     map[string]*fileValue `json:"files_after"`
	SizeAfter      map[string]int64      `json:"size_after"`
	Submits        *bool                 `json:"submits"`
	PatchPaths     []string              `json:"patch_paths"`
	PatchContains  string                `json:"patch_contains"`
	PatchLacks     string                `json:"patch_lacks"`
	Reports        string                `json:"reports"`
}

func (w *wantRun) check(t *testing.T, root string, f *fixture, action qwen.Action) {
	t.Helper()
	executor := f.build(t, root)
	res, err := executor.Execute(t.Context(), action)
	require.NoError(t, err)
	out := string(res.Output)
	if w.Stdout != nil {
		want := *w.Stdout
		if w.IgnoreFinal {
			want, out = strings.TrimSuffix(want, "\n"), strings.TrimSuffix(out, "\n")
		}
		require.Equal(t, want, out)
	}
	require.Contains(t, out, w.StdoutContains)
	if w.StdoutNotEmpty {
		require.NotEmpty(t, strings.TrimSpace(out))
	}
	if w.RC != nil {
		require.Equal(t, *w.RC, res.ExitCode, "%s", out)
	}
	if w.RCNonzero {
		require.NotZero(t, res.ExitCode)
		require.NotEmpty(t, out)
	}
	for name, value := range w.FilesAfter {
		if value == nil || value.absent {
			require.NoFileExists(t, name)
			continue
		}
		require.Equal(t, value.content, must(os.ReadFile(name)), name)
		if value.mode != 0 {
			require.Equal(t, value.mode, must(os.Stat(name)).Mode().Perm(), name)
		}
	}
	for name, size := range w.SizeAfter {
		require.Equal(t, size, must(os.Stat(name)).Size(), name)
	}
	if w.Submits != nil {
		require.Equal(t, *w.Submits, res.Submission != nil, "%s", out)
	}
	w.checkPatch(t, root, res)
	if w.Reports != "" {
		require.Nil(t, res.Submission)
		requireGist(t, w.Reports, out+res.Note)
	}
}

var (
	patchHeader = regexp.MustCompile(`(?m)^diff --git (?:"?a/.*"?) (?:"b/(.*)"|b/(.*))$`)
	gistTokens  = regexp.MustCompile(`\S*[./0-9]\S*`)
)

// checkPatch: the patch names the files, and git applies it to the commit it began with.
func (w *wantRun) checkPatch(t *testing.T, root string, res qwen.Result) {
	t.Helper()
	if w.PatchPaths == nil && w.PatchContains == "" && w.PatchLacks == "" {
		return
	}
	require.NotNil(t, res.Submission)
	patch := string(res.Submission.Patch)
	var paths []string
	for _, m := range patchHeader.FindAllStringSubmatch(patch, -1) {
		name := m[2]
		if m[1] != "" {
			name = must(strconv.Unquote(`"` + m[1] + `"`))
		}
		paths = append(paths, name)
	}
	if w.PatchPaths != nil {
		sort.Strings(paths)
		sort.Strings(w.PatchPaths)
		require.Equal(t, w.PatchPaths, paths)
	}
	require.Contains(t, patch, w.PatchContains)
	if w.PatchLacks != "" {
		require.NotContains(t, patch, w.PatchLacks)
	}
	first := strings.TrimSpace(shell(t, root, "git rev-list --max-parents=0 HEAD"))
	clone := filepath.Join(t.TempDir(), "clone")
	shell(t, root, "git -c core.autocrlf=false clone -q . '"+clone+"'")
	shell(t, clone, "git config core.autocrlf false; git checkout -q "+first)
	require.NoError(t, os.WriteFile(clone+".patch", res.Submission.Patch, 0o600))
	shell(t, clone, "git apply --check '"+clone+".patch'")
}

// requireGist: the report names the same files and numbers and speaks of the same thing.
func requireGist(t *testing.T, gist, got string) {
	t.Helper()
	if strings.Contains(got, gist) {
		return
	}
	require.NotEmpty(t, strings.TrimSpace(got))
	for _, token := range gistTokens.FindAllString(gist, -1) {
		require.Contains(t, got, strings.Trim(token, ".,:;"), "the gist is %q", gist)
	}
	t.Logf("the gist %q is told as %q", gist, got)
}
