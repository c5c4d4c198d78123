package swebench

import (
	"bytes"
	"encoding/json"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/swebench/internal/pyint"
)

// A StatusError tells why the answer about a run cannot be read.
type StatusError struct {
	Reason string
}

func (e *StatusError) Error() string { return "swebench: run status: " + e.Reason }

// A StatusView is what a client reads of a run's status. What the answer does not have, or
// has in another form, is left out, so that a newer service can say more.
type StatusView struct {
	// RunID and Status are as received; "" if they are not strings. Check them with
	// [ValidRunID] and State.Terminal.
	RunID          string
	Status         State
	Message, Error string
	// Result is nil if it is absent or null; it need not be an object.
	Result    json.RawMessage
	Artifacts []Artifact
	Progress  Progress
	// Raw is the whole answer.
	Raw json.RawMessage
}

// Progress is how far a run is. A counter is nil if the service does not tell it, or not
// as a number that is 0 or more.
type Progress struct {
	Phase                                                Phase
	AgentTotal, AgentCompleted, EvalTotal, EvalCompleted *int
}

// Known reports whether the service tells anything.
func (p Progress) Known() bool {
	return p.Phase != "" || p.AgentTotal != nil || p.AgentCompleted != nil || p.EvalTotal != nil || p.EvalCompleted != nil
}

// ParseStatus reads the answer about a run. It fails only if body is not one JSON object;
// the error is a *[StatusError]. Of equal keys the last counts. Artifacts may be a list of
// objects or an object of names and URLs; members in another form are left out.
func ParseStatus(body []byte) (StatusView, error) {
	m, err := lastMembers(body)
	if err != nil {
		return StatusView{}, &StatusError{Reason: err.Error()}
	}
	v := StatusView{
		RunID: rawjson.Text(m["run_id"]), Status: State(rawjson.Text(m["status"])),
		Message: rawjson.Text(m["message"]), Error: rawjson.Text(m["error"]),
		Artifacts: artifacts(m["artifacts"]),
		Progress: Progress{
			Phase:          Phase(rawjson.Text(m["phase"])),
			AgentTotal:     count(m["agent_total"]),
			AgentCompleted: count(m["agent_completed"]),
			EvalTotal:      count(m["eval_total"]),
			EvalCompleted:  count(m["eval_completed"]),
		},
		Raw: bytes.Clone(body),
	}
	if result := m["result"]; len(result) > 0 && rawjson.Kind(result) != 'n' {
		v.Result = bytes.Clone(result)
	}
	return v, nil
}

func artifacts(value []byte) []Artifact {
	var list []Artifact
	add := func(name, url []byte) {
		if rawjson.Kind(name) == '"' && rawjson.Kind(url) == '"' {
			list = append(list, Artifact{Name: rawjson.Text(name), URL: rawjson.Text(url)})
		}
	}
	switch rawjson.Kind(value) {
	case '[':
		for a := rawjson.Elements(value); a.Next(); {
			if rawjson.Kind(a.Value) == '{' {
				add(rawjson.Get(a.Value, "name"), rawjson.Get(a.Value, "url"))
			}
		}
	case '{':
		for o := rawjson.Members(value); o.Next(); {
			add(rawjson.AppendQuoted(nil, o.Key), o.Value)
		}
	}
	return list
}

// count reads a counter as Python's int() does; nil if it cannot or if it is negative.
func count(value []byte) *int {
	n, ok := pyint.JSON(value)
	if !ok || n < 0 {
		return nil
	}
	return &n
}
