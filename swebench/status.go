package swebench

import (
	"bytes"
	"encoding/json"
)

// State is what became of a run so far.
type State string

// The states of a run.
const (
	StateQueued    State = "queued"
	StateRunning   State = "running"
	StateSucceeded State = "succeeded"
	StateFailed    State = "failed"
	StateCancelled State = "cancelled"
)

// Terminal reports whether a run in this state is over.
func (s State) Terminal() bool {
	return s == StateSucceeded || s == StateFailed || s == StateCancelled
}

// Phase is what a run is doing.
type Phase string

// The phases of a run.
const (
	PhaseQueued    Phase = "queued"
	PhaseAgent     Phase = "agent"
	PhaseEval      Phase = "eval"
	PhaseSucceeded Phase = "succeeded"
	PhaseFailed    Phase = "failed"
	PhaseCancelled Phase = "cancelled"
)

// RunStatus is what a service answers about a run. On the wire every key is there, null
// where nothing is known. Times are seconds since 1970.
type RunStatus struct {
	RunID          string          `json:"run_id"`
	Status         State           `json:"status"`
	CreatedAt      float64         `json:"created_at"`
	UpdatedAt      float64         `json:"updated_at"`
	FinishedAt     *float64        `json:"finished_at"`
	Phase          Phase           `json:"phase"`
	AgentTotal     int             `json:"agent_total"`
	AgentCompleted int             `json:"agent_completed"`
	EvalTotal      int             `json:"eval_total"`
	EvalCompleted  int             `json:"eval_completed"`
	Message        *string         `json:"message"`
	Error          *string         `json:"error"`
	Result         json.RawMessage `json:"result"` // an object; nil means null
	Artifacts      []Artifact      `json:"artifacts"`
}

// MarshalJSON writes every key. It escapes no more than JSON needs; json.Marshal would
// escape <, > and & again.
func (s RunStatus) MarshalJSON() ([]byte, error) {
	type plain RunStatus
	if s.Artifacts == nil {
		s.Artifacts = []Artifact{}
	}
	if len(s.Result) == 0 {
		s.Result = json.RawMessage("null")
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(plain(s)); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
