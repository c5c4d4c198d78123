package agent

import (
	"bytes"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Marker is the line by which a bash-only model hands its work in.
const Marker = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"

// saysMarker finds the marker among the words of an echo or a printf.
var saysMarker = regexp.MustCompile(`(?:^|[\s;&|({])(?:echo|printf)\s[^;&|\n]*\b` + Marker + `\b`)

// handsIn reports whether a command says by itself that the work is done. What files and
// programs print is no part of it.
func handsIn(command string) bool {
	return strings.Contains(command, Marker) && saysMarker.MatchString(command)
}

// afterMarker returns what follows the marker in the output of a command that exited with
// 0, byte for byte. White space may come before it, and nothing else.
func afterMarker(output []byte, exitCode int) (rest []byte, ok bool) {
	if exitCode != 0 {
		return nil, false
	}
	text := bytes.TrimLeftFunc(output, isPythonSpace)
	end, next := firstLine(text)
	if string(bytes.TrimFunc(text[:end], isPythonSpace)) != Marker {
		return nil, false
	}
	return text[next:], true
}

// firstLine returns where the first line of a text ends, and where the next begins, by the
// rules of Python's splitlines.
func firstLine(text []byte) (end, next int) {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		switch r {
		case '\r':
			if i+1 < len(text) && text[i+1] == '\n' {
				return i, i + 2
			}
			return i, i + 1
		case '\n', '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
			return i, i + size
		}
		i += size
	}
	return len(text), len(text)
}

// isPythonSpace is str.isspace for one character.
func isPythonSpace(r rune) bool { return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f }
