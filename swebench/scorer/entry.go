package scorer

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/homing-go/homing/swebench"
)

// An Entry is what a report says about a dataset.
type Entry struct {
	DatasetName       string   `json:"dataset_name"`
	Extractor         *string  `json:"extractor"` // always null
	GroundTruthColumn *string  `json:"ground_truth_column"`
	Score             *float64 `json:"score"` // resolved / total_samples; null if there is none
	UnitSamples       int      `json:"unit_samples"`
	TotalSamples      int      `json:"total_samples"`
	NumRepeats        int      `json:"num_repeats"`
	DurationS         float64  `json:"duration_s"` // 0: the service times no phases
	Complete          bool     `json:"complete"`
	DatasetType       string   `json:"dataset_type"`
	// ResponseCounts are of the benchmark's own endpoint phase, which this dataset has not.
	ResponseCounts ResponseCounts `json:"response_counts"`

	// Reasons say why Complete is false; empty, but not null, if it is true.
	Reasons []Reason `json:"reasons"`
	// SessionHeaders are the names that the agents used, as far as the service was told.
	SessionHeaders []string `json:"session_headers"`
	// Routing says why agents ran without the names that were configured; nil if they did not.
	Routing *Unrouted `json:"routing,omitempty"`

	// RunID is null if no run is known to have begun.
	RunID *string `json:"run_id"`
	// Submitted and Resolved are the counters of the result; null if it has none.
	Submitted *int `json:"submitted_instances"`
	Resolved  *int `json:"resolved_instances"`
	// What was asked for, so that scores can be compared later.
	ModelName        string          `json:"model_name"`
	GenerationParams json.RawMessage `json:"generation_params"`
	Subset           string          `json:"subset"`
	Split            string          `json:"split"`
	Template         string          `json:"template"`
	InstanceIDs      []string        `json:"evaluated_instance_ids"`
}

// ResponseCounts counts responses.
type ResponseCounts struct {
	Issued    int `json:"issued"`
	Completed int `json:"completed"`
	Failed    int `json:"failed"`
}

// Unrouted tells that a run was routed by no session.
type Unrouted struct {
	Routed     bool     `json:"routed"` // false
	Configured []string `json:"configured"`
	Text       string   `json:"text"`
}

// A Reason is why a score is incomplete.
type Reason struct {
	Code Code   `json:"code"`
	Text string `json:"text"`
}

// A Code is a reason for machines.
type Code string

// The codes of reasons.
const (
	NoInstances            Code = "no_instances"          // the dataset has no rows
	SubmitFailed           Code = "submit_failed"         // the service refused the run, or could not be reached
	SubmitUnclear          Code = "submit_unclear"        // the service may have a run that nobody follows
	InvalidRunID           Code = "invalid_run_id"        // so it may have one, too
	PollFailed             Code = "poll_failed"           // the run could not be followed
	RunLost                Code = "run_lost"              // the service does not know the run any more
	RunIDMismatch          Code = "run_id_mismatch"       // the service answered about another run
	DeadlineExceeded       Code = "deadline_exceeded"     // the run took longer than Config.Timeout
	Interrupted            Code = "interrupted"           // the context ended
	CancelFailed           Code = "cancel_failed"         // the run may still go on
	RunFailed              Code = "run_failed"            // the service says so
	RunCancelled           Code = "run_cancelled"         // somebody else cancelled it
	ResultMissing          Code = "result_missing"        // no result came
	ResultInvalid          Code = "result_invalid"        // the result is no object
	CountersInvalid        Code = "counters_invalid"      // a counter is missing or no integer
	CountersInconsistent   Code = "counters_inconsistent" // more resolved than submitted, or more submitted than asked for
	NothingSubmitted       Code = "nothing_submitted"     // no predictions
	PredictionsMissing     Code = "predictions_missing"   // some instances have no prediction; they count as unresolved
	InstanceErrors         Code = "instance_errors"       // the evaluation of some instances broke
	AllPatchesEmpty        Code = "all_patches_empty"     // no agent changed anything
	InfrastructureFailures Code = "infrastructure_failures"
	FileFailed             Code = "file_failed" // a file of the report could not be written
)

// unscored is the entry of a run before anything is known.
func (s *Scorer) unscored() *Entry {
	r := s.cfg.Request
	e := &Entry{
		DatasetName: s.cfg.DatasetName, UnitSamples: len(r.EvaluatedInstanceIDs), TotalSamples: len(r.EvaluatedInstanceIDs),
		NumRepeats: 1, DatasetType: "accuracy", Reasons: []Reason{}, SessionHeaders: []string{},
		ModelName: r.ModelName, GenerationParams: r.GenerationParams, Subset: r.Subset, Split: r.Split, Template: r.Template,
		InstanceIDs: append([]string{}, r.EvaluatedInstanceIDs...),
	}
	if len(e.GenerationParams) == 0 {
		e.GenerationParams = json.RawMessage("{}")
	}
	if s.cfg.GroundTruth != "" {
		e.GroundTruthColumn = &s.cfg.GroundTruth
	}
	return e
}

func (e *Entry) because(code Code, text string) {
	e.Complete = false
	e.Reasons = append(e.Reasons, Reason{Code: code, Text: text})
}

// Text is the entry for people to read, some lines.
func (e *Entry) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ", e.DatasetName)
	if e.Score == nil {
		b.WriteString("no score")
	} else {
		fmt.Fprintf(&b, "score %.4f, %d of %d resolved", *e.Score, *e.Resolved, e.TotalSamples)
	}
	if e.RunID != nil {
		fmt.Fprintf(&b, ", run %s", *e.RunID)
	}
	if e.Complete {
		b.WriteString(", complete\n")
	} else {
		b.WriteString(", incomplete:\n")
	}
	for _, r := range e.Reasons {
		fmt.Fprintf(&b, "  %s: %s\n", r.Code, r.Text)
	}
	if e.Routing != nil {
		fmt.Fprintf(&b, "  note: %s\n", e.Routing.Text)
	}
	return b.String()
}

// stateCode is the reason of a run that ended without success.
func stateCode(state swebench.State) Code {
	if state == swebench.StateCancelled {
		return RunCancelled
	}
	return RunFailed
}
