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
// one it does nothing. Those that this process may not end are left. The process that was the
// first to get the mark is one of them, whatever its environment is now; 0 if it is not known.
func endMarked(ctx context.Context, mark string, first int) error {
	ctx, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	doomed := map[int]bool{}
	since := uint64(0)
	if p, ok := readProcess(first); ok {
		doomed[first], since = true, p.start
	}
	for pause := time.Duration(0); ctx.Err() == nil; pause = min(pause+time.Millisecond, 50*time.Millisecond) {
		parents, marked := processes(mark, since)
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
		case <-time.After(pause):
		}
	}
	return ctx.Err()
}

// processes are all that live, with their parents, and those that hold the mark. Only those
// that began since then are asked for it: an environment is the dearest of all to read.
func processes(mark string, since uint64) (parents map[int]int, marked map[int]bool) {
	parents, marked = map[int]int{}, map[int]bool{}
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() || pid == 1 {
			continue
		}
		p, ok := readProcess(pid)
		if !ok || p.state == "Z" || p.state == "X" {
			continue
		}
		parents[pid] = p.parent
		if p.start < since {
			continue
		}
		env, _ := os.ReadFile("/proc/" + entry.Name() + "/environ")
		for pair := range bytes.SplitSeq(env, []byte{0}) {
			if string(pair) == mark {
				marked[pid] = true
			}
		}
	}
	return parents, marked
}

// A process is what /proc tells of one.
type process struct {
	state  string
	parent int
	start  uint64 // in ticks since the system began
}

func readProcess(pid int) (p process, ok bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return p, false
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // from the third on
	if len(fields) < 20 {
		return p, false
	}
	p.state = fields[0]
	p.parent, _ = strconv.Atoi(fields[1])
	p.start, _ = strconv.ParseUint(fields[19], 10, 64)
	return p, true
}
