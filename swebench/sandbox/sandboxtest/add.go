package sandboxtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

var library = regexp.MustCompile(`(?m)(?:=> )?(/\S+) \(0x`)

// Add copies programs of this machine, with the libraries that ldd names, into a root folder.
// It skips where one is missing.
func Add(t testing.TB, root string, programs ...string) {
	t.Helper()
	Require(t, append([]string{"ldd"}, programs...)...)
	for _, name := range programs {
		path, err := exec.LookPath(name)
		check(t, err)
		copyFile(t, path, filepath.Join(root, "bin", name))
		out, err := exec.CommandContext(t.Context(), "ldd", path).Output() //nolint:gosec // of a test
		if err != nil {
			continue // it is static
		}
		for _, match := range library.FindAllStringSubmatch(string(out), -1) {
			copyFile(t, match[1], filepath.Join(root, match[1]))
		}
	}
}

func copyFile(t testing.TB, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from) //nolint:gosec // of a test
	check(t, err)
	check(t, os.MkdirAll(filepath.Dir(to), 0o755)) //nolint:gosec // of a system
	check(t, os.WriteFile(to, content, 0o755))     //nolint:gosec // a program
}
