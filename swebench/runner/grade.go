package runner

import (
	"context"
	"fmt"

	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/harness"
)

// grade has the predictions graded.
func (r *run) grade(ctx context.Context) (harness.Report, error) {
	predictions := r.preds.all()
	shard := map[string]harness.Prediction{}
	for _, row := range r.rows {
		if p, ok := predictions[row.InstanceID]; ok {
			shard[row.InstanceID] = p
		}
	}
	if r.EvalRunID == "" {
		r.EvalRunID = harness.NewRunID()
		if err := r.save(); err != nil {
			return r.ungraded(shard), err
		}
	}
	if r.Evaluator == nil || len(shard) == 0 {
		return r.ungraded(shard), nil
	}
	if r.Evaluating != nil {
		if err := r.Evaluating(r.EvalRunID); err != nil {
			return r.ungraded(shard), err
		}
	}
	r.graded = true
	report, err := r.Evaluator.Evaluate(ctx, shard, harness.Run{
		ID: r.EvalRunID, Model: r.Model, Rows: r.rows, Dir: r.EvalDir, Log: r.EvalLog, Redact: r.Redact,
		Progress: func(p harness.Progress) {
			r.tell(Progress{Phase: swebench.PhaseEval, Total: p.Total, Finished: p.Finished})
		},
		Warn: func(text string) { r.Logger.Warn(text) },
	})
	r.blame(&report)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("evaluation: %w", err)
	}
	return report, err
}

// ungraded is the report of predictions that nobody graded.
func (r *run) ungraded(predictions map[string]harness.Prediction) harness.Report {
	report := harness.Report{TotalInstances: len(r.rows)}
	for _, row := range r.rows {
		p, ok := predictions[row.InstanceID]
		switch {
		case !ok:
			report.IncompleteIDs = append(report.IncompleteIDs, row.InstanceID)
			continue
		case p.Patch == "":
			report.EmptyPatchIDs = append(report.EmptyPatchIDs, row.InstanceID)
		}
		report.SubmittedIDs = append(report.SubmittedIDs, row.InstanceID)
	}
	report.SubmittedInstances, report.EmptyPatchInstances = len(report.SubmittedIDs), len(report.EmptyPatchIDs)
	r.blame(&report)
	return report
}

// blame adds to a report the instances that the infrastructure has failed before anything of
// them could be graded.
func (r *run) blame(report *harness.Report) {
	for _, row := range r.rows {
		end, ok := r.statuses.ends[row.InstanceID]
		if !ok || !infrastructure(end.status) {
			continue
		}
		report.InfraFailureIDs = append(report.InfraFailureIDs, row.InstanceID)
		if report.FailureReasons == nil {
			report.FailureReasons = map[string]string{}
		}
		report.FailureReasons[row.InstanceID] = r.Redact.Text(fmt.Sprintf("%s: %s", end.status, end.reason))
	}
}
