package sandboxtest

import (
	"context"
	"os/exec"
	"strings"
	"testing"
)

// Layer makes an image that is another one with the content of a folder at a path, as the
// images of SWE-bench have a repository at /testbed, and returns its name. It is removed with
// the test.
func Layer(t testing.TB, client, base, dir, at string) string {
	t.Helper()
	name := tagged(base)
	build := exec.CommandContext(t.Context(), client, "build", "--quiet", "--tag="+name, "--file=-", dir) //nolint:gosec // of a test
	build.Stdin = strings.NewReader("FROM " + base + "\nCOPY . " + at + "\n")
	out, err := build.CombinedOutput()
	if err != nil {
		t.Fatalf("%s build: %v: %s", client, err, out)
	}
	removeLater(t, client, name)
	return name
}

func removeLater(t testing.TB, client, image string) {
	t.Helper()
	t.Cleanup(func() {
		out, err := exec.CommandContext(context.WithoutCancel(t.Context()), client, "rmi", "--force", image).CombinedOutput() //nolint:gosec // of a test
		if err != nil {
			t.Errorf("%s rmi: %v: %s", client, err, out)
		}
	})
}
