package agent

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/homing-go/homing/model"
)

// evidence is how long the patch of an unfinished trajectory may take, and farewell how long
// the router may take to be told that there is nothing more to come.
const (
	maxEvidence = 8 << 20
	evidence    = 30 * time.Second
	farewell    = 5 * time.Second
)

// end ends the trajectory for a failure.
func (r *run) end(ctx context.Context, status ExitStatus, err error) error {
	r.out.Err = err
	return r.endWith(ctx, status, err.Error()+said(err), nil)
}

// maxSaid bounds what of a server's own words becomes a part of a reason.
const maxSaid = 300

// said is what the server has said of a failure; "" if it said nothing.
func said(err error) string {
	var failed *model.Error
	if !errors.As(err, &failed) || failed.Message == "" {
		return ""
	}
	words := strings.Join(strings.Fields(failed.Message), " ")
	if len(words) > maxSaid {
		words = strings.ToValidUTF8(words[:maxSaid], "") + "..."
	}
	return "; the server says: " + words
}

// endWith ends the trajectory and writes that down. What was not handed in is kept as
// evidence as far as it can be had.
func (r *run) endWith(ctx context.Context, status ExitStatus, reason string, patch []byte) error {
	r.out.ExitStatus, r.out.Reason, r.out.Submission = status, reason, patch
	if status != Submitted && status != SandboxLost && r.exec != nil {
		if left, err := r.exec.diff(ctx, evidence); err == nil && len(left) <= maxEvidence {
			r.out.Unsubmitted = left
		}
	}
	if r.trajectory != nil {
		over, cancel := context.WithTimeout(ctx, farewell)
		defer cancel()
		_ = r.trajectory.End(over) // a router that is not told forgets by itself
	}
	if r.unwritable || r.cfg.Journal == nil {
		return &ending{}
	}
	step := Step{Time: time.Now(), Elapsed: r.elapsed(), Exit: &Exit{Status: status, Reason: reason, Submission: patch, Unsubmitted: r.out.Unsubmitted}}
	if err := r.cfg.Journal.Append(step); err != nil && r.out.Err == nil {
		// The outcome stands: whoever reads the journal finds the last step before it.
		r.out.Err = err
	}
	return &ending{}
}

// recall returns the outcome of a trajectory that has ended.
func (r *run) recall(exit *Exit) error {
	r.out.ExitStatus, r.out.Reason = exit.Status, exit.Reason
	r.out.Submission, r.out.Unsubmitted = exit.Submission, exit.Unsubmitted
	return &ending{}
}
