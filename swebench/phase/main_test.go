package phase_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// needShell skips where sh is missing, unless HOMING_REQUIRE demands it.
func needShell(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("sh"); err == nil {
		return
	}
	for required := range strings.SplitSeq(os.Getenv("HOMING_REQUIRE"), ",") {
		require.NotEqual(t, "sh", strings.TrimSpace(required), "HOMING_REQUIRE demands sh")
	}
	t.Skip("sh is missing: child processes were not run")
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(data)
}
