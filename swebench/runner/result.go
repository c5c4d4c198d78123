package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/homing-go/homing/swebench/harness"
)

// A Result is what came of a run.
type Result struct {
	// Score is Resolved / Evaluated; nil if there is none: nothing was graded.
	Score *float64 `json:"score"`
	// Complete tells that the score can be taken at its word: every instance has a
	// prediction and a verdict that are the model's own.
	Complete bool `json:"complete"`
	// Evaluated is the number of instances, those without a prediction too; Submitted that
	// of the predictions.
	Evaluated int `json:"evaluated"`
	Resolved  int `json:"resolved"`
	Submitted int `json:"submitted"`
	// Reasons say why Complete is false; empty, but not null, if it is true.
	Reasons []Reason `json:"reasons"`
	// Notes are reasons that leave the score complete.
	Notes []Reason `json:"notes,omitempty"`

	Run      string `json:"run"`
	Shard    string `json:"shard,omitempty"`
	Model    string `json:"model"`
	Template string `json:"template"`
	Hash     string `json:"template_sha256"`
	// Statuses are the instances by the status with which their trajectories ended.
	Statuses map[string][]string `json:"exit_statuses"`
	Headers  []string            `json:"session_headers"`
	// Routing is what the clients have counted, in the processes before this one too; nil
	// without an audit. Of requests of a process that was killed the backend is not known.
	Routing *Routing `json:"routing,omitempty"`
	// Report is that of the evaluation.
	Report harness.Report `json:"-"`

	evaluated bool // the evaluation had begun
}

// Routing is what became of the requests.
type Routing struct {
	Requests int `json:"requests"`
	Sessions int `json:"sessions"`
	// Backends are the sessions that each backend has served, by its name.
	Backends map[string]int `json:"backends"`
	// Stayed and Moved are the sessions that one backend has served, and that more than one has;
	// of the others fewer than two requests told their backend.
	Stayed int `json:"stayed"`
	Moved  int `json:"moved"`
	// Unknown is the number of requests whose answer did not tell the backend, and
	// Mismatches that of those which another backend served than the one before.
	Unknown    int     `json:"unknown"`
	Mismatches int     `json:"mismatches"`
	Cached     float64 `json:"cached_ratio"`
}

// A Reason is something that a reader of a score has to know. Its codes are those of package
// harness and the constants here.
type Reason struct {
	Code string   `json:"code"`
	Text string   `json:"text"`
	IDs  []string `json:"instances,omitempty"`
}

// The codes of reasons beside those of package harness.
const (
	// Unfinished: the run was interrupted, or a phase took longer than its limit.
	Unfinished = "unfinished"
	// EvaluationFailed: the evaluator gave no report that can be used.
	EvaluationFailed = "evaluation_failed"
	// NotGraded: there is no evaluator, or nothing to grade.
	NotGraded = "not_graded"
	// SessionsMoved and OneBackend are notes on the routing: the score is complete with them.
	SessionsMoved = "sessions_moved"
	OneBackend    = "one_backend"
)

// result makes the result of a report and the error of the run.
func (r *run) result(report harness.Report, err error) Result {
	res := Result{
		Evaluated: len(r.rows), Resolved: report.ResolvedInstances, Submitted: report.SubmittedInstances, Reasons: []Reason{},
		Run: r.folder.Run, Shard: r.folder.Shard, Model: r.Model, Template: r.folder.Template, Hash: r.TemplateHash, Headers: r.Headers, Report: report,
		evaluated: r.graded, Statuses: map[string][]string{},
	}
	if r.statuses != nil {
		res.Statuses = r.statuses.byStatus()
	}
	if res.Headers == nil {
		res.Headers = []string{}
	}
	if r.preds != nil && report.SubmittedInstances == 0 {
		res.Submitted = len(r.preds.all())
	}
	failed := report.InfraFailureIDs
	for _, reason := range report.Reasons() {
		own := Reason{Code: string(reason.Code), Text: reason.Text, IDs: reason.IDs}
		switch reason.Code {
		case harness.Infrastructure:
			own.Text += r.causes(report)
		case harness.NoPrediction:
			own.IDs = slices.DeleteFunc(slices.Clone(own.IDs), func(id string) bool { return slices.Contains(failed, id) })
			if len(own.IDs) == 0 {
				continue
			}
			own.Text = fmt.Sprintf("%d instances have no prediction: %s", len(own.IDs), named(own.IDs))
		}
		if reason.Advisory {
			res.Notes = append(res.Notes, own)
		} else {
			res.Reasons = append(res.Reasons, own)
		}
	}
	var late *TimeoutError
	switch {
	case err == nil && r.graded && report.SubmittedInstances > 0 && res.Evaluated > 0:
		score := float64(res.Resolved) / float64(res.Evaluated)
		res.Score = &score
	case err == nil && r.Evaluator == nil:
		res.Notes = append(res.Notes, Reason{Code: NotGraded, Text: "the predictions were not graded, as was asked for"})
	case err == nil:
		res.Reasons = append(res.Reasons, Reason{Code: NotGraded, Text: "there was no prediction to grade"})
	case errors.As(err, &late), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		res.Reasons = append(res.Reasons, Reason{Code: Unfinished, Text: "the run did not end: " + r.Redact.Text(err.Error()) + "; run it again with its folder to go on"})
	case r.graded:
		res.Reasons = append(res.Reasons, Reason{Code: EvaluationFailed, Text: r.Redact.Text(err.Error())})
	default:
		res.Reasons = append(res.Reasons, Reason{Code: Unfinished, Text: r.Redact.Text(err.Error())})
	}
	res.Complete = len(res.Reasons) == 0
	if r.Audit != nil {
		res.Routing = r.routing()
		res.Notes = append(res.Notes, res.Routing.notes(r.Headers)...)
	}
	return res
}

// causes tells some of what went wrong.
func (r *run) causes(report harness.Report) string {
	var text strings.Builder
	for _, id := range report.InfraFailureIDs[:min(3, len(report.InfraFailureIDs))] {
		fmt.Fprintf(&text, "; %s: %.300s", id, report.FailureReasons[id])
	}
	return text.String()
}

// JSON is the report of the evaluation as services return it, with the reasons and the
// routing beside it.
func (r Result) JSON() (json.RawMessage, error) {
	report, err := r.Report.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(report, &members); err != nil {
		return nil, err
	}
	own, err := json.Marshal(struct {
		Complete bool     `json:"complete"`
		Reasons  []Reason `json:"reasons"`
		Notes    []Reason `json:"notes,omitempty"`
		Hash     string   `json:"template_sha256"`
		Headers  []string `json:"session_headers"`
		Routing  *Routing `json:"routing,omitempty"`
	}{r.Complete, r.Reasons, r.Notes, r.Hash, r.Headers, r.Routing})
	if err != nil {
		return nil, err
	}
	return append(append(report[:len(report)-1:len(report)-1], ','), own[1:]...), nil
}
