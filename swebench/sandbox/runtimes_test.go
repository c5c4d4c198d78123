package sandbox_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/homing-go/homing/qwen"
	"github.com/homing-go/homing/swebench/sandbox"
	"github.com/homing-go/homing/swebench/sandbox/sandboxtest"
	"github.com/stretchr/testify/require"
)

// a bed is one runtime to try everything on.
type bed struct {
	name string
	sandbox.Runtime

	spec   sandbox.Spec
	client string // of the engine
	folder string // of those without one
}

// beds runs a test on every runtime that is here.
func beds(t *testing.T, test func(t *testing.T, b bed)) {
	t.Helper()
	for _, name := range []string{"local", "bwrap", "docker", "podman"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newBed(t, name))
		})
	}
}

func newBed(t *testing.T, name string) bed {
	t.Helper()
	if name == "local" {
		sandboxtest.Require(t, "sh", "cp")
		return newBedOf(t, name, t.TempDir())
	}
	sandboxtest.Require(t, name)
	return newBedOf(t, name, sandboxtest.Root(t))
}

func newBedOf(t *testing.T, name, root string) bed {
	t.Helper()
	b := bed{name: name, folder: t.TempDir(), spec: sandbox.Spec{Labels: map[string]string{"test": t.Name() + " " + rand.Text()}}}
	if name == "local" || name == "bwrap" {
		b.spec.Root = root
	} else {
		b.client = name
		b.spec.Image = sandboxtest.Image(t, name, root)
	}
	r, err := newRuntime(name, b.folder)
	require.NoError(t, err)
	b.Runtime = r
	return b
}

func newRuntime(name, folder string) (sandbox.Runtime, error) {
	switch name {
	case "local":
		return sandbox.NewLocal(sandbox.LocalConfig{Folder: folder}), nil
	case "bwrap":
		return sandbox.NewBubblewrap(sandbox.BubblewrapConfig{Folder: folder})
	}
	return sandbox.NewDocker(sandbox.DockerConfig{Command: []string{name}, RunArgs: []string{"--network=none"}, StartTimeout: time.Minute})
}

func (b bed) start(t *testing.T) sandbox.Sandbox {
	t.Helper()
	s, err := b.Start(t.Context(), b.spec)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Stop(context.WithoutCancel(t.Context()))) })
	return s
}

func sh(script string) qwen.Command {
	return qwen.Command{Args: []string{"sh", "-c", script}, Merge: true}
}

func run(t *testing.T, s sandbox.Sandbox, script string) string {
	t.Helper()
	out, err := s.Run(t.Context(), sh(script))
	require.NoError(t, err)
	require.Zero(t, out.ExitCode, "%s: %s", script, out.Stdout)
	return string(out.Stdout)
}

func TestRunAnswersAsTheCommandDid(t *testing.T) {
	t.Parallel()
	beds(t, func(t *testing.T, b bed) {
		s := b.start(t)
		out, err := s.Run(t.Context(), qwen.Command{Args: []string{"sh", "-c", "cat; pwd; echo e >&2; exit 7"}, Stdin: []byte("in\n")})
		require.NoError(t, err)
		require.Equal(t, "in\n"+sandbox.Dir(s)+"\n", string(out.Stdout))
		require.Equal(t, "e\n", string(out.Stderr))
		require.Equal(t, 7, out.ExitCode)

		out, err = s.Run(t.Context(), sh("echo a; echo b >&2; echo c; cat"))
		require.NoError(t, err)
		require.Equal(t, "a\nb\nc\n", string(out.Stdout), "merged, and nothing to read")

		for _, code := range []string{"1", "125", "126", "127", "137", "255"} {
			out, err = s.Run(t.Context(), sh("echo Error: daemon of a container >&2; exit "+code))
			require.NoError(t, err, code)
			require.Equal(t, "Error: daemon of a container\n", string(out.Stdout))
		}
		out, err = s.Run(t.Context(), qwen.Command{Args: []string{"no-such-program"}, Merge: true})
		require.NoError(t, err)
		require.Equal(t, 127, out.ExitCode)
		out, err = s.Run(t.Context(), qwen.Command{Args: []string{"true"}, Dir: "no-such-folder", Merge: true})
		require.NoError(t, err)
		require.Equal(t, 126, out.ExitCode)
		require.Contains(t, string(out.Stdout), "no-such-folder")
		out, err = s.Run(t.Context(), sh("kill -9 $$"))
		require.NoError(t, err)
		require.Equal(t, 137, out.ExitCode)
		out, err = s.Run(t.Context(), qwen.Command{Args: []string{"true", strings.Repeat("x", 200_000)}, Merge: true})
		require.NoError(t, err)
		require.Equal(t, 126, out.ExitCode)
		require.Contains(t, string(out.Stdout), "argument list too long")
		_, err = s.Run(t.Context(), qwen.Command{})
		var spec *sandbox.SpecError
		require.ErrorAs(t, err, &spec)
	})
}

