package sandbox

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"strings"
)

// endMarked ends the processes of this machine whose environment holds the mark, and their
// descendants, until none is left. It finds them by /proc; without one it does nothing.
func endMarked(ctx context.Context, mark string) {
	doomed := map[int]bool{}
	for ctx.Err() == nil {
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
		left := 0
		for pid := range parents {
			if doomed[pid] {
				endProcess(pid)
				left++
			}
		}
		if left == 0 {
			return
		}
	}
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
