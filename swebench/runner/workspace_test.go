package runner_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/homing-go/homing/internal/need"
	"github.com/homing-go/homing/swebench/dataset"
	"github.com/homing-go/homing/swebench/runner"
	"github.com/homing-go/homing/swebench/sandbox"
	"github.com/stretchr/testify/require"
)

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%v: %s", args, out)
	return strings.TrimSpace(string(out))
}

func localWorkspace(dir string) *runner.Workspace {
	return &runner.Workspace{Runtime: sandbox.NewLocal(sandbox.LocalConfig{}), Local: true, Base: dir, Cache: filepath.Join(dir, "cache")}
}

// A row's repository is checked out at its base commit, and what came later, which may have
// the solution, is not in it. The repository itself is not changed.
func TestWorkspaceChecksOut(t *testing.T) {
	t.Parallel()
	need.Programs(t, "git", "sh", "cp")
	dir := t.TempDir()
	repo := filepath.Join(dir, "repo")
	require.NoError(t, os.Mkdir(repo, 0o755))
	git(t, repo, "init", "-q")
	require.NoError(t, os.WriteFile(filepath.Join(repo, "f"), []byte("old"), 0o644))
	git(t, repo, "add", "f")
	git(t, repo, "commit", "-q", "-m", "base")
	base := git(t, repo, "rev-parse", "HEAD")
	require.NoError(t, os.WriteFile(filepath.Join(repo, "f"), []byte("new"), 0o644))
	git(t, repo, "commit", "-q", "-a", "-m", "solution")
	git(t, repo, "tag", "v2")
	before := git(t, repo, "for-each-ref")

	w := localWorkspace(dir)
	for _, name := range []string{"repo", repo, "file://" + repo} {
		spec, err := w.Spec(t.Context(), dataset.Row{InstanceID: "a", Repo: name, BaseCommit: base})
		require.NoError(t, err)
		text, err := os.ReadFile(filepath.Join(spec.Root, "f"))
		require.NoError(t, err)
		require.Equal(t, "old", string(text))
		require.Equal(t, base, git(t, spec.Root, "rev-parse", "HEAD"))
		require.NotContains(t, git(t, spec.Root, "log", "--all", "--format=%s"), "solution")
		require.Empty(t, git(t, spec.Root, "status", "--porcelain"))
	}
	require.Equal(t, before, git(t, repo, "for-each-ref"))
	_, err := w.Spec(t.Context(), dataset.Row{InstanceID: "a", Repo: repo, BaseCommit: "--upload-pack=x"})
	require.ErrorContains(t, err, "which is none")
	_, err = w.Spec(t.Context(), dataset.Row{InstanceID: "a", Repo: repo, BaseCommit: strings.Repeat("a", 40)})
	require.ErrorContains(t, err, "cannot be checked out")
	left, err := filepath.Glob(filepath.Join(dir, "cache", "*.tmp"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// A folder that is no repository becomes one, a row without a repository gets an empty one,
// and one whose repository is not here does not start.
func TestWorkspaceOtherRows(t *testing.T) {
	t.Parallel()
	need.Programs(t, "git", "sh", "cp")
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "plain"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "plain", "f"), []byte("x"), 0o644))
	w := localWorkspace(dir)
	spec, err := w.Spec(t.Context(), dataset.Row{InstanceID: "a", ImageName: "plain"})
	require.NoError(t, err)
	require.Equal(t, "f", git(t, spec.Root, "ls-files"))
	require.NoDirExists(t, filepath.Join(dir, "plain", ".git"))
	spec, err = w.Spec(t.Context(), dataset.Row{InstanceID: "a"})
	require.NoError(t, err)
	require.Empty(t, git(t, spec.Root, "ls-files"))
	_, err = w.Spec(t.Context(), dataset.Row{InstanceID: "a", Repo: "astropy/astropy"})
	require.ErrorContains(t, err, `its repository "astropy/astropy" is no folder here`)

	images := &runner.Workspace{Runtime: w.Runtime, Base: dir, Cache: filepath.Join(dir, "cache")}
	spec, err = images.Spec(t.Context(), dataset.Row{InstanceID: "A__b-1", Repo: "astropy/astropy"})
	require.NoError(t, err)
	require.Equal(t, "docker.io/swebench/sweb.eval.x86_64.a_1776_b-1:latest", spec.Image)
	require.Empty(t, spec.Labels)
}
