package runnertest_test

import (
	"os/exec"
	"testing"

	"github.com/homing-go/homing/swebench/dataset"
	"github.com/homing-go/homing/swebench/harness"
	"github.com/homing-go/homing/swebench/runner/runnertest"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The tests of a task fail before the right edit and pass after it, and the rows can be read.
func TestTasks(t *testing.T) {
	t.Parallel()
	for name, tasks := range map[string][]runnertest.Task{"sh": runnertest.Tasks(), "python3": runnertest.PythonTasks()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, program := range []string{"git", "sh", name} {
				if _, err := exec.LookPath(program); err != nil {
					t.Skipf("%s is missing: the tasks cannot be tried", program)
				}
			}
			set, err := runnertest.Write(t.TempDir(), tasks...)
			require.NoError(t, err)
			require.Equal(t, 4, set.Solved())
			rows, err := dataset.Load(t.Context(), dataset.Source{Path: set.Dataset})
			require.NoError(t, err)
			require.Len(t, rows, 6)
			for i, task := range set.Tasks {
				row := rows[i]
				statuses := func(script string) (fail, pass harness.Status) {
					cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
					cmd.Dir = row.Repo
					out, _ := cmd.CombinedOutput()
					all := harness.ParserFor(row)(string(out))
					return all[row.FailToPass[0]], all[row.PassToPass[0]]
				}
				edit := "rm -rf __pycache__ && cat >" + task.File() + " <<'END'\n" + task.Fixed() + "END\n"
				fail, pass := statuses("git apply - <<'END'\n" + row.TestPatch + "END\n" + row.TestCommand)
				require.Equal(t, []harness.Status{harness.Failed, harness.Passed}, []harness.Status{fail, pass}, task.ID)
				fail, pass = statuses(edit + row.TestCommand)
				want := harness.Failed
				if task.Solved {
					want = harness.Passed
				}
				require.Equal(t, []harness.Status{want, harness.Passed}, []harness.Status{fail, pass}, task.ID)
			}
		})
	}
}
