package phase

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Sweep kills the processes that have the ID of one of these runs in their environment,
// and returns how many there were. Those in a process space of their own, as in containers,
// are left: who goes on with a run may go on in its containers. Call it before runs are
// resumed, not while they have processes of their own.
func Sweep(runIDs ...string) int {
	if len(runIDs) == 0 {
		return 0
	}
	wanted := map[string]bool{}
	for _, id := range runIDs {
		wanted[id] = true
	}
	own := processSpace("self")
	entries, _ := os.ReadDir("/proc") // where there is none, nothing is found
	found := 0
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		environ, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "environ"))
		if err != nil {
			continue // another user's, or gone
		}
		if wanted[runOf(environ)] && processSpace(entry.Name()) == own && syscall.Kill(pid, syscall.SIGKILL) == nil {
			found++
		}
	}
	return found
}

// processSpace names the process space of a process; "" where that cannot be seen.
func processSpace(pid string) string {
	name, _ := os.Readlink(filepath.Join("/proc", pid, "ns", "pid"))
	return name
}

// runOf is the run whose ID is in an environment.
func runOf(environ []byte) string {
	const name = RunIDVariable + "="
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if id, ok := bytes.CutPrefix(entry, []byte(name)); ok {
			return string(id)
		}
	}
	return ""
}
