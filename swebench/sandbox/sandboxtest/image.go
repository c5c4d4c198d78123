package sandboxtest

import (
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/homing-go/homing/internal/need"
)

// applets are the programs of a root folder that Root makes.
var applets = strings.Fields(`sh cat mkdir chmod mv rm sleep ls yes head tail env setsid mktemp ps true false
	dd od tr wc grep sed find sort touch cp ln id test stat
	mkfifo mount`)

// Root makes a root folder of 2 MB: a static busybox as shell and tools, and /testbed. It is
// removed with the test. It skips where busybox is missing.
func Root(t testing.TB) string {
	t.Helper()
	Require(t, "busybox")
	root := t.TempDir()
	for _, dir := range []string{"bin", "tmp", "root", "etc", "proc", "dev", "testbed"} {
		check(t, os.Mkdir(filepath.Join(root, dir), 0o755)) //nolint:gosec // of a system
	}
	program, err := exec.LookPath("busybox")
	check(t, err)
	content, err := os.ReadFile(program) //nolint:gosec // of a test
	check(t, err)
	check(t, os.WriteFile(filepath.Join(root, "bin/busybox"), content, 0o755)) //nolint:gosec // a program
	for _, name := range applets {
		check(t, os.Symlink("busybox", filepath.Join(root, "bin", name)))
	}
	return root
}

// Image makes an image of a root folder with an engine's client, docker or podman, without a
// registry, and returns its name. It is removed with the test. The root folder has /bin/true.
// It skips, as Require does, where the engine cannot start a container of it.
func Image(t testing.TB, client, root string) string {
	t.Helper()
	name := tagged("localhost/homing-test-" + strings.ToLower(rand.Text()))
	pack := exec.CommandContext(t.Context(), "tar", "-C", root, "--numeric-owner", "-c", ".") //nolint:gosec // of a test
	load := exec.CommandContext(t.Context(), client, "import", "-", name)                     //nolint:gosec // of a test
	var err error
	load.Stdin, err = pack.StdoutPipe()
	check(t, err)
	check(t, pack.Start())
	out, err := load.CombinedOutput()
	if err != nil {
		t.Fatalf("%s import: %v: %s", client, err, out)
	}
	check(t, pack.Wait())
	removeLater(t, client, name)
	// An engine that answers may still be unable to start anything, such as without the right
	// to set its limits.
	if out, err := exec.CommandContext(t.Context(), client, "run", "--rm", "--network=none", name, "/bin/true").CombinedOutput(); err != nil { //nolint:gosec // of a test
		need.Missing(t, client, client+" cannot start a container here: "+strings.TrimSpace(string(out[max(0, len(out)-300):])))
	}
	return name
}

// tagged names another image of a repository.
func tagged(image string) string {
	repository, _, _ := strings.Cut(image, ":")
	return repository + ":" + strings.ToLower(rand.Text())
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