func TestAWorkingFolderThatWasRemovedIsNoFailureOfThePlace(t *testing.T) {
	t.Parallel()
	beds(t, func(t *testing.T, b bed) {
		s := b.start(t)
		_, err := s.Run(t.Context(), sh(`cd / && rm -rf "`+sandbox.Dir(s)+`"/* "`+sandbox.Dir(s)+`"`))
		require.NoError(t, err)
		if b.name == "bwrap" {
			return // it is mounted, so it stays
		}
		out, err := s.Run(t.Context(), sh("echo here"))
		require.NoError(t, err)
		require.Equal(t, 126, out.ExitCode)
		require.Equal(t, "/\n", func() string {
			out, err := s.Run(t.Context(), qwen.Command{Args: []string{"pwd"}, Dir: "/"})
			require.NoError(t, err)
			return string(out.Stdout)
		}())
	})
}

// stubborn starts children that ignore signals, leave the session, the environment and their
// parents, and then waits. The one that is told apart by its file writes for ever.
const stubborn = `trap '' TERM INT HUP; echo started
sleep 1111 &
setsid sh -c 'trap "" TERM; sleep 1112' &
(env -i setsid sh -c "trap '' TERM; sleep 1113" &)
(HOMING_EXEC=other setsid sh -c 'sleep 1114; echo' >/dev/null 2>&1 &)
sleep 1115`

// "Given a command that outlives its limit with a child process, when executed, then its
// partial output is kept, and no process of it survives, also inside a container."
func TestCase136NothingOfACommandOutlivesItsLimit(t *testing.T) {
	t.Parallel()
	beds(t, func(t *testing.T, b bed) {
		s := b.start(t)
		script := stubborn
		if b.name == "local" { // what it cannot find, as its documentation says
			script = strings.ReplaceAll(script, "env -i ", "")
			script = strings.ReplaceAll(script, "HOMING_EXEC=other ", "")
		}
		run(t, s, "(sleep 2222 >/dev/null 2>&1 &)")
		limited, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		begun := time.Now()
		out, err := s.Run(limited, sh(script))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Less(t, time.Since(begun), 15*time.Second)
		require.Equal(t, -1, out.ExitCode)
		require.True(t, strings.HasPrefix(string(out.Stdout), "started\n"), "%s", out.Stdout)
		left := b.processes(t, s)
		require.NotContains(t, left, "sleep 111", "of the command")
		if b.name != "bwrap" { // there it ends with its own command
			require.Contains(t, left, "sleep 2222", "of an earlier command")
		}
		require.Equal(t, "on\n", run(t, s, "echo on"))
	})
}

