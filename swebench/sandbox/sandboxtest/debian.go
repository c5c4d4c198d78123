package sandboxtest

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Debian returns a root folder of Debian with these packages, git and python3 for example. It
// is made by debootstrap from where this machine gets its packages, takes about a minute and
// 250 MB, and is kept in the user's cache folder: do not change it. It skips where debootstrap
// is missing or this machine is no Debian.
func Debian(t testing.TB, packages ...string) string {
	t.Helper()
	Require(t, "debootstrap", "apt-get")
	sum := sha256.Sum256([]byte(strings.Join(packages, ",")))
	cache, err := os.UserCacheDir()
	check(t, err)
	root := filepath.Join(cache, "homing-test", "debian-"+hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(root); err == nil {
		return root
	}
	check(t, os.MkdirAll(filepath.Dir(root), 0o755)) //nolint:gosec // a cache
	out, err := exec.CommandContext(t.Context(), "apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME)").Output()
	check(t, err)
	var mirror, suite string
	for line := range strings.Lines(string(out)) {
		where, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name != "" && !strings.Contains(name, "-") && !strings.Contains(where, "security") {
			mirror, suite = where, name
			break
		}
	}
	if suite == "" {
		t.Skip("this machine does not say where it gets its Debian packages from: skipped")
	}
	made, err := os.MkdirTemp(filepath.Dir(root), "new-") //nolint:usetesting // it is renamed to a folder beside it
	check(t, err)
	defer os.RemoveAll(made)                                                                                                  //nolint:errcheck // gone when it became the root
	out, err = exec.CommandContext(t.Context(), "debootstrap", "--variant=minbase", "--include="+strings.Join(packages, ","), //nolint:gosec // of a test
		suite, made, mirror).CombinedOutput()
	if err != nil {
		t.Fatalf("debootstrap: %v: %s", err, out[max(0, len(out)-2000):])
	}
	for _, spare := range []string{"usr/share/doc", "usr/share/man", "usr/share/locale", "var/cache/apt", "var/lib/apt/lists"} {
		check(t, os.RemoveAll(filepath.Join(made, spare)))
	}
	check(t, os.Chmod(made, 0o755)) //nolint:gosec // the root of a system
	if err := os.Rename(made, root); err != nil {
		if _, err := os.Stat(root); err != nil { // another process may have made it meanwhile
			t.Fatal(err)
		}
	}
	return root
}
