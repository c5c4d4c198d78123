package sandbox_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/homing-go/homing/swebench/internal/program"
	"github.com/homing-go/homing/swebench/sandbox"
	"github.com/homing-go/homing/swebench/sandbox/sandboxtest"
	"github.com/stretchr/testify/require"
)

// child is what a process does that a test kills. It returns only if it fails.
func child(job string) error {
	ctx := context.Background()
	switch job {
	case "start":
		_, err := sandbox.NewLocal(sandbox.LocalConfig{Folder: os.Getenv("FOLDER")}).Start(ctx, sandbox.Spec{Root: os.Getenv("ROOT")})
		return fmt.Errorf("it started: %w", err)
	case "run":
		r, err := newRuntime(os.Getenv("KIND"), os.Getenv("FOLDER"))
		if err != nil {
			return err
		}
		s, err := r.Attach(ctx, os.Getenv("ID"))
		if err != nil {
			return err
		}
		if err := os.Mkdir(os.Getenv("ATTACHED"), 0o700); err != nil {
			return err
		}
		out, err := s.Run(ctx, sh(os.Getenv("SCRIPT")))
		return fmt.Errorf("it ended with %d: %s: %w", out.ExitCode, out.Stdout, err)
	}
	return fmt.Errorf("no such job: %s", job)
}

// newChild starts this program again, as a process that does a job until it is killed.
func newChild(t *testing.T, job string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(append(os.Environ(), "HOMING_TEST_CHILD="+job), env...)
	var said bytes.Buffer
	cmd.Stderr = &said
	cmd.WaitDelay = time.Second
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		if t.Failed() {
			t.Logf("the child said: %s", said.String())
		}
	})
	return cmd
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	require.NoError(t, cmd.Process.Kill())
	require.ErrorContains(t, cmd.Wait(), "killed")
}

// A process is killed while it copies the folder of the task. As long as it is alive, and as
// long as its copy goes on after it, no other process touches what it makes.
func TestWhatAKilledProcessHasHalfMadeIsRemoved(t *testing.T) {
	t.Parallel()
	sandboxtest.Require(t, "sh", "cp")
	folder, root, bin := t.TempDir(), t.TempDir(), t.TempDir()
	copying := filepath.Join(bin, "copying")
	goOn := filepath.Join(bin, "go-on")
	program.Write(t, filepath.Join(bin, "cp"), "#!/bin/sh\nmkdir '"+copying+"'\nwhile [ ! -e '"+goOn+"' ]; do /bin/sleep 0.01; done\n")
	cmd := newChild(t, "start", "FOLDER="+folder, "ROOT="+root, "PATH="+bin+":"+os.Getenv("PATH"))
	require.Eventually(t, func() bool { return isDir(copying) }, 30*time.Second, 10*time.Millisecond)

	local := sandbox.NewLocal(sandbox.LocalConfig{Folder: folder})
	untouched := func() {
		t.Helper()
		infos, err := local.List(t.Context(), nil)
		require.NoError(t, err)
		require.Empty(t, infos)
		entries, err := os.ReadDir(folder)
		require.NoError(t, err)
		require.Len(t, entries, 1)
		require.DirExists(t, filepath.Join(folder, entries[0].Name(), "work"))
	}
	untouched()
	kill(t, cmd)
	untouched()
	require.NoError(t, os.WriteFile(goOn, nil, 0o600))
	require.Eventually(t, func() bool {
		swept, err := sandbox.Sweep(t.Context(), local, map[string]string{"run": "of another"}, nil)
		require.NoError(t, err)
		require.Empty(t, swept)
		entries, err := os.ReadDir(folder)
		require.NoError(t, err)
		return len(entries) == 0
	}, 30*time.Second, 10*time.Millisecond)
}

