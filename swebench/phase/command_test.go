//go:build unix

package phase_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/homing-go/homing/internal/need"
	"github.com/homing-go/homing/swebench/phase"
	"github.com/homing-go/homing/swebench/redact"
	"github.com/homing-go/homing/swebench/sandbox/sandboxtest"
	"github.com/stretchr/testify/require"
)

const secret = "sk-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXY"

// shell makes a command that runs a script, with a short grace.
func shell(t *testing.T, script string) (phase.Command, string) {
	t.Helper()
	need.Programs(t, "sh")
	dir := t.TempDir()
	name := filepath.Join(dir, "phase.log")
	r := redact.New(secret)
	log, err := phase.Create(name, r, false)
	require.NoError(t, err)
	return phase.Command{
		Name: "agent", Argv: []string{"sh", "-c", script}, Dir: dir, Env: os.Environ(), Log: log, Grace: 300 * time.Millisecond, Hide: r.Text,
	}, name
}

// started waits until the script has written its process IDs to the file pids.
func started(t *testing.T, dir string, n int) []int {
	t.Helper()
	var pids []int
	require.Eventually(t, func() bool {
		data, _ := os.ReadFile(filepath.Join(dir, "pids"))
		pids = nil
		for field := range strings.FieldsSeq(string(data)) {
			pid, err := strconv.Atoi(field)
			require.NoError(t, err)
			pids = append(pids, pid)
		}
		return len(pids) == n
	}, 5*time.Second, 5*time.Millisecond)
	return pids
}

// requireGone waits until none of the processes does anything any more.
func requireGone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		require.Eventually(t, func() bool {
			if syscall.Kill(pid, 0) != nil {
				return true
			}
			// Killed, but nobody has asked for its end yet.
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			return err == nil && strings.Contains(string(stat), ") Z ")
		}, 5*time.Second, 5*time.Millisecond, "process %d lives", pid)
	}
}

func TestCommandLogs(t *testing.T) {
	t.Parallel()
	c, name := shell(t, "echo out; echo err >&2; cat; echo "+secret+"; printf "+secret[:30]+"; sleep 0.05; printf '"+secret[30:]+"'")
	require.NoError(t, c.Run(t.Context()))
	require.Equal(t, "out\nerr\n<redacted>\n<redacted>", read(t, name))
	entries, err := os.ReadDir(filepath.Dir(name))
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing but the log is left")
}

// A command that fails is an error with its code, its command and the last 50 lines of its
// output, without secrets.
func TestCommandFails(t *testing.T) {
	t.Parallel()
	c, name := shell(t, "i=0; while [ $i -lt 200 ]; do i=$((i+1)); echo line $i; done; echo "+secret+"; exit 7")
	err := c.Run(t.Context())
	var exit *phase.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 7, exit.Code)
	lines := strings.Split(exit.Tail, "\n")
	require.Len(t, lines, 50)
	require.Equal(t, []string{"line 152", "<redacted>"}, []string{lines[0], lines[49]})
	require.NotContains(t, err.Error(), secret)
	require.Contains(t, err.Error(), "sh -c")
	require.Contains(t, err.Error(), "7")
	require.Contains(t, read(t, name), "line 1\n")

	c, _ = shell(t, "")
	c.Argv = []string{"/does/not/exist"}
	require.ErrorAs(t, c.Run(t.Context()), &exit)
	require.Equal(t, -1, exit.Code)
	require.Contains(t, exit.Error(), "/does/not/exist")
}

// The end that an error shows of a huge output has at most 64 KiB and does not begin in
// the middle of a secret.
func TestCommandTail(t *testing.T) {
	t.Parallel()
	c, _ := shell(t, "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); printf '%s' '"+secret+" '; done; exit 1")
	err := c.Run(t.Context())
	require.Error(t, err)
	require.NotContains(t, err.Error(), secret[len(secret)-8:])
	require.Less(t, len(err.Error()), 70<<10)
}

// A run that is cancelled already starts no process.
func TestCommandCancelledBefore(t *testing.T) {
	t.Parallel()
	c, name := shell(t, "touch started")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, c.Run(ctx), context.Canceled)
	require.NoFileExists(t, filepath.Join(c.Dir, "started"))
	require.FileExists(t, name)
}

// A child that outlives its limit or is cancelled ends with its whole process group, and
// what it has written until then is kept.
func TestCase115_GroupEndsAndLogIsKept(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"limit", "cancel"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			c, name := shell(t, "sleep 1000 & echo partial; echo $$ $! > pids; sleep 1000")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if how == "limit" {
				c.Timeout = 200 * time.Millisecond
			}
			done := make(chan error, 1)
			go func() { done <- c.Run(ctx) }()
			pids := started(t, c.Dir, 2)
			if how == "cancel" {
				cancel()
			}
			err := <-done
			if how == "limit" {
				var exit *phase.ExitError
				require.ErrorAs(t, err, &exit)
				require.Contains(t, err.Error(), "200ms")
				require.Equal(t, "partial", exit.Tail)
			} else {
				require.ErrorIs(t, err, context.Canceled)
			}
			requireGone(t, pids)
			require.Equal(t, "partial\n", read(t, name))
		})
	}
}

