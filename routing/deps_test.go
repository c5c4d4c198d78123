package routing_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Who imports routing gets no SDK with it.
func TestDependencies(t *testing.T) {
	t.Parallel()
	path, err := exec.LookPath("go")
	if err != nil {
		t.Skip("there is no go command on PATH to list the dependencies")
	}
	out, err := exec.CommandContext(t.Context(), path, "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	require.NoError(t, err)
	require.Equal(t, []string{
		"github.com/google/uuid",
		"github.com/homing-go/homing/internal/rawjson",
		"github.com/homing-go/homing/routing",
	}, strings.Fields(string(out)))
}
