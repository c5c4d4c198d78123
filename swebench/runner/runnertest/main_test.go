package runnertest_test

import (
	"os/exec"
	"testing"

	"github.com/homing-go/homing/swebench/dataset"
	"github.com/homing-go/homing/swebench/runner/runnertest"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The tests of a task fail before the right edit and pass after it, and the rows can be read.
func TestTasks(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"git", "sh"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is missing: the tasks cannot be written", program)
		}
	}
	set, err := runnertest.Write(t.TempDir(), runnertest.Tasks()...)
	require.NoError(t, err)
	require.Equal(t, 4, set.Solved())
	rows, err := dataset.Load(t.Context(), dataset.Source{Path: set.Dataset})
	require.NoError(t, err)
	require.Len(t, rows, 6)
	run := func(script string, args ...string) error {
		return exec.CommandContext(t.Context(), "sh", append([]string{"-c", script, "sh"}, args...)...).Run()
	}
	const check = `cd "$1" && . ./lib.sh && eval "$2"`
	for _, task := range set.Tasks {
		repo := set.Repos + "/" + task.ID
		require.Contains(t, task.Lib, task.Old)
		require.NoError(t, run(check, repo, task.Kept), task.ID)
		require.Error(t, run(check, repo, task.Test), task.ID)
	}
}
