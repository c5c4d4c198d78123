package swebench

import (
	"encoding/json"
	"fmt"

	"github.com/homing-go/homing/internal/rawjson"
)

// Counters are the two numbers of a result that make the score.
type Counters struct {
	Submitted int // instances with a prediction
	Resolved  int
}

// A CounterError tells why a result has no score.
type CounterError struct {
	Reason string
}

func (e *CounterError) Error() string { return "swebench: result: " + e.Reason }

// ParseCounters reads the counters of a result. Each must be there, as an integer that is 0
// or more or as a string of ASCII digits; booleans and floats, even 1.0, are refused. The
// error is a *[CounterError].
func ParseCounters(result json.RawMessage) (Counters, error) {
	m, err := lastMembers(result)
	if err != nil {
		return Counters{}, &CounterError{Reason: err.Error()}
	}
	var c Counters
	for _, f := range []struct {
		name string
		into *int
	}{{"submitted_instances", &c.Submitted}, {"resolved_instances", &c.Resolved}} {
		n, ok := strictCounter(m[f.name])
		if !ok {
			return Counters{}, &CounterError{Reason: fmt.Sprintf("%s is %s, want an integer from 0 to %d", f.name, shown(m[f.name]), maxInteger)}
		}
		*f.into = n
	}
	return c, nil
}

func strictCounter(value []byte) (int, bool) {
	text := string(value)
	if rawjson.Kind(value) == '"' {
		text = rawjson.Text(value)
	}
	if !digits(text) {
		return 0, false
	}
	return laxInteger(value)
}
