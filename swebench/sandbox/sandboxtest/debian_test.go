package sandboxtest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/homing-go/homing/internal/need"
	"github.com/homing-go/homing/swebench/sandbox/sandboxtest"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDebianHasWhatWasAskedFor(t *testing.T) {
	if !need.Listed("debootstrap") {
		t.Skip("HOMING_REQUIRE does not list debootstrap: no minute is spent on a root folder of Debian")
	}
	root := sandboxtest.Debian(t, "git", "python3")
	for _, name := range []string{"usr/bin/git", "usr/bin/python3", "bin/bash"} {
		_, err := os.Stat(filepath.Join(root, name))
		require.NoError(t, err)
	}
	require.Equal(t, root, sandboxtest.Debian(t, "git", "python3"), "made once")
}
