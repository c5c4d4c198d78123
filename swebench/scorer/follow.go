package scorer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/homing-go/homing/swebench"
)

const (
	maxBackoff = 30 * time.Second
	// maxFailedPolls in a row end a run.
	maxFailedPolls = 10
)

// A stop tells why a run is not followed any further.
type stop struct {
	reason      Reason
	interrupted bool
}

// follow polls until the run is over. A stop means that it was given up.
func (s *Scorer) follow(ctx context.Context, p submission, view swebench.StatusView, t *tracker) (swebench.StatusView, *stop) {
	runID := view.RunID
	deadline := time.Now().Add(s.cfg.Timeout)
	wait, failed := s.cfg.PollInterval, 0
	var since time.Time // of the first poll in a row that failed
	for !view.Status.Terminal() {
		left := time.Until(deadline)
		if left <= 0 {
			return view, &stop{reason: Reason{DeadlineExceeded, fmt.Sprintf("timed out: the run was not over after %v, the deadline (service_timeout_s)", s.cfg.Timeout)}}
		}
		if err := pause(ctx, min(wait, left)); err != nil {
			return view, interrupt(err)
		}
		next, err := s.pollBefore(ctx, deadline, runID)
		if ctx.Err() != nil {
			return view, interrupt(context.Cause(ctx))
		}
		if err == nil {
			if next.RunID != runID {
				return view, &stop{reason: Reason{RunIDMismatch, fmt.Sprintf("the service was asked about run_id %s and answered about %s", runID, s.client.secrets.excerpt(strconv.Quote(next.RunID)))}}
			}
			view, wait, failed = next, s.cfg.PollInterval, 0
			t.update(view.Progress)
			s.remind(ctx, p, view)
			continue
		}
		if failed++; failed == 1 {
			since = time.Now()
		}
		var setup *SetupError
		if !errors.As(err, &setup) || !setup.transient() || failed >= maxFailedPolls && time.Since(since) >= s.cfg.Tolerance {
			return view, &stop{reason: pollReason(err, failed)}
		}
		wait = s.backoff(failed, setup)
		s.log.Warn("a poll failed and is tried again", "failed", failed, "wait", wait, "error", err)
	}
	return view, nil
}

func interrupt(err error) *stop {
	return &stop{reason: Reason{Interrupted, "scoring was interrupted: " + err.Error()}, interrupted: true}
}

// pollBefore polls; a poll that is under way at the deadline has one more second.
func (s *Scorer) pollBefore(ctx context.Context, deadline time.Time, runID string) (swebench.StatusView, error) {
	if latest := time.Now().Add(time.Second); deadline.Before(latest) {
		deadline = latest
	}
	ctx, cancel := context.WithDeadlineCause(ctx, deadline, errStalled)
	defer cancel()
	return s.client.poll(ctx, runID)
}

func pollReason(err error, failed int) Reason {
	var setup *SetupError
	if errors.As(err, &setup) && setup.StatusCode == http.StatusNotFound {
		return Reason{RunLost, "the service does not know the run any more; it was probably restarted and lost it: " + err.Error()}
	}
	return Reason{PollFailed, fmt.Sprintf("the run could not be followed, %d polls failed in a row: %v", failed, err)}
}

// backoff is the pause before the next attempt after so many failures.
func (s *Scorer) backoff(failed int, e *SetupError) time.Duration {
	d := s.cfg.PollInterval
	for i := 1; i < failed && d < maxBackoff; i++ {
		d *= 2
	}
	d = min(d, max(maxBackoff, s.cfg.PollInterval))
	if seconds, err := strconv.Atoi(e.retryAfter); err == nil && seconds > 0 {
		d = max(d, min(time.Duration(seconds)*time.Second, maxBackoff))
	}
	return d
}
