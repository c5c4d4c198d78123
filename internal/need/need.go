// Package need tells a test what to do where a program is missing that it needs: it is skipped,
// and fails where the variable HOMING_REQUIRE lists the program, separated by commas.
package need

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Programs skips the test, or lets it fail, where one of these is not in PATH.
func Programs(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			Missing(t, name, name+" is missing")
		}
	}
}

// Missing skips the test, or lets it fail, for want of what is known by this name in
// HOMING_REQUIRE. It does not return.
func Missing(t testing.TB, name, why string) {
	t.Helper()
	if Listed(name) {
		t.Fatalf("HOMING_REQUIRE demands %s: %s", name, why)
	}
	t.Skipf("%s: skipped", why)
}

// Listed tells whether HOMING_REQUIRE lists the name.
func Listed(name string) bool {
	for listed := range strings.SplitSeq(os.Getenv("HOMING_REQUIRE"), ",") {
		if strings.TrimSpace(listed) == name {
			return true
		}
	}
	return false
}
