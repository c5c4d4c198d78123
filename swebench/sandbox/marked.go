package sandbox

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"strings"
	"time"
)

// What every process of a command without a container has in its environment, before an ID or
// a nonce.
const (
	sandboxMark = "HOMING_SANDBOX="
	execMark    = "HOMING_EXEC="
)

// endMarked ends the processes of this machine whose environment holds the mark, and their
// descendants, until none is left or ctx or endTime is over. It finds them by /proc; without
// one it does nothing. Those that this process may not end are left.
func endMarked(ctx context.Context, mark string) error {
	ctx, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	doomed := map[int]bool{}
	for round := time.Duration(0); ctx.Err() == nil; round++ {
		parents, marked := processes(mark)
		for pid := range marked {
			doomed[pid] = true
		}
		for grown := true; grown; {
			grown = false
			for pid, parent := range parents {
				if doomed[parent] && !doomed[pid] {
					doomed[pid], grown = true, true
				}
			}
		}
		left := false
		for pid := range parents {
			if doomed[pid] && endProcess(pid) == nil {
				left = true
			}
		}
		if !left {
			return nil
		}
		select { // one that is in the middle of a call of the system takes its time to end
		case <-ctx.Done():
		case <-time.After(min(round, 50) * time.Millisecond):
		}
	}
	return ctx.Err()
}

// processes are all that live, with their parents, and those that hold the mark.
func processes(mark string) (parents map[int]int, marked map[int]bool) {
	parents, marked = map[int]int{}, map[int]bool{}
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() || pid == 1 {
			continue
		}
		stat, err := os.ReadFile("/proc/" + entry.Name() + "/stat")
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 2 || fields[0] == "Z" || fields[0] == "X" {
			continue
		}
		parents[pid], _ = strconv.Atoi(fields[1])
		env, _ := os.ReadFile("/proc/" + entry.Name() + "/environ")
		for pair := range bytes.SplitSeq(env, []byte{0}) {
			if string(pair) == mark {
				marked[pid] = true
			}
		}
	}
	return parents, marked
}
