package sandbox_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/homing-go/homing/swebench/sandbox"
	"github.com/homing-go/homing/swebench/sandbox/sandboxtest"
	"github.com/stretchr/testify/require"
)

// A command that breaks the shell has done so itself: those after it are answered as by a
// shell, and the place has not failed.
func TestASandboxWithoutItsShellAnswers(t *testing.T) {
	t.Parallel()
	spaces(t, func(t *testing.T, b bed) {
		if b.name == "bwrap" { // elsewhere the root cannot be changed
			r, err := sandbox.NewBubblewrap(sandbox.BubblewrapConfig{Folder: b.folder, Writable: []string{"/"}})
			require.NoError(t, err)
			b.Runtime = r
		}
		other := b.start(t)
		for _, script := range []string{
			"echo content >file; rm -rf /bin", "chmod 0 /bin/busybox",
			"rm /bin/sh; echo '#!/bin/true' >/bin/sh; chmod 755 /bin/sh",
		} {
			s := b.start(t)
			out, err := s.Run(t.Context(), sh("mount --bind /bin/true /bin/sh 2>/dev/null; "+script))
			require.NoError(t, err, script)
			require.Zero(t, out.ExitCode, "%s: %s", script, out.Stdout)
			out, err = s.Run(t.Context(), sh("echo on"))
			require.NoError(t, err, script)
			require.Equal(t, 127, out.ExitCode, script)
			require.True(t, strings.HasPrefix(string(out.Stdout), "there is no /bin/sh in this sandbox that works: "), "%s: %s", script, out.Stdout)
			err = s.CopyIn(t.Context(), "file", strings.NewReader("x"), 0)
			require.Error(t, err, script)
			require.NotErrorIs(t, err, sandbox.ErrGone, script)
			_, err = s.CopyOut(t.Context(), "file")
			require.ErrorContains(t, err, "no /bin/sh", script)
		}
		require.Equal(t, "on\n", run(t, other, "echo on"))
	})
}

// Without a program to wait with, the first process of a container still does not spin, nor
// does anything fill the engine's logs.
func TestTheFirstProcessOfAContainerWaitsWithoutPrograms(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"docker", "podman"} {
		for _, shell := range []string{"dash", "bash"} { // busybox has all programs in it
			t.Run(name+" "+shell, func(t *testing.T) {
				t.Parallel()
				sandboxtest.Require(t, name)
				root := sandboxtest.Root(t)
				sandboxtest.Add(t, root, shell)
				require.NoError(t, os.Remove(filepath.Join(root, "bin/sh")))
				require.NoError(t, os.Symlink(shell, filepath.Join(root, "bin/sh")))
				waitsWithoutPrograms(t, newBedOf(t, name, root))
			})
		}
	}
}

func waitsWithoutPrograms(t *testing.T, b bed) {
	t.Helper()
	s := b.start(t)
	_, err := s.Run(t.Context(), sh("echo flood >/proc/1/fd/1; echo flood >/proc/1/fd/2; rm -rf /bin; kill -9 -1"))
	require.NoError(t, err)
	ask := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), b.client, append(args, s.ID())...).Output()
		require.NoError(t, err)
		return strings.TrimSpace(string(out))
	}
	first := ask("inspect", "--format={{.State.Pid}}")
	if _, err := os.Stat("/proc/" + first); err != nil {
		t.Skip("the engine is on another machine: its processes were not looked at")
	}
	require.Eventually(t, func() bool {
		stats, err := filepath.Glob("/proc/[0-9]*/stat")
		require.NoError(t, err)
		for _, name := range stats {
			stat, _ := os.ReadFile(name)
			if strings.Contains(string(stat), fmt.Sprintf(") T %s ", first)) {
				return true
			}
		}
		return false
	}, 10*time.Second, 10*time.Millisecond, "a child that has stopped")
	require.Empty(t, ask("logs"))
}

// What a command does to its own streams neither ends Run early nor keeps it for ever.
func TestRunEndsWithTheCommandWhateverBecomesOfItsStreams(t *testing.T) {
	t.Parallel()
	beds(t, func(t *testing.T, b bed) {
		s := b.start(t)
		out, err := s.Run(t.Context(), sh("exec >&- 2>&-; sleep 1; echo late >file; exit 5"))
		require.NoError(t, err)
		require.Equal(t, 5, out.ExitCode)
		require.Equal(t, "late\n", run(t, s, "cat file"))
		res, err := sandbox.Exec(t.Context(), s, sandbox.Command{Args: []string{"sh", "-c", "exec >&- 2>&- <&-; sleep 1000"}, Timeout: time.Second})
		require.NoError(t, err)
		require.True(t, res.TimedOut)
		out, err = s.Run(t.Context(), sh("cat; read x; echo $?; read x </dev/tty || exit 4"))
		require.NoError(t, err)
		require.Equal(t, 4, out.ExitCode, "nobody types")
		require.True(t, strings.HasPrefix(string(out.Stdout), "1\n"), "%s", out.Stdout)

		begun := time.Now()
		out, err = s.Run(t.Context(), sh("echo a; (setsid sh -c 'sleep 1000; echo late' &); exit 6"))
		require.NoError(t, err)
		require.Less(t, time.Since(begun), 30*time.Second)
		require.Equal(t, 6, out.ExitCode)
		require.Equal(t, "a\n", string(out.Stdout))
		require.Equal(t, "on\n", run(t, s, "echo on"))
	})
}

func TestLimitsCannotBeRaisedFromInside(t *testing.T) {
	t.Parallel()
	spaces(t, func(t *testing.T, b bed) {
		b.spec.FileBytes, b.spec.PIDs = 1<<20, 30
		s := b.start(t)
		out, err := s.Run(t.Context(), sh(`ulimit -f unlimited; ulimit -Hf unlimited
for f in /sys/fs/cgroup/*max /sys/fs/cgroup/*/*max /sys/fs/cgroup/*/*limit*; do echo max >"$f"; echo -1 >"$f"; done 2>/dev/null
mkdir /sys/fs/cgroup/pids/x && echo $$ >/sys/fs/cgroup/pids/x/cgroup.procs
mount -t tmpfs none /testbed; dd if=/dev/zero of=big bs=1024 count=4096; stat -c %s big`))
		require.NoError(t, err)
		require.Contains(t, string(out.Stdout), "\n1048576\n")
		if b.client != "" {
			out, err = s.Run(t.Context(), sh("i=0; while [ $i -lt 60 ]; do sleep 1000 & i=$((i+1)); done; exit 0"))
			require.NoError(t, err)
			require.Contains(t, string(out.Stdout), "fork")
		}
		require.Equal(t, "on\n", run(t, s, "echo on"))
	})
}
