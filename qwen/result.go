package qwen

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/homing-go/homing/model"
)

// A Result is what came of an action.
type Result struct {
	// Output is what it printed.
	Output []byte
	// ExitCode is 0 when it went well, and -1 when it did not end by itself.
	ExitCode int
	// Note says what the output does not, such as that a time limit passed.
	Note string
	// Submission is set when the task is over.
	Submission *Submission
}

// A Submission is the patch of a finished task, byte for byte as git printed it. It is
// empty only when the model insisted on it.
type Submission struct {
	Patch []byte
}

// Observation limits of the benchmark's agent, in characters.
const (
	maxObservation = 10_000
	keptAtEachEnd  = 5_000
)

// Text is the result as the model sees it. Output from 10,000 characters on is shown by its
// first and last 5,000.
func (r Result) Text() string {
	var b strings.Builder
	if r.Note != "" {
		fmt.Fprintf(&b, "<exception>%s</exception>\n", validText(r.Note))
	}
	fmt.Fprintf(&b, "<returncode>%d</returncode>\n", r.ExitCode)
	output := validText(string(r.Output))
	n := utf8.RuneCountInString(output)
	if n < maxObservation {
		b.WriteString("<output>\n" + output + "</output>")
		return b.String()
	}
	head := prefixRunes(output, keptAtEachEnd)
	tail := output[len(prefixRunes(output, n-keptAtEachEnd)):]
	fmt.Fprintf(&b, "<warning>\nThe output is too long to be shown whole. Narrow the command down: select with grep, head, tail or sed, "+
		"or write the output to a file and look at parts of it.\n</warning><output_head>\n%s\n</output_head>\n"+
		"<elided_chars>\n%d characters left out\n</elided_chars>\n<output_tail>\n%s\n</output_tail>", head, n-2*keptAtEachEnd, tail)
	return b.String()
}

// prefixRunes returns the first n characters.
func prefixRunes(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// Observations returns the tool messages that answer the actions of one answer, in their
// order. Actions without a result were not run, and the model is told so.
func Observations(actions []Action, results []Result) []model.Message {
	out := make([]model.Message, len(actions))
	for i, a := range actions {
		text := "not run: the run ended before this call"
		if i < len(results) {
			text = results[i].Text()
		}
		out[i] = model.ToolResult(a.ID(), text)
	}
	return out
}
