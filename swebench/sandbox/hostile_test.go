package sandbox_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/homing-go/homing/swebench/sandbox"
	"github.com/homing-go/homing/swebench/sandbox/sandboxtest"
	"github.com/stretchr/testify/require"
)

// containers runs a test on the engines that are here.
func containers(t *testing.T, test func(t *testing.T, b bed)) {
	t.Helper()
	for _, name := range []string{"docker", "podman"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newBed(t, name))
		})
	}
}

// spaces runs a test on the runtimes that give commands a process space of their own.
func spaces(t *testing.T, test func(t *testing.T, b bed)) {
	t.Helper()
	beds(t, func(t *testing.T, b bed) {
		if b.name != "local" {
			test(t, b)
		}
	})
}

func TestAContainerFullOfProcessesIsCleared(t *testing.T) {
	t.Parallel()
	containers(t, func(t *testing.T, b bed) {
		b.spec.PIDs = 30
		s, other := b.start(t), b.start(t)
		limited, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		out, err := s.Run(limited, sh(`trap '' TERM; bomb() { bomb | bomb & }; bomb 2>/dev/null & exec sleep 1000`))
		require.ErrorIs(t, err, context.DeadlineExceeded, "%d: %s", out.ExitCode, out.Stdout)
		require.Equal(t, -1, out.ExitCode)
		require.Equal(t, "on\n", run(t, s, "echo on"))
		require.Equal(t, "on\n", run(t, other, "echo on"))
		// In the background it fills the container after its command has ended.
		_, err = s.Run(t.Context(), sh(`i=0; while [ $i -lt 40 ]; do (env -i setsid sleep 1000 >/dev/null 2>&1 &) ; i=$((i+1)); done 2>/dev/null; exit 0`))
		require.NoError(t, err)
		require.Equal(t, "on\n", run(t, s, "echo on"))
	})
}

func TestTheFirstProcessIsOutOfReach(t *testing.T) {
	t.Parallel()
	spaces(t, func(t *testing.T, b bed) {
		s := b.start(t)
		for _, script := range []string{
			"kill -9 1", "kill 1", "kill -INT 1; kill -HUP 1; kill -QUIT 1", "for p in /proc/[0-9]*; do kill -9 ${p#/proc/}; done", "kill -9 -1", "kill -USR1 1; sleep 1",
		} {
			_, err := s.Run(t.Context(), sh(script))
			require.NoError(t, err, script)
			require.Equal(t, "on\n", run(t, s, "echo on"), script)
		}
	})
}

func TestMemoryAndFilesAreBounded(t *testing.T) {
	t.Parallel()
	beds(t, func(t *testing.T, b bed) {
		b.spec.MemoryBytes, b.spec.FileBytes = 256<<20, 1<<20
		s := b.start(t)
		out, err := s.Run(t.Context(), sh("dd if=/dev/zero of=big bs=1024 count=4096; ls -l big"))
		require.NoError(t, err)
		require.Contains(t, string(out.Stdout), "1048576")
		out, err = s.Run(t.Context(), sh(`dd if=/dev/zero of=/dev/null bs=1G count=1`))
		require.NoError(t, err)
		require.NotZero(t, out.ExitCode)
		require.Equal(t, "on\n", run(t, s, "echo on"))
	})
}

func TestALifetimeThatIsOverIsADeadSandbox(t *testing.T) {
	t.Parallel()
	containers(t, func(t *testing.T, b bed) {
		b.spec.Lifetime = 3 * time.Second
		s := b.start(t)
		require.Eventually(t, func() bool { // also when all else is ended time and again
			_, err := s.Run(t.Context(), sh("for p in /proc/[0-9]*; do p=${p#/proc/}; [ $p = $$ ] || kill -9 $p; done 2>/dev/null; sleep 1"))
			return err != nil
		}, 30*time.Second, time.Millisecond)
		_, err := s.Run(t.Context(), sh("echo"))
		require.ErrorIs(t, err, sandbox.ErrGone)
		infos, err := b.List(t.Context(), b.spec.Labels)
		require.NoError(t, err)
		require.Len(t, infos, 1)
		require.False(t, infos[0].Running)
	})
}

