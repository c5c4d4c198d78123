package harness

import (
	"regexp"
	"strings"
)

// plainPath is a path that a shell takes as one word, quoted or not.
var plainPath = regexp.MustCompile(`^/[A-Za-z0-9_./+-]+$`)

// relocated is a script of a row in which the folder that the row was written for is the one
// where the sandbox has it: a local sandbox has no /testbed.
func relocated(script, from, to string) string {
	if from == "" {
		from = "/testbed"
	}
	if to == "" || to == from || !plainPath.MatchString(to) {
		return script
	}
	var b strings.Builder
	for rest := script; ; {
		at := strings.Index(rest, from)
		if at < 0 {
			b.WriteString(rest)
			return b.String()
		}
		end := at + len(from)
		before, after := byte(' '), byte(' ')
		if i := len(script) - len(rest) + at; i > 0 {
			before = script[i-1]
		}
		if end < len(rest) {
			after = rest[end]
		}
		b.WriteString(rest[:at])
		if inPath(before) || before == '/' || inPath(after) {
			b.WriteString(from) // a part of another path
		} else {
			b.WriteString(to)
		}
		rest = rest[end:]
	}
}

func inPath(c byte) bool {
	return c == '.' || c == '-' || c == '_' || c == '~' || c == '}' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