// A child that ignores SIGTERM is killed after the grace period, and its children with it.
func TestCase116_IgnoredSIGTERMIsKilled(t *testing.T) {
	t.Parallel()
	c, name := shell(t, "trap '' TERM; (trap '' TERM; sleep 1000) & echo before; echo $$ $! > pids; while :; do sleep 0.02; done")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	pids := started(t, c.Dir, 2)
	begin := time.Now()
	cancel()
	err := <-done
	require.ErrorIs(t, err, context.Canceled)
	require.NotContains(t, err.Error(), "could not be killed")
	require.GreaterOrEqual(t, time.Since(begin), c.Grace, "it has its grace")
	requireGone(t, pids)
	require.Equal(t, "before\n", read(t, name))
}

// A child that ends cleanly on SIGTERM has the time for it.
func TestCommandHasItsGrace(t *testing.T) {
	t.Parallel()
	c, name := shell(t, "trap 'echo cleaned; exit 0' TERM; echo $$ > pids; while :; do sleep 0.01; done")
	c.Grace = 5 * time.Second
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	started(t, c.Dir, 1)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	require.Contains(t, read(t, name), "cleaned\n")
}

// SIGTERM goes to the whole group, and its grace is that of all.
func TestGroupHasItsGrace(t *testing.T) {
	t.Parallel()
	c, name := shell(t, "trap '' TERM; (trap 'echo child cleaned; exit 0' TERM; echo 1 > pids; while :; do sleep 0.01; done) & wait; sleep 1000")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	started(t, c.Dir, 1)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	require.Contains(t, read(t, name), "child cleaned\n")
}

// What a command leaves behind when it ends by itself is ended, whether it holds the
// output or not.
func TestCommandLeavesNothing(t *testing.T) {
	t.Parallel()
	c, _ := shell(t, "sleep 1000 & a=$!; (trap '' TERM; exec sleep 1000) >/dev/null 2>&1 & b=$!; sleep 0.1; echo $a $b > pids")
	require.NoError(t, c.Run(t.Context()))
	requireGone(t, started(t, c.Dir, 2))
}

func TestLogLimit(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "x.log")
	log, err := phase.Create(name, nil, false)
	require.NoError(t, err)
	chunk := []byte(strings.Repeat(strings.Repeat("x", 1023)+"\n", 1024))
	for range phase.MaxLogBytes/len(chunk) + 3 {
		_, err := log.Write(chunk)
		require.NoError(t, err)
	}
	require.NoFileExists(t, name, "a log appears when its phase has ended")
	require.NoError(t, log.Publish())
	require.NoError(t, log.Publish())
	info, err := os.Stat(name)
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(phase.MaxLogBytes+200))
	require.Contains(t, read(t, name)[phase.MaxLogBytes:], "the log was cut here")
	_, err = log.Write(chunk)
	require.ErrorIs(t, err, os.ErrClosed)
}

// A resumed run's log goes on behind that of the attempt before, whether that one was
// published or cut off.
func TestLogResume(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "x.log")
	attempt := func(text string, resume, publish bool) {
		log, err := phase.Create(name, nil, resume)
		require.NoError(t, err)
		fmt.Fprintln(log, text)
		if publish {
			require.NoError(t, log.Publish())
		}
	}
	attempt("zero", false, true)
	attempt("one", false, false)
	attempt("two", true, true)
	attempt("three", true, true)
	mark := "\n[the service was restarted]\n"
	require.Equal(t, "one\n"+mark+"two\n"+mark+"three\n", read(t, name))
	require.NoError(t, phase.PublishLeft(name), "there is none")
	attempt("four", true, false)
	require.NoError(t, phase.PublishLeft(name))
	require.Contains(t, read(t, name), "three\n"+mark+"four\n")
	require.NoError(t, os.Remove(name))
	require.NoError(t, os.Mkdir(name, 0o755))
	log, err := phase.Create(name, nil, true)
	require.NoError(t, err)
	require.Error(t, log.Publish())
}

func TestSweep(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("there is no /proc: processes cannot be found")
	}
	c, _ := shell(t, "sleep 1000 & echo $$ $! > pids; wait")
	c.Env = append(c.Env, phase.RunIDVariable+"=sweep-test-1")
	done := make(chan error, 1)
	go func() { done <- c.Run(t.Context()) }()
	pids := started(t, c.Dir, 2)
	require.Zero(t, phase.Sweep("sweep-test"))
	require.Positive(t, phase.Sweep("sweep-test-1")) // the first one takes the group with it
	var exit *phase.ExitError
	require.ErrorAs(t, <-done, &exit)
	requireGone(t, pids)
}

// A process of a container is not the service's own child, and whoever resumes the run may go
// on in that container.
func TestSweepLeavesContainers(t *testing.T) {
	t.Parallel()
	sandboxtest.Require(t, "bwrap")
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	inside := exec.CommandContext(ctx, "bwrap", "--ro-bind", "/", "/", "--bind", dir, "/tmp", "--unshare-pid", "--die-with-parent", "--proc", "/proc", "--",
		"env", phase.RunIDVariable+"=sweep-test-2", "sh", "-c", "echo here > /tmp/mark; sleep 1000; true")
	require.NoError(t, inside.Start())
	defer func() {
		cancel()
		_ = inside.Wait()
	}()
	require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(dir, "mark")); return err == nil }, 30*time.Second, time.Millisecond)
	require.Zero(t, phase.Sweep("sweep-test-2"))
}