// The file that activates the test environment is read once by bash, also when it runs bash
// itself, and programs below inherit what it set.
func TestBashActivatesTheEnvironmentOnce(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"bwrap", "docker", "podman"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sandboxtest.Require(t, name)
			root := sandboxtest.Root(t)
			sandboxtest.Add(t, root, "bash")
			rc := "echo read; x=$(bash -c 'echo below'); export PATH=/opt/env/bin:$PATH ACTIVE=$x\n"
			require.NoError(t, os.WriteFile(filepath.Join(root, "root/.bashrc"), []byte(rc), 0o644))
			b := newBedOf(t, name, root)
			s := b.start(t)
			res, err := sandbox.Exec(t.Context(), s, sandbox.Command{Shell: `echo "$ACTIVE"; sh -c 'bash -c "echo \$ACTIVE \$PATH"'`, Timeout: time.Minute})
			require.NoError(t, err)
			text := string(res.Stdout.Bytes())
			require.True(t, strings.HasPrefix(text, "read\nbelow\nbelow /opt/env/bin:/"), "%s", text)
			require.Equal(t, 1, strings.Count(text, "read"))
		})
	}
}

// The first process of a command stays known by its number, when neither its environment nor
// that of its children tells where they belong.
func TestACommandThatForgetsItsEnvironmentEndsWhole(t *testing.T) {
	t.Parallel()
	beds(t, func(t *testing.T, b bed) {
		s := b.start(t)
		own := strconv.Itoa(10_000 + rand.IntN(1e6)) // of all processes of this machine
		res, err := sandbox.Exec(t.Context(), s, sandbox.Command{
			Args:    []string{"sh", "-c", "exec env -i sh -c 'setsid sleep 1" + own + " & echo started; sleep 2" + own + "'"},
			Timeout: 1500 * time.Millisecond,
		})
		require.NoError(t, err)
		require.True(t, res.TimedOut)
		require.Equal(t, "started\n", string(res.Stdout.Bytes()))
		require.False(t, anyRuns(t, b, s, "sleep 1"+own))
		require.False(t, anyRuns(t, b, s, "sleep 2"+own))
		require.Equal(t, "on\n", run(t, s, "echo on"))
	})
}

// anyRuns tells whether a process has these arguments, whatever its environment.
func anyRuns(t *testing.T, b bed, s sandbox.Sandbox, args string) bool {
	t.Helper()
	if b.client != "" {
		return strings.Contains(run(t, s, "ps -o args"), args)
	}
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, name := range names {
		line, _ := os.ReadFile(name)
		if strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " ")) == args {
			return true
		}
	}
	return false
}

// Over the root of this machine a sandbox can use the machine's programs. It sees nothing of
// the folders that people write to, and none of them is copied.
func TestMachineAsRoot(t *testing.T) {
	t.Parallel()
	sandboxtest.Require(t, "bwrap")
	b := newBedOf(t, "bwrap", "/")
	mine, err := os.MkdirTemp("", "homing-mine-")
	require.NoError(t, err)
	defer os.RemoveAll(mine)
	b.spec.Dir = "/tmp/repository/here"
	s := b.start(t)
	require.Equal(t, "/tmp/repository/here\n", run(t, s, "pwd"))
	require.Equal(t, "repository\n", run(t, s, "ls -A /tmp"))
	require.Empty(t, run(t, s, "ls -A /root /home | grep -v : | grep . || true"))
	run(t, s, "echo x > /tmp/file; echo y > ~/file; cat /tmp/file ~/file; ! echo z > /etc/homing-test")
	require.NoFileExists(t, "/tmp/file")

	wide, err := sandbox.NewBubblewrap(sandbox.BubblewrapConfig{Writable: []string{"/"}, Folder: t.TempDir()})
	require.NoError(t, err)
	_, err = wide.Start(t.Context(), sandbox.Spec{Root: "/", Dir: "/tmp"})
	require.ErrorContains(t, err, "the root of this machine is not copied")
}
