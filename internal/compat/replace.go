package compat

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// NeedsReplace checks that a package does not build without the replace of a module
// in the go.mod at hand, so that the replace goes when its reason does.
func NeedsReplace(t *testing.T, module, pkg string) {
	t.Helper()
	dir := t.TempDir()
	mod, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	own, err := os.ReadFile("go.sum")
	require.NoError(t, err)
	above, err := os.ReadFile(filepath.Join(filepath.Dir(readme(t)), "go.sum")) // has the version that homing asks for
	require.NoError(t, err)
	file := filepath.Join(dir, "go.mod")
	require.NoError(t, os.WriteFile(file, mod, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), append(own, above...), 0o600))
	out, err := exec.CommandContext(t.Context(), "go", "mod", "edit", "-dropreplace", module, file).CombinedOutput()
	require.NoError(t, err, "%s", out)

	out, err = exec.CommandContext(t.Context(), "go", "build", "-mod=mod", "-modfile", file, pkg).CombinedOutput()
	require.Error(t, err, "%s builds without the replace of %s: drop it from go.mod", pkg, module)
	require.Contains(t, string(out), "# "+filepath.Dir(pkg), "it is not the compiler that refuses")
}
