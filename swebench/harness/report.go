package harness

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/homing-go/homing/internal/rawjson"
)

// maxReport is how long a report may be.
const maxReport = 64 << 20

// A Report is the result of a run. Its JSON has the names of the fields that the Python
// harness writes. What each of them means stands in the package's doc.
type Report struct {
	TotalInstances, SubmittedInstances, CompletedInstances, ResolvedInstances, UnresolvedInstances,
	EmptyPatchInstances, ErrorInstances int

	CompletedIDs, IncompleteIDs, EmptyPatchIDs, SubmittedIDs, ResolvedIDs, UnresolvedIDs, ErrorIDs []string

	// InfraFailureIDs and AmbiguousFailureIDs are also among those above; FailureReasons
	// are by instance.
	InfraFailureIDs, AmbiguousFailureIDs []string
	FailureReasons                       map[string]string

	// Raw is the report as the Python harness wrote it; nil where there is none.
	Raw json.RawMessage
}

// A ReportError tells why a report cannot be used.
type ReportError struct {
	File   string
	Reason string
}

func (e *ReportError) Error() string {
	if e.File == "" {
		return "harness: report: " + e.Reason
	}
	return "harness: report " + e.File + ": " + e.Reason
}

// field is a counter of a report with the instances that it counts.
type field struct {
	counter string
	count   *int
	list    string
	ids     *[]string
	must    bool // a report without the counter is none
}

func (r *Report) fields() []field {
	return []field{
		{"total_instances", &r.TotalInstances, "", nil, false},
		{"submitted_instances", &r.SubmittedInstances, "submitted_ids", &r.SubmittedIDs, true},
		{"completed_instances", &r.CompletedInstances, "completed_ids", &r.CompletedIDs, false},
		{"resolved_instances", &r.ResolvedInstances, "resolved_ids", &r.ResolvedIDs, true},
		{"unresolved_instances", &r.UnresolvedInstances, "unresolved_ids", &r.UnresolvedIDs, false},
		{"empty_patch_instances", &r.EmptyPatchInstances, "empty_patch_ids", &r.EmptyPatchIDs, false},
		{"error_instances", &r.ErrorInstances, "error_ids", &r.ErrorIDs, false},
		{"", nil, "incomplete_ids", &r.IncompleteIDs, false},
		{"infra_failure_instances", new(int), "infra_failure_ids", &r.InfraFailureIDs, false},
		{"ambiguous_failure_instances", new(int), "ambiguous_failure_ids", &r.AmbiguousFailureIDs, false},
	}
}

// ParseReport reads a report of version 4 or 5 of the Python harness. Counters and lists
// must agree where both are there. The error is a *[ReportError].
func ParseReport(data []byte) (Report, error) {
	fail := func(format string, args ...any) (Report, error) {
		return Report{}, &ReportError{Reason: fmt.Sprintf(format, args...)}
	}
	if err := rawjson.Valid(data); err != nil {
		return fail("it is not JSON: %v", err)
	}
	if rawjson.Kind(data) != '{' {
		return fail("it is not an object")
	}
	r := Report{Raw: json.RawMessage(data)}
	for _, f := range r.fields() {
		var ids []string
		listed := false
		if f.list != "" {
			value := rawjson.Get(data, f.list)
			switch rawjson.Kind(value) {
			case 0, 'n':
			case '[':
				listed, ids = true, []string{}
				for a := rawjson.Elements(value); a.Next(); {
					if rawjson.Kind(a.Value) != '"' {
						return fail("%s has an element that is not a text", f.list)
					}
					ids = append(ids, rawjson.Text(a.Value))
				}
				slices.Sort(ids)
				if len(slices.Compact(slices.Clone(ids))) != len(ids) {
					return fail("%s has an instance twice", f.list)
				}
				*f.ids = ids
			default:
				return fail("%s is not a list", f.list)
			}
		}
		if f.counter == "" {
			continue
		}
		value := rawjson.Get(data, f.counter)
		n, err := strconv.Atoi(string(value))
		switch kind := rawjson.Kind(value); {
		case (kind == 0 || kind == 'n') && !f.must:
			n = len(ids)
		case err != nil || n < 0 || kind == '-':
			return fail("%s is %.60s, want an integer that is 0 or more", f.counter, orMissing(value))
		case listed && n != len(ids):
			return fail("%s is %d, but %s has %d", f.counter, n, f.list, len(ids))
		}
		*f.count = n
	}
	if r.ResolvedInstances > r.SubmittedInstances {
		return fail("%d instances are resolved, but only %d submitted", r.ResolvedInstances, r.SubmittedInstances)
	}
	if reasons := rawjson.Get(data, "failure_reasons"); rawjson.Kind(reasons) == '{' {
		for o := rawjson.Members(reasons); o.Next(); {
			text := rawjson.Text(o.Value)
			if text == "" {
				text = string(o.Value[:min(len(o.Value), 500)])
			}
			r.because(string(o.Key), text)
		}
	}
	return r, nil
}

