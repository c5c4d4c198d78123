package harness

import (
	"regexp"
	"strings"
)

var (
	// unittestEnd is the end of a line of -v.
	unittestEnd = regexp.MustCompile(`^(.*?) ?\.\.\. (ok|OK|FAIL|FAILED|ERROR|skipped.*|expected failure|unexpected success)$`)
	// unittestHead begins the account of a test that failed.
	unittestHead = regexp.MustCompile(`^(FAIL|ERROR): (.+)$`)
	// unittestName is test_x (module.Class), since Python 3.11 test_x (module.Class.test_x).
	unittestName = regexp.MustCompile(`^(\w+) \(([\w.<>]+)\)(?: .*)?$`)
	// unittestBare is a status on a line of its own, behind what the test has printed.
	unittestBare = regexp.MustCompile(`^(ok|FAIL|ERROR|skipped .*|expected failure|unexpected success)$`)
)

// ParseUnittest reads the output of unittest -v and of what is built on it, such as
// Django's runner. A test is known by test_x (module.Class), by test_x
// (module.Class.test_x), by module.Class.test_x and by the first line of its doc string.
func ParseUnittest(output string) map[string]Status {
	all := map[string]Status{}
	last, open := "", "" // the test named last; the one whose status is still to come
	for line := range strings.Lines(escapeCode.ReplaceAllString(output, "")) {
		line = strings.TrimRight(line, " \t\r\n")
		if len(line) > 64<<10 {
			continue
		}
		if parts := unittestHead.FindStringSubmatch(line); parts != nil {
			unittestNames(all, parts[2], Failed)
			last, open = "", ""
			continue
		}
		if parts := unittestEnd.FindStringSubmatch(line); parts != nil {
			status := unittestStatus(parts[2])
			unittestNames(all, parts[1], status)
			if !unittestName.MatchString(parts[1]) { // the line before has the name, this one the doc
				unittestNames(all, last, status)
			}
			last, open = "", ""
			continue
		}
		if before, _, ok := strings.Cut(line, " ... "); ok && unittestName.MatchString(before) {
			open = before // the test prints before its status
			continue
		}
		if before, ok := strings.CutSuffix(line, " ..."); ok && unittestName.MatchString(before) {
			open = before
			continue
		}
		if unittestBare.MatchString(line) && open != "" {
			unittestNames(all, open, unittestStatus(line))
			last, open = "", ""
			continue
		}
		if unittestName.MatchString(line) {
			last = line
		}
	}
	return all
}

func unittestStatus(word string) Status {
	switch {
	case word == "ok", word == "OK", word == "expected failure":
		return Passed
	case strings.HasPrefix(word, "skipped"):
		return Skipped
	}
	return Failed
}

func unittestNames(all map[string]Status, name string, status Status) {
	parts := unittestName.FindStringSubmatch(name)
	if parts == nil {
		note(all, name, status)
		return
	}
	test, class := parts[1], strings.TrimSuffix(parts[2], "."+parts[1])
	note(all, test+" ("+class+")", status)
	note(all, test+" ("+class+"."+test+")", status)
	note(all, class+"."+test, status)
}
