package sandbox_test

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/homing-go/homing/qwen"
	"github.com/homing-go/homing/swebench/sandbox"
	"github.com/stretchr/testify/require"
)

// The sum of all files is bounded where the engine is told to.
func TestAFullDiskIsNoFailureOfThePlace(t *testing.T) {
	t.Parallel()
	containers(t, func(t *testing.T, b bed) {
		r, err := sandbox.NewDocker(sandbox.DockerConfig{
			Command: []string{b.client}, RunArgs: []string{"--network=none", "--tmpfs=/testbed:size=1m"}, StartTimeout: time.Minute,
		})
		require.NoError(t, err)
		b.Runtime = r
		s, other := b.start(t), b.start(t)
		require.NoError(t, s.CopyIn(t.Context(), "file", strings.NewReader("old"), 0))
		out, err := s.Run(t.Context(), sh("i=0; while dd if=/dev/zero of=f$i bs=100000 count=1 2>/dev/null; do i=$((i+1)); done; yes >rest; exit 3"))
		require.NoError(t, err)
		require.Equal(t, 3, out.ExitCode)
		err = s.CopyIn(t.Context(), "file", strings.NewReader(strings.Repeat("new", 5000)), 0)
		require.ErrorContains(t, err, "No space left")
		require.NotErrorIs(t, err, sandbox.ErrGone)
		require.Equal(t, "old", run(t, s, "cat file"))
		require.NoError(t, other.CopyIn(t.Context(), "file", strings.NewReader(strings.Repeat("new", 100_000)), 0))
	})
}

// Links lead where they lead a command of the sandbox, but no file is written through one.
func TestCopiesAndLinks(t *testing.T) {
	t.Parallel()
	beds(t, func(t *testing.T, b bed) {
		s := b.start(t)
		outside := "/tmp/outside"
		if b.name == "local" {
			outside = t.TempDir()
		}
		run(t, s, "mkdir -p "+outside+"; echo secret >"+outside+"/file; ln -s "+outside+"/file link; ln -s "+outside+" folder; ln -s nowhere dangling; ln -s loop loop")
		r, err := s.CopyOut(t.Context(), "link")
		require.NoError(t, err)
		content, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, r.Close())
		require.Equal(t, "secret\n", string(content))
		for _, name := range []string{"dangling", "loop"} {
			_, err = s.CopyOut(t.Context(), name)
			require.ErrorIs(t, err, fs.ErrNotExist, name)
		}
		for _, name := range []string{"link", "dangling"} {
			require.NoError(t, s.CopyIn(t.Context(), name, strings.NewReader("mine\n"), 0), name)
		}
		require.Equal(t, "mine\nmine\nsecret\n", run(t, s, "cat link dangling folder/file; test ! -e nowhere"))
		require.NoError(t, s.CopyIn(t.Context(), "folder/file", strings.NewReader("mine\n"), 0))
		require.Equal(t, "mine\n", run(t, s, "cat "+outside+"/file"), "a folder is entered, as by every command")
	})
}

func TestWhatHasNoEndIsNotCopiedOut(t *testing.T) {
	t.Parallel()
	beds(t, func(t *testing.T, b bed) {
		s := b.start(t)
		run(t, s, "mkfifo pipe; ln -s /dev/zero zero; ln -s pipe link")
		for _, name := range []string{"pipe", "zero", "link", "/dev/zero"} {
			limited, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			_, err := s.CopyOut(limited, name)
			cancel()
			require.ErrorContains(t, err, "it is not a file that has an end", name)
		}
		require.NoError(t, s.CopyIn(t.Context(), "pipe", strings.NewReader("file"), 0))
		require.Equal(t, "file", run(t, s, "cat link"))
	})
}

func TestNamesWithNewlines(t *testing.T) {
	t.Parallel()
	beds(t, func(t *testing.T, b bed) {
		if b.name == "local" {
			b.spec.Root = filepath.Join(b.spec.Root, "a\nb\n")
			require.NoError(t, os.Mkdir(b.spec.Root, 0o700))
		}
		b.spec.Dir = "/testbed/a\nb\n"
		b.spec.Env = map[string]string{"LINES": "a\nb\n"}
		s := b.start(t)
		require.Equal(t, "a\nb\n", run(t, s, `printf %s "$LINES"`))
		require.NoError(t, s.CopyIn(t.Context(), "c\n/d\n", strings.NewReader("x"), 0))
		out, err := s.Run(t.Context(), qwen.Command{Args: []string{"sh", "-c", "pwd; cat \"$0\"", "d\n"}, Dir: "c\n", Merge: true})
		require.NoError(t, err)
		require.Equal(t, sandbox.Dir(s)+"/c\n\nx", string(out.Stdout))
		again, err := b.Attach(t.Context(), s.ID())
		require.NoError(t, err)
		require.Equal(t, "x", run(t, again, "cat c*/d*"))
		require.Equal(t, sandbox.Dir(s), sandbox.Dir(again))
	})
}
