package harness

import (
	"fmt"
	"slices"
)

// A Code names a kind of [Reason].
type Code string

// The codes.
const (
	// Infrastructure failed for instances: they have no verdict that is the model's.
	Infrastructure Code = "infra_failures"
	// NoPrediction is for instances that were to be evaluated.
	NoPrediction Code = "missing_predictions"
	// NothingGraded says that no instance has a verdict: of all patches none was graded.
	NothingGraded Code = "nothing_graded"
	// Unlisted says that the report counts errors that it does not list.
	Unlisted Code = "unlisted_errors"
	// PatchFailed and TestsTimedOut are verdicts on patches, and Ambiguous is a doubt about
	// some: the score is complete with them.
	PatchFailed   Code = "patches_not_applied"
	TestsTimedOut Code = "tests_timed_out"
	Ambiguous     Code = "ambiguous_failures"
)

// What a failure reason is when it is the patch's own.
const (
	reasonPatch   = "patch_apply_failed"
	reasonTimeout = "test_timeout"
)

// A Reason is something that a reader of a score has to know.
type Reason struct {
	Code Code
	// Advisory reasons leave the score complete.
	Advisory bool
	Text     string
	IDs      []string
}

// Complete reports whether the score can be taken at its word: each instance has a verdict
// that is the model's own.
func (r Report) Complete() bool {
	return !slices.ContainsFunc(r.Reasons(), func(reason Reason) bool { return !reason.Advisory })
}

// Reasons tells what makes the score incomplete, and then what is worth knowing.
func (r Report) Reasons() []Reason {
	var reasons []Reason
	add := func(code Code, advisory bool, ids []string, text string) {
		if len(ids) > 0 {
			reasons = append(reasons, Reason{Code: code, Advisory: advisory, IDs: ids, Text: fmt.Sprintf("%d %s: %s", len(ids), text, named(ids))})
		}
	}
	var patch, timeout []string
	infra := slices.Clone(r.InfraFailureIDs)
	for _, id := range r.ErrorIDs {
		switch {
		case slices.Contains(infra, id):
		case r.FailureReasons[id] == reasonPatch:
			patch = append(patch, id)
		case r.FailureReasons[id] == reasonTimeout:
			timeout = append(timeout, id)
		default:
			infra = append(infra, id)
		}
	}
	slices.Sort(infra)
	add(Infrastructure, false, infra, "instances failed for reasons that are not the model's; run them again")
	if n := r.ErrorInstances - len(r.ErrorIDs); n > 0 {
		reasons = append(reasons, Reason{Code: Unlisted, Text: fmt.Sprintf("%d instances ended in errors that the report does not list", n)})
	}
	add(NoPrediction, false, r.IncompleteIDs, "instances have no prediction")
	if n := r.EmptyPatchInstances + r.ErrorInstances; n > 0 && n >= r.SubmittedInstances {
		reasons = append(reasons, Reason{Code: NothingGraded, Text: fmt.Sprintf("of %d predictions none was graded: %d are empty, %d ended in errors", r.SubmittedInstances, r.EmptyPatchInstances, r.ErrorInstances)})
	}
	add(PatchFailed, true, patch, "patches did not apply")
	add(TestsTimedOut, true, timeout, "patches let their tests take too long")
	add(Ambiguous, true, r.AmbiguousFailureIDs, "unresolved instances may have failed for other reasons than their patches")
	return reasons
}