// Every state in which a kill may leave a folder.
func TestWhatIsNotWholeIsRemovedAndNeverListed(t *testing.T) {
	t.Parallel()
	sandboxtest.Require(t, "sh", "cp")
	folder := t.TempDir()
	local := sandbox.NewLocal(sandbox.LocalConfig{Folder: folder})
	labels := map[string]string{"run": "r"}
	spec := sandbox.Spec{Root: t.TempDir(), Labels: labels}
	whole, err := local.Start(t.Context(), spec)
	require.NoError(t, err)
	record, err := os.ReadFile(filepath.Join(folder, whole.ID(), "sandbox.json"))
	require.NoError(t, err)
	for name, content := range map[string]string{
		".new-empty": "", ".new-torn": string(record[:len(record)/2]), ".new-full": string(record),
		".old-full": string(record), ".old-torn": "", ".old-half": string(record),
	} {
		path := filepath.Join(folder, name)
		require.NoError(t, os.MkdirAll(filepath.Join(path, "work/below"), 0o700))
		if content != "" {
			require.NoError(t, os.WriteFile(filepath.Join(path, "sandbox.json"), []byte(content), 0o600))
		}
	}
	require.NoError(t, os.Chmod(filepath.Join(folder, ".old-full/work"), 0), "as a task may do")

	require.NoError(t, local.Remove(t.Context(), "half"), "a removal that was begun is ended by its ID")
	require.NoDirExists(t, filepath.Join(folder, ".old-half"))
	for _, id := range []string{"full", "torn", "empty", ".new-full", ".old-full"} {
		_, err = local.Attach(t.Context(), id)
		require.Error(t, err, id)
	}
	infos, err := local.List(t.Context(), labels)
	require.NoError(t, err)
	require.Len(t, infos, 1)
	require.Equal(t, whole.ID(), infos[0].ID)
	require.True(t, infos[0].Running)
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 1, "all else is gone")
	require.NoError(t, whole.Stop(t.Context()))

	require.NoError(t, os.RemoveAll(folder))
	spec.Root = filepath.Join(spec.Root, "missing")
	_, err = local.Start(t.Context(), spec)
	require.Error(t, err)
	entries, err = os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, entries, "nor does a start that failed leave anything")
}

// asleep matches a process, and no shell whose script names it.
var asleep = regexp.MustCompile(`(?m)^[ 0-9]*sleep 3333 *$`)

// What a process that was killed has begun does not go on beside what its successor begins, nor
// what it left in the background: nothing tells them apart.
func TestAttachEndsWhatAKilledProcessHasBegun(t *testing.T) {
	t.Parallel()
	beds(t, func(t *testing.T, b bed) {
		s, other := b.start(t), b.start(t)
		run(t, s, "echo state >file")
		run(t, s, "(setsid sleep 3331 >/dev/null 2>&1 &)")
		run(t, other, "(setsid sleep 3334 >/dev/null 2>&1 &)")
		script := "trap '' TERM INT HUP; (env -i setsid sleep 3332 &); sleep 3333"
		if b.name == "local" { // what it cannot find, as its documentation says
			script = strings.ReplaceAll(script, "env -i ", "")
		}
		attached := filepath.Join(t.TempDir(), "attached")
		cmd := newChild(t, "run", "KIND="+b.name, "FOLDER="+b.folder, "ID="+s.ID(), "SCRIPT="+script, "ATTACHED="+attached)
		require.Eventually(t, func() bool { return isDir(attached) }, time.Minute, 10*time.Millisecond)
		require.Eventually(t, func() bool {
			return asleep.MatchString(b.processes(t, s))
		}, time.Minute, 50*time.Millisecond)
		kill(t, cmd)
		again, err := b.Attach(t.Context(), s.ID())
		require.NoError(t, err)
		require.NotContains(t, b.processes(t, s), "sleep 333")
		require.Equal(t, sandbox.Dir(s), sandbox.Dir(again))
		require.Equal(t, "state\n", run(t, again, "cat file"), "the files are as they were")
		if b.name != "bwrap" {
			require.Contains(t, b.processes(t, other), "sleep 3334", "of another sandbox")
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = b.Attach(cancelled, s.ID())
		require.ErrorIs(t, err, context.Canceled)
	})
}
