package harness

import (
	"strings"

	"github.com/homing-go/homing/swebench/dataset"
)

// A Status is how a test ended. The higher one wins when a test is reported twice: one that
// passed and whose clean-up failed has not passed.
type Status int

// The statuses. A test that was expected to fail and did has passed.
const (
	Missing Status = iota
	Passed
	Skipped
	Failed
)

// A Parser reads what tests have printed: the status of each by its name. It may give a test
// several names.
type Parser func(output string) map[string]Status

// ParserFor is the parser that a row names in its column log_parser or parser: "pytest",
// "unittest", or a name that has one of these words in it. Without one both are used.
func ParserFor(row dataset.Row) Parser {
	switch name := strings.ToLower(row.Parser); {
	case strings.Contains(name, "pytest"):
		return ParsePytest
	case strings.Contains(name, "unittest"), strings.Contains(name, "django"):
		return ParseUnittest
	}
	return func(output string) map[string]Status {
		all := ParsePytest(output)
		for name, status := range ParseUnittest(output) {
			note(all, name, status)
		}
		return all
	}
}

func note(all map[string]Status, name string, status Status) {
	if name = strings.TrimSpace(name); name != "" && status > all[name] {
		all[name] = status
	}
}

// The markers between which an eval script prints the tests.
const (
	markStart = ">>>>> Start Test Output"
	markEnd   = ">>>>> End Test Output"
)

// testOutput is what the tests have printed, as far as the output tells that from the rest.
func testOutput(output string) string {
	if _, after, ok := strings.Cut(output, markStart); ok {
		output = after
		if end := strings.LastIndex(output, markEnd); end >= 0 {
			output = output[:end]
		}
	}
	return output
}