func orMissing(value []byte) string {
	if len(value) == 0 {
		return "missing"
	}
	return string(value)
}

func (r *Report) because(id, reason string) {
	if r.FailureReasons == nil {
		r.FailureReasons = map[string]string{}
	}
	r.FailureReasons[id] = reason
}

// infra notes a failure of the infrastructure.
func (r *Report) infra(id, reason string) {
	if !slices.Contains(r.InfraFailureIDs, id) {
		r.InfraFailureIDs = append(r.InfraFailureIDs, id)
		slices.Sort(r.InfraFailureIDs)
	}
	r.because(id, reason)
}

// MarshalJSON writes the fields of the Python harness, and what its own report had besides.
func (r Report) MarshalJSON() ([]byte, error) {
	known := map[string]bool{"failure_reasons": true, "schema_version": true}
	dst := []byte("{")
	number := func(name string, n int) {
		dst = append(rawjson.AppendQuoted(dst, name), ": "...)
		dst = append(strconv.AppendInt(dst, int64(n), 10), ",\n  "...)
	}
	list := func(name string, ids []string) {
		dst = append(rawjson.AppendQuoted(dst, name), ": ["...)
		for i, id := range ids {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = rawjson.AppendQuoted(dst, id)
		}
		dst = append(dst, "],\n  "...)
	}
	dst = append(dst, "\n  "...)
	for _, f := range r.fields() {
		known[f.counter], known[f.list] = true, true
		if f.ids != nil && *f.ids == nil && (f.list == "infra_failure_ids" || f.list == "ambiguous_failure_ids") {
			continue // version 4 does not have them
		}
		switch {
		case f.list == "infra_failure_ids" || f.list == "ambiguous_failure_ids":
			number(f.counter, len(*f.ids))
		case f.counter != "":
			number(f.counter, *f.count)
		}
		if f.list != "" {
			list(f.list, *f.ids)
		}
	}
	if len(r.FailureReasons) > 0 || r.InfraFailureIDs != nil {
		reasons, err := json.Marshal(r.reasons())
		if err != nil {
			return nil, err
		}
		dst = append(append(append(dst, `"failure_reasons": `...), reasons...), ",\n  "...)
	}
	if r.Raw != nil {
		for o := rawjson.Members(r.Raw); o.Next(); {
			if !known[string(o.Key)] {
				dst = append(rawjson.AppendQuoted(dst, o.Key), ": "...)
				dst = append(append(dst, o.Value...), ",\n  "...)
			}
		}
	}
	return append(dst, "\"schema_version\": 2\n}"...), nil
}

// reasons are the failure reasons, as an object also when there are none.
func (r Report) reasons() map[string]string {
	if r.FailureReasons == nil {
		return map[string]string{}
	}
	return r.FailureReasons
}
