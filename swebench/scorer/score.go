package scorer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/internal/pyint"
)

// Preflight checks that the service is there and can do what scoring needs. The error is a
// *[SetupError].
func (s *Scorer) Preflight(ctx context.Context) error {
	_, err := s.client.health(ctx)
	return err
}

// Score submits the run, follows it and scores it. Whatever becomes of a run that was
// submitted is in the entry, with its reasons. There is an error, too, if ctx ended; and
// alone, with a nil entry, if nothing was submitted: the request is not sound, the report
// folder cannot be written, or the service's health is not as it should be.
func (s *Scorer) Score(ctx context.Context) (*Entry, error) {
	e := s.unscored()
	if err := os.MkdirAll(s.cfg.ReportDir, 0o750); err != nil {
		return nil, &SetupError{Op: "report folder", Reason: err.Error()}
	}
	if err := os.Remove(s.resultPath()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, &SetupError{Op: "report folder", Reason: "the result of an earlier run cannot be removed: " + err.Error()}
	}
	if len(s.cfg.Request.EvaluatedInstanceIDs) == 0 {
		s.log.Warn("there are no instances to evaluate", "dataset", s.cfg.DatasetName)
		e.because(NoInstances, "the dataset has no rows; nothing was submitted")
		return e, nil
	}
	if err := s.cfg.Request.Validate(); err != nil {
		return nil, &SetupError{Op: "POST v1/runs", Reason: err.Error()}
	}
	health, err := s.client.health(ctx)
	if err != nil {
		return nil, err
	}
	return e, s.run(ctx, health, e)
}

// run fills in what becomes of a submission.
func (s *Scorer) run(ctx context.Context, health swebench.Health, e *Entry) error {
	view, sent, err := s.submit(ctx, health, e)
	if err != nil {
		reason := submitReason(err)
		s.giveUp(e, reason)
		if reason.Code == SubmitFailed {
			s.unclaim()
		}
		if ctx.Err() != nil {
			s.giveUp(e, interrupt(context.Cause(ctx)).reason)
			return context.Cause(ctx)
		}
		return nil
	}
	if !swebench.ValidRunID(view.RunID) {
		s.giveUp(e, Reason{InvalidRunID, "the service gave the run a run_id that is no text of letters, digits, _ and -; it can neither be followed nor cancelled"})
		return nil
	}
	e.RunID = &view.RunID
	progress := &tracker{tell: s.cfg.Progress}
	defer progress.close()
	progress.update(view.Progress)
	view, given := s.follow(ctx, sent, view, progress)
	if given != nil {
		s.giveUp(e, given.reason)
		err := s.client.cancel(ctx, *e.RunID)
		if err != nil {
			s.giveUp(e, Reason{CancelFailed, "the service did not confirm that it cancels the run: " + err.Error()})
		}
		if err == nil || given.reason.Code != PollFailed { // else the run is there when the service is back
			s.unclaim()
		}
		if given.interrupted {
			return context.Cause(ctx)
		}
		return nil
	}
	return s.conclude(ctx, view, e)
}

func (s *Scorer) giveUp(e *Entry, r Reason) {
	e.because(r.Code, r.Text)
	s.log.Error(r.Text, "code", r.Code, "dataset", s.cfg.DatasetName)
}

// conclude fetches what a finished run left and computes the score.
func (s *Scorer) conclude(ctx context.Context, view swebench.StatusView, e *Entry) error {
	e.Complete = true
	status := s.client.secrets.json(view.Raw)
	if err := writeAtomic(filepath.Join(s.runDir(view.RunID), fileServiceStatus), status); err != nil {
		s.giveUp(e, Reason{FileFailed, "the last status could not be written: " + err.Error()})
	}
	came := s.fetch(ctx, view)
	if ctx.Err() == nil {
		s.unclaim()
	}
	if ctx.Err() != nil {
		s.giveUp(e, interrupt(context.Cause(ctx)).reason)
		return context.Cause(ctx)
	}
	if view.Status != swebench.StateSucceeded {
		text := fmt.Sprintf("the run ended as %s", view.Status)
		if detail := s.client.secrets.excerpt(view.Error); detail != "" {
			text += ": " + detail
		}
		s.giveUp(e, Reason{stateCode(view.Status), text})
		return nil
	}
	result, reason := s.result(view, came)
	if reason == nil {
		result, reason = s.keep(result)
	}
	if reason != nil {
		s.giveUp(e, *reason)
		return nil
	}
	s.judge(result, e)
	return nil
}

