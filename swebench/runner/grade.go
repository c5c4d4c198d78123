package runner

import (
	"context"
	"fmt"
	"maps"

	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/dataset"
	"github.com/homing-go/homing/swebench/harness"
	"github.com/homing-go/homing/swebench/phase"
	"github.com/homing-go/homing/swebench/sandbox"
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
	report, err := r.evaluator().Evaluate(ctx, shard, harness.Run{
		ID: r.EvalRunID, Model: r.Model, Rows: r.rows, Dir: r.EvalDir, Log: r.EvalLog, Redact: r.Redact,
		Env: []string{phase.RunIDVariable + "=" + r.Owner}, // by which a later process finds it
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

// evaluator marks the sandboxes of the native grader as those of the agents are marked, so that
// a later process finds what is left of them if this one is killed.
func (r *run) evaluator() harness.Evaluator {
	native, ok := r.Evaluator.(harness.Native)
	if !ok {
		return r.Evaluator
	}
	described := native.Spec
	native.Spec = func(ctx context.Context, row dataset.Row) (sandbox.Spec, error) {
		spec, err := harness.Describe(ctx, native.Runtime, described, native.Arch, row)
		if err != nil {
			return spec, err
		}
		return r.marked(spec, map[string]string{LabelOwner: r.Owner, LabelInstance: row.InstanceID}), nil
	}
	return native
}

// marked returns a description with labels and a variable by which a later process finds the
// sandbox and its processes.
func (r *run) marked(spec sandbox.Spec, labels map[string]string) sandbox.Spec {
	env := map[string]string{phase.RunIDVariable: r.Owner}
	maps.Copy(labels, spec.Labels)
	maps.Copy(labels, r.Labels)
	maps.Copy(env, spec.Env)
	spec.Labels, spec.Env = labels, env
	return spec
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