// processes are those of the sandbox.
func (b bed) processes(t *testing.T, s sandbox.Sandbox) string {
	t.Helper()
	if b.name != "local" && b.name != "bwrap" {
		return run(t, s, "ps -o pid,args")
	}
	var list strings.Builder
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Skip("there is no /proc: what is left was not looked at")
	}
	for _, entry := range entries {
		env, _ := os.ReadFile("/proc/" + entry.Name() + "/environ")
		line, _ := os.ReadFile("/proc/" + entry.Name() + "/cmdline")
		if bytes.Contains(env, []byte("HOMING_SANDBOX="+s.ID())) {
			list.Write(append(bytes.ReplaceAll(line, []byte{0}, []byte(" ")), '\n'))
		}
	}
	return list.String()
}

// "Given non-UTF-8 output, when executed, then it is replaced and the loop continues." Here it
// arrives byte for byte, so that a patch stays as it is; the text for the model replaces it.
func TestCase137BytesArriveAsTheyAre(t *testing.T) {
	t.Parallel()
	beds(t, func(t *testing.T, b bed) {
		s := b.start(t)
		out, err := s.Run(t.Context(), qwen.Command{Args: []string{"printf", `\377\000\200%s`, "\xfe\\n'\"\n$é"}})
		require.NoError(t, err)
		require.Equal(t, "\xff\x00\x80\xfe\\n'\"\n$é", string(out.Stdout))
		raw := make([]byte, 1<<20)
		for i := range raw {
			raw[i] = byte(i * 7 >> 3)
		}
		out, err = s.Run(t.Context(), qwen.Command{Args: []string{"cat"}, Stdin: raw})
		require.NoError(t, err)
		require.True(t, bytes.Equal(raw, out.Stdout))
	})
}

func TestOutputWithoutEndIsBounded(t *testing.T) {
	t.Parallel()
	beds(t, func(t *testing.T, b bed) {
		s := b.start(t)
		out, err := s.Run(t.Context(), sh("echo first; yes | head -c 40000000; echo last"))
		require.NoError(t, err)
		require.True(t, out.Cut)
		require.Less(t, len(out.Stdout), 17<<20)
		require.True(t, strings.HasPrefix(string(out.Stdout), "first\ny\n"))
		require.True(t, strings.HasSuffix(string(out.Stdout), "y\nlast\n"))
		require.Contains(t, string(out.Stdout), "\n[... 23222795 bytes left out ...]\n")

		res, err := sandbox.Exec(t.Context(), s, sandbox.Command{Shell: "yes", Timeout: 300 * time.Millisecond})
		require.NoError(t, err)
		require.True(t, res.TimedOut || res.Flooded)
		require.Equal(t, -1, res.ExitCode)
	})
}

func TestFilesGoInAndOutUnderAnyName(t *testing.T) {
	t.Parallel()
	beds(t, func(t *testing.T, b bed) {
		s := b.start(t)
		content := strings.Repeat("\x00\xffline\r\n", 100_000)
		for _, name := range []string{"plain", "-rf", "new folder/it's \"$x\" `y`", "caf\xe9/\xff\xfe", "line\nbreak"} {
			require.NoError(t, s.CopyIn(t.Context(), name, strings.NewReader(content), 0o750), "%q", name)
			r, err := s.CopyOut(t.Context(), name)
			require.NoError(t, err, "%q", name)
			got, err := io.ReadAll(r)
			require.NoError(t, err)
			require.NoError(t, r.Close())
			require.Equal(t, sha256.Sum256([]byte(content)), sha256.Sum256(got), "%q", name)
		}
		require.Equal(t, "-rwxr-x---", strings.Fields(run(t, s, "ls -l plain"))[0])
		require.NoError(t, s.CopyIn(t.Context(), "plain", strings.NewReader("new"), 0o644))
		broken := io.MultiReader(strings.NewReader("half"), iotest.ErrReader(errors.New("torn")))
		require.ErrorContains(t, s.CopyIn(t.Context(), "plain", broken, 0), "torn")
		require.Equal(t, "new", run(t, s, "cat plain"), "a torn copy changes nothing")
		require.Empty(t, run(t, s, "ls -a | grep homing- || true"), "and leaves nothing")
		require.ErrorContains(t, s.CopyIn(t.Context(), "new folder", strings.NewReader(""), 0), "it is a folder")

		_, err := s.CopyOut(t.Context(), "nothing")
		require.ErrorIs(t, err, fs.ErrNotExist)
		_, err = s.CopyOut(t.Context(), ".")
		require.ErrorContains(t, err, "it is a folder")
		r, err := s.CopyOut(t.Context(), "-rf")
		require.NoError(t, err)
		require.NoError(t, r.Close(), "without reading on")
	})
}

