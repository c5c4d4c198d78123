package agent

import (
	"errors"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/routing"
)

// An ExitStatus is how a trajectory ended.
type ExitStatus string

// The exit statuses. The first five are results: the model had its chance. The others are
// failures of what the trajectory needs, and say nothing of the model; see
// [ExitStatus.Infrastructure].
const (
	// Submitted: the model handed its patch in.
	Submitted ExitStatus = "Submitted"
	// LimitsExceeded: the limit on steps, on tokens or on cost was reached.
	LimitsExceeded ExitStatus = "LimitsExceeded"
	// TimeExceeded: the limit on time was reached.
	TimeExceeded ExitStatus = "TimeExceeded"
	// RepeatedFormatError: too many answers in a row could not be carried out.
	RepeatedFormatError ExitStatus = "RepeatedFormatError"
	// ContextWindowExceeded: the history does not fit the model's context any more.
	ContextWindowExceeded ExitStatus = "ContextWindowExceeded"

	// SandboxLost: commands cannot be run any more, such as when the container is dead. A
	// model that destroys the shell of its sandbox ends so, too: nothing tells the two apart.
	// One that takes its repository away goes on, to its limits.
	SandboxLost ExitStatus = "SandboxLost"
	// RateLimited: the endpoint still refused for too many requests when the retries were used up.
	RateLimited ExitStatus = "RateLimited"
	// EndpointFailed: the endpoint did not answer in a usable way.
	EndpointFailed ExitStatus = "EndpointFailed"
	// JournalFailed: a step could not be written to disk.
	JournalFailed ExitStatus = "JournalFailed"
)

// Infrastructure reports whether the trajectory ended for a reason that is not the
// model's. A score over such a trajectory is incomplete.
func (s ExitStatus) Infrastructure() bool {
	switch s {
	case SandboxLost, RateLimited, EndpointFailed, JournalFailed:
		return true
	}
	return false
}

// An Outcome is what came of a trajectory.
type Outcome struct {
	// ExitStatus is "" when the trajectory has not ended: the context was done. Then it can
	// go on, see [Replay].
	ExitStatus ExitStatus
	// Reason says more for people, such as which limit it was, or what the server said. What a
	// server says may hold secrets.
	Reason string
	// Err is the failure behind an infrastructure status.
	Err error
	// Submission is the patch, byte for byte; empty unless Submitted.
	Submission []byte
	// Unsubmitted is the patch of what was in the repository when the trajectory ended in
	// another way than Submitted: evidence, and no prediction. It is nil when it could not be
	// had.
	Unsubmitted []byte
	// Calls is the number of answers of the model, those that could not be carried out
	// included.
	Calls int
	// Usage is the sum over all answers.
	Usage model.Usage
	// Cost is the sum of what [Config.Cost] said.
	Cost    float64
	Session routing.Session
}

// modelExit is the exit of a call to the model that failed for good.
func modelExit(err error) ExitStatus {
	switch {
	case errors.Is(err, model.KindContextLength):
		return ContextWindowExceeded
	case errors.Is(err, model.KindRateLimited):
		return RateLimited
	}
	return EndpointFailed
}
