package harness_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/homing-go/homing/swebench/internal/program"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if plan := os.Getenv(stubPlan); plan != "" { // this process stands in for the Python harness
		os.Exit(stub(plan, os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

// needTools skips where sh, bash, git or patch is missing, unless HOMING_REQUIRE demands them.
func needTools(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err == nil {
			continue
		}
		for required := range strings.SplitSeq(os.Getenv("HOMING_REQUIRE"), ",") {
			require.NotEqual(t, tool, strings.TrimSpace(required), "HOMING_REQUIRE demands %s", tool)
		}
		t.Skipf("%s is missing", tool)
	}
}

func read(t *testing.T, elem ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elem...))
	require.NoError(t, err)
	return string(data)
}

func put(t *testing.T, text string, elem ...string) string {
	t.Helper()
	name := filepath.Join(elem...)
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	program.Write(t, name, text)
	return name
}