func TestALongScriptRunsAsAFile(t *testing.T) {
	t.Parallel()
	beds(t, func(t *testing.T, b bed) {
		s := b.start(t)
		res, err := sandbox.Exec(t.Context(), s, sandbox.Command{Shell: "x=" + strings.Repeat("x", 200_000) + "\necho ${#x}; echo $V; exit 3", Env: map[string]string{"V": "v w"}})
		require.NoError(t, err)
		require.Equal(t, "200000\nv w\n", string(res.Stdout.Bytes()))
		require.Equal(t, 3, res.ExitCode)
		var tee bytes.Buffer
		res, err = sandbox.Exec(t.Context(), s, sandbox.Command{Shell: "echo a; echo b >&2", Tee: &tee})
		require.NoError(t, err)
		require.Equal(t, "a\n", tee.String())
		require.Equal(t, "b\n", string(res.Stderr.Head))
	})
}

// "Given a container that has died, when the next command runs, then the trajectory ends with
// an infrastructure status instead of burning steps."
func TestCase140ADeadSandboxSaysSo(t *testing.T) {
	t.Parallel()
	beds(t, func(t *testing.T, b bed) {
		s := b.start(t)
		other := b.start(t)
		hung := make(chan error, 1)
		ready := make(chan struct{})
		go func() {
			_, err := sandbox.Exec(t.Context(), s, sandbox.Command{Shell: "echo x; sleep 1000", Tee: closer{ready}})
			hung <- err
		}()
		<-ready
		if b.client != "" { // from outside
			require.NoError(t, b.Remove(t.Context(), s.ID()))
		} else {
			require.NoError(t, s.Stop(t.Context()))
		}
		require.ErrorIs(t, <-hung, sandbox.ErrGone)
		_, err := s.Run(t.Context(), sh("echo"))
		require.ErrorIs(t, err, sandbox.ErrGone)
		require.ErrorIs(t, s.CopyIn(t.Context(), "x", strings.NewReader(""), 0), sandbox.ErrGone)
		_, err = s.CopyOut(t.Context(), "x")
		require.ErrorIs(t, err, sandbox.ErrGone)
		_, err = b.Attach(t.Context(), s.ID())
		require.ErrorIs(t, err, sandbox.ErrGone)
		require.NoError(t, s.Stop(t.Context()))
		require.NoError(t, s.Stop(t.Context()), "twice")
		require.Equal(t, "on\n", run(t, other, "echo on"), "others are untouched")
	})
}

type closer struct{ c chan struct{} }

func (c closer) Write(p []byte) (int, error) { close(c.c); return len(p), nil }

