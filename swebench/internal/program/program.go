// Package program writes the small programs that tests start.
package program

import (
	"os"
	"syscall"
	"testing"
)

// Write writes a program. Meanwhile no process is started: a child that is forked while the
// file is open for writing holds it open, and starting the program fails with "text file busy".
func Write(t testing.TB, name, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	err := os.WriteFile(name, []byte(text), 0o755) //nolint:gosec // a program of a test
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
}