// result returns the result of the status, or else that of the artifact that just came.
func (s *Scorer) result(view swebench.StatusView, came map[string]bool) ([]byte, *Reason) {
	if view.Result != nil {
		return view.Result, nil
	}
	if !came[swebench.FileResults] {
		return nil, &Reason{ResultMissing, "the run succeeded, but neither its status nor its artifacts hold a result"}
	}
	f, err := os.Open(filepath.Join(s.runDir(view.RunID), swebench.FileResults))
	if err != nil {
		return nil, &Reason{FileFailed, "the result could not be read: " + err.Error()}
	}
	defer f.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(io.LimitReader(f, maxAnswer+1))
	switch {
	case err != nil:
		return nil, &Reason{FileFailed, "the result could not be read: " + err.Error()}
	case len(data) > maxAnswer:
		return nil, &Reason{ResultInvalid, fmt.Sprintf("the result has more than %d bytes", maxAnswer)}
	}
	return data, nil
}

// keep writes the result to its place in the report folder.
func (s *Scorer) keep(data []byte) ([]byte, *Reason) {
	result, err := rawjson.Only(data)
	if err != nil || rawjson.Kind(result) != '{' {
		return nil, &Reason{ResultInvalid, "the result is not a JSON object"}
	}
	if err := writeAtomic(s.resultPath(), s.client.secrets.json(result)); err != nil {
		return nil, &Reason{FileFailed, "the result could not be written: " + err.Error()}
	}
	return result, nil
}

// judge computes the score and notes every reason for which it is incomplete.
func (s *Scorer) judge(result []byte, e *Entry) {
	c, err := swebench.ParseCounters(result)
	if err != nil {
		s.giveUp(e, Reason{CountersInvalid, s.client.secrets.excerpt(err.Error())})
		return
	}
	e.Submitted, e.Resolved = &c.Submitted, &c.Resolved
	asked := e.TotalSamples
	switch {
	case c.Resolved > c.Submitted || c.Submitted > asked:
		s.giveUp(e, Reason{CountersInconsistent, fmt.Sprintf("of %d instances %d were submitted and %d resolved", asked, c.Submitted, c.Resolved)})
		return
	case c.Submitted == 0:
		s.giveUp(e, Reason{NothingSubmitted, fmt.Sprintf("nothing was submitted: no agent of %d left a prediction", asked)})
	default:
		score := float64(c.Resolved) / float64(asked)
		e.Score = &score
		if c.Submitted != asked {
			s.giveUp(e, Reason{PredictionsMissing, fmt.Sprintf("of %d instances only %d were submitted with a prediction; the others count as unresolved", asked, c.Submitted)})
		}
	}
	if n := advisory(result, "error"); n > 0 {
		s.giveUp(e, Reason{InstanceErrors, fmt.Sprintf("the evaluation of %d instances broke (error_instances); they count as unresolved", n)})
	}
	if n := advisory(result, "empty_patch"); n > 0 && n >= c.Submitted {
		s.giveUp(e, Reason{AllPatchesEmpty, fmt.Sprintf("all %d patches are empty: agents or their endpoint probably did not work", n)})
	}
	for _, name := range []string{"infra_failure", "infrastructure_failure"} {
		if n := advisory(result, name); n > 0 {
			s.giveUp(e, Reason{InfrastructureFailures, fmt.Sprintf("%d instances failed for reasons of infrastructure (%s_instances)%s", n, name, s.example(result, name))})
		}
	}
}

// example is what the result tells of the first instance that failed in this way; "" if it
// tells nothing.
func (s *Scorer) example(result []byte, name string) string {
	reasons, ids := rawjson.Get(result, "failure_reasons"), rawjson.Get(result, name+"_ids")
	if rawjson.Kind(reasons) != '{' || rawjson.Kind(ids) != '[' {
		return ""
	}
	for a := rawjson.Elements(ids); a.Next(); {
		id := rawjson.Text(a.Value)
		if reason := rawjson.Text(rawjson.Get(reasons, id)); reason != "" {
			return ", such as " + s.client.secrets.excerpt(id+": "+reason)
		}
	}
	return ""
}

// advisory reads a number that changes no score: the counter of that name, or else how many
// IDs there are; 0 if neither is there.
func advisory(result []byte, name string) int {
	if n, ok := pyint.JSON(rawjson.Get(result, name+"_instances")); ok {
		return n
	}
	ids, n := rawjson.Get(result, name+"_ids"), 0
	if rawjson.Kind(ids) != '[' {
		return 0
	}
	for a := rawjson.Elements(ids); a.Next(); {
		n++
	}
	return n
}