// "Given two concurrent runs, when one finishes, then images and containers used by the other
// are untouched."
func TestCase122OnlyWhatARunLabelledIsSwept(t *testing.T) {
	t.Parallel()
	beds(t, func(t *testing.T, b bed) {
		mine, other, kept := b, b, b
		mine.spec.Labels = map[string]string{"run": "a b=c,d", "test": b.spec.Labels["test"]}
		other.spec.Labels = map[string]string{"run": "a", "test": b.spec.Labels["test"]}
		kept.spec.Labels = map[string]string{"run": "a b=c,d", "keep": "1", "test": b.spec.Labels["test"]}
		m, o, k := mine.start(t), other.start(t), kept.start(t)
		run(t, k, "echo state >file")
		swept, err := sandbox.Sweep(t.Context(), b, mine.spec.Labels, func(i sandbox.Info) bool { return i.Labels["keep"] != "" })
		require.NoError(t, err)
		require.Len(t, swept, 1)
		require.Equal(t, m.ID(), swept[0].ID)
		require.True(t, swept[0].Running)
		require.WithinDuration(t, time.Now(), swept[0].Created, time.Hour)
		_, err = m.Run(t.Context(), sh("echo"))
		if b.client != "" {
			require.ErrorIs(t, err, sandbox.ErrGone)
		}
		run(t, o, "echo")
		again, err := b.Attach(t.Context(), k.ID())
		require.NoError(t, err)
		require.Equal(t, "state\n", run(t, again, "cat file"))
		require.Equal(t, sandbox.Dir(k), sandbox.Dir(again))
		swept, err = sandbox.Sweep(t.Context(), b, map[string]string{"run": "a", "test": b.spec.Labels["test"]}, nil)
		require.NoError(t, err)
		require.Len(t, swept, 1)
		swept, err = sandbox.Sweep(t.Context(), b, map[string]string{"run": "none", "test": b.spec.Labels["test"]}, nil)
		require.NoError(t, err)
		require.Empty(t, swept)
		require.NoError(t, b.Remove(t.Context(), m.ID(), o.ID(), "nothing-of-this-name"))
		require.NoError(t, b.Prepare(t.Context(), func() []string {
			if b.client != "" {
				return []string{b.spec.Image}
			}
			return nil
		}()...), "the image is still there")
	})
}

func TestEnvironmentOfTheImageIsActive(t *testing.T) {
	t.Parallel()
	beds(t, func(t *testing.T, b bed) {
		b.spec.Env = map[string]string{"A": "b c", "HOME": "/testbed/home"}
		s := b.start(t)
		require.Equal(t, "b c\n", run(t, s, `echo "$A"`))
		if b.name == "local" {
			require.Equal(t, "unset\n", run(t, s, `echo "${BASH_ENV-unset}"`))
			return
		}
		run(t, s, `mkdir -p "$HOME" && echo "echo activated" >"$HOME/.bashrc"`)
		require.Equal(t, "/testbed/home/.bashrc 0\n", run(t, s, `echo "$HOMING_RC $HOMING_NESTED"`))
		require.Contains(t, run(t, s, `echo "$BASH_ENV"`), "HOMING_RC")
		b.spec.Env["BASH_ENV"] = ""
		other := b.start(t)
		require.Equal(t, "\n", run(t, other, `echo "$BASH_ENV"`))
	})
}

func TestArgumentsAreNeverFlags(t *testing.T) {
	t.Parallel()
	beds(t, func(t *testing.T, b bed) {
		for name, change := range map[string]func(*sandbox.Spec){
			"dir":    func(s *sandbox.Spec) { s.Dir = "--privileged" },
			"env":    func(s *sandbox.Spec) { s.Env = map[string]string{"--privileged=1 A": "x"} },
			"marks":  func(s *sandbox.Spec) { s.Env = map[string]string{"HOMING_EXEC": "x"} },
			"label":  func(s *sandbox.Spec) { s.Labels = map[string]string{"-v": "/:/host"} },
			"lines":  func(s *sandbox.Spec) { s.Labels = map[string]string{"a": "b\nc"} },
			"name":   func(s *sandbox.Spec) { s.Name = "-v" },
			"memory": func(s *sandbox.Spec) { s.MemoryBytes = -1 },
		} {
			spec := b.spec
			change(&spec)
			_, err := b.Start(t.Context(), spec)
			var start *sandbox.StartError
			var bad *sandbox.SpecError
			require.ErrorAs(t, err, &start, name)
			require.ErrorAs(t, err, &bad, name)
		}
		_, err := b.Attach(t.Context(), "--help")
		require.Error(t, err)
		require.Error(t, b.Remove(t.Context(), "../.."))
		left, err := b.List(t.Context(), b.spec.Labels)
		require.NoError(t, err)
		require.Empty(t, left)
	})
}
