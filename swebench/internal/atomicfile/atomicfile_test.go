package atomicfile_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/homing-go/homing/swebench/internal/atomicfile"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A reader sees one content or the other, whole, and no temporary file stays.
func TestReadersSeeWholeFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	contents := [][]byte{bytes.Repeat([]byte("a"), 100000), bytes.Repeat([]byte("b"), 50000)}
	require.NoError(t, atomicfile.Write(name, contents[0]))
	done := make(chan error, 1)
	go func() {
		for i := range 300 {
			if err := atomicfile.Replace(name, contents[i%2]); err != nil {
				done <- err
				return
			}
		}
		done <- atomicfile.Write(name, contents[1])
	}()
	for {
		data, err := atomicfile.Read(name, 1<<20)
		require.NoError(t, err)
		require.True(t, bytes.Equal(data, contents[0]) || bytes.Equal(data, contents[1]))
		if len(done) > 0 {
			break
		}
	}
	require.NoError(t, <-done)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func TestSweep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{".f.123.tmp", "f", ".g", "h.tmp"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
	}
	atomicfile.Sweep(dir)
	atomicfile.Sweep(filepath.Join(dir, "missing"))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 3)
	require.NoFileExists(t, filepath.Join(dir, ".f.123.tmp"))
}

func TestFailuresLeaveNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "folder", "x"), nil, 0o644))
	require.Error(t, atomicfile.Write(filepath.Join(dir, "folder"), []byte("x")))
	require.Error(t, atomicfile.Write(filepath.Join(dir, "missing", "x"), []byte("x")))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func TestReadLimitsAndKinds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	require.NoError(t, atomicfile.Write(name, []byte("12345")))
	_, err := atomicfile.Read(name, 4)
	require.ErrorContains(t, err, "more than 4 bytes")
	_, err = atomicfile.Read(dir, 4)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = atomicfile.Read(name+"x", 4)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.Symlink(name, name+"l"))
	_, err = atomicfile.Read(name+"l", 10)
	require.ErrorIs(t, err, os.ErrNotExist)
	data, err := atomicfile.ReadThrough(name+"l", 10)
	require.NoError(t, err)
	require.Equal(t, "12345", string(data))
	info, err := os.Stat(name)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o644), info.Mode().Perm())
}
