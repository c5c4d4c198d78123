package runner

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// String is a line for people.
func (p Progress) String() string {
	text := fmt.Sprintf("%s: %d of %d", p.Phase, p.Finished, p.Total)
	if p.Instance != "" {
		text += fmt.Sprintf(", %s: %s", p.Instance, p.Status)
	}
	if p.Reason != "" {
		text += " (" + p.Reason + ")"
	}
	return text
}

// Text is the result for people to read, some lines.
func (r Result) Text() string {
	var b strings.Builder
	if r.Score != nil {
		fmt.Fprintf(&b, "score %.4g: %d of %d instances are resolved, %d have a prediction\n", *r.Score, r.Resolved, r.Evaluated, r.Submitted)
	} else {
		fmt.Fprintf(&b, "no score: %d of %d instances have a prediction\n", r.Submitted, r.Evaluated)
	}
	if !r.Complete {
		b.WriteString("incomplete:\n")
	}
	for _, reason := range append(slices.Clone(r.Reasons), r.Notes...) {
		fmt.Fprintf(&b, "  %s: %s\n", reason.Code, reason.Text)
	}
	for _, status := range slices.Sorted(maps.Keys(r.Statuses)) {
		fmt.Fprintf(&b, "%s: %d\n", status, len(r.Statuses[status]))
	}
	if r.Routing != nil {
		fmt.Fprintln(&b, r.Routing)
	}
	fmt.Fprintf(&b, "run %s, model %s, template %s\n", r.Run, r.Model, r.Template)
	return b.String()
}
