package harness

import (
	"regexp"
	"strings"
)

var (
	escapeCode = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")
	// pytestEnd is a line of -v: the test, its status, how far it is.
	pytestEnd = regexp.MustCompile(`^(\S.*?)\s+(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)(?:\s+\(.*\))?(?:\s+\[\s*\d+%\])?$`)
	// pytestWorker is what xdist writes before a line of -v.
	pytestWorker = regexp.MustCompile(`^\[gw\d+\]\s+(?:\[\s*\d+%\]\s+)?`)
)

// ParsePytest reads the output of pytest: the lines of its short summary, as -rA writes
// them, and those of -v. A test whose name has a space in it is also known by what is
// before it, as the published datasets have such names.
func ParsePytest(output string) map[string]Status {
	all := map[string]Status{}
	for line := range strings.Lines(escapeCode.ReplaceAllString(output, "")) {
		line = strings.TrimRight(line, " \t\r\n")
		if len(line) > 64<<10 {
			continue
		}
		line = pytestWorker.ReplaceAllString(line, "")
		if word, rest, ok := strings.Cut(line, " "); ok {
			if status := pytestStatus(word); status != Missing && strings.TrimSpace(rest) != "" {
				pytestName(all, rest, status)
				continue
			}
		}
		if parts := pytestEnd.FindStringSubmatch(line); parts != nil && strings.Contains(parts[1], "::") {
			pytestName(all, parts[1], pytestStatus(parts[2]))
		}
	}
	return all
}

func pytestStatus(word string) Status {
	switch word {
	case "PASSED", "XFAIL":
		return Passed
	case "FAILED", "ERROR", "XPASS":
		return Failed
	case "SKIPPED":
		return Skipped
	}
	return Missing
}

func pytestName(all map[string]Status, name string, status Status) {
	name = strings.TrimSpace(name)
	if status == Skipped && strings.HasPrefix(name, "[") { // [1] file:line: reason
		return
	}
	if status == Failed || strings.Contains(name, "::") { // what follows is the reason
		name = withoutReason(name)
	}
	note(all, name, status)
	if short, _, ok := strings.Cut(name, " "); ok {
		note(all, short, status)
	}
}

// withoutReason cuts what follows " - ", which may also stand in a parameter.
func withoutReason(name string) string {
	const dash = " - "
	for from := 0; ; {
		i := strings.Index(name[from:], dash)
		if i < 0 {
			return name
		}
		if from += i; strings.Count(name[:from], "[") <= strings.Count(name[:from], "]") {
			return name[:from]
		}
		from += len(dash)
	}
}
