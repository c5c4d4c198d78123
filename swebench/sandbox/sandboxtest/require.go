package sandboxtest

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/homing-go/homing/internal/need"
)

// Require skips the test when one of these programs is missing or does not answer, with a line
// that names it. When HOMING_REQUIRE lists it, separated by commas, the test fails instead.
// Of docker, podman and bwrap it is asked whether they work; others need only be there.
func Require(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		if why := missing(t, name); why != "" {
			need.Missing(t, name, why)
		}
	}
}

func missing(t testing.TB, name string) string {
	t.Helper()
	program, err := exec.LookPath(name)
	if err != nil {
		return name + " is missing"
	}
	probe := map[string][]string{
		"docker": {"version"},
		"podman": {"info"},
		"bwrap":  {"--ro-bind", "/", "/", "--unshare-pid", "--", "/bin/sh", "-c", "exit 0"},
	}[name]
	if probe == nil {
		return ""
	}
	out, err := exec.CommandContext(t.Context(), program, probe...).CombinedOutput() //nolint:gosec // one of the names above
	if err != nil {
		return name + " does not work here: " + strings.TrimSpace(string(out[max(0, len(out)-300):]))
	}
	return ""
}
