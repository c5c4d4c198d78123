package qwen

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A CallError is what is wrong with one tool call. Its text is for the model: it says
// what was received and what would be right.
type CallError struct {
	Kind Kind
	// Tool is the name as received, without the blanks around it.
	Tool string
	// Param is the parameter at fault; "" when it is the call as a whole.
	Param string
	// Reason says what is wrong and what to do.
	Reason string
}

// Error names the kind, the tool, the parameter and the reason.
func (e *CallError) Error() string {
	var b strings.Builder
	b.WriteString(string(e.Kind))
	if e.Tool != "" {
		fmt.Fprintf(&b, " in %s", e.Tool)
	}
	if e.Param != "" {
		fmt.Fprintf(&b, ", parameter %q", e.Param)
	}
	b.WriteString(": ")
	b.WriteString(e.Reason)
	return b.String()
}

// Is matches the error's [Kind].
func (e *CallError) Is(target error) bool {
	kind, ok := target.(Kind)
	return ok && kind == e.Kind
}

// excerpt quotes the text around a position, for reports to the model.
func excerpt[T string | []byte](text T, at int) string {
	const around = 24
	at = min(max(at, 0), len(text))
	from, to := max(at-around, 0), min(at+around, len(text))
	for from > 0 && from < len(text) && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	part := strings.ToValidUTF8(string(text[from:to]), "\ufffd")
	if from > 0 {
		part = "..." + part
	}
	if to < len(text) {
		part += "..."
	}
	return fmt.Sprintf("%#q", part) // as it is if that can be: in JSON, quotes and backslashes are the point
}

// shorten cuts a value for a report.
func shorten(value string) string {
	const limit = 60
	if len(value) <= limit {
		return value
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(value[cut]) {
		cut--
	}
	return value[:cut] + "..."
}
