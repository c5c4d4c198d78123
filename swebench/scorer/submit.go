package scorer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/homing-go/homing/swebench"
)

const (
	// submitAttempts are made of one submission if the service knows its key.
	submitAttempts = 4
	// graceAfterInterrupt is how long a submission under way is waited for.
	graceAfterInterrupt = 5 * time.Second
)

// submission is one POST /v1/runs, with its attempts.
type submission struct {
	body  []byte
	key   string // "" allows one attempt
	taken bool   // the key is that of an earlier process
}

// prepare decides by what the service says of itself right now.
func (s *Scorer) prepare(h swebench.Health, e *Entry) (submission, error) {
	r := s.cfg.Request
	e.SessionHeaders = r.RoutingHeaders
	if !h.Has(swebench.CapRoutingHeaders) {
		s.unrouted(e)
		r.RoutingHeaders = nil
	}
	body, err := r.MarshalJSON()
	if err != nil {
		return submission{}, &SetupError{Op: "POST v1/runs", Reason: err.Error()}
	}
	p := submission{body: body}
	if h.Has(swebench.CapIdempotentSubmit) {
		r.EndpointAPIKey = nil // a digest of a short key would give it away
		p.key, p.taken, err = s.claim(r)
	}
	return p, err
}

// unrouted notes that the service cannot be told the names. Without names there is nothing
// to note.
func (s *Scorer) unrouted(e *Entry) {
	e.SessionHeaders = []string{}
	names := s.cfg.Request.RoutingHeaders
	if len(names) == 0 || e.Routing != nil {
		return
	}
	text := fmt.Sprintf("the service lacks %s: its agents send no %s, so routing by session does not work in this run", swebench.CapRoutingHeaders, strings.Join(names, ", "))
	e.Routing = &Unrouted{Configured: names, Text: text}
	s.log.Warn(text, "dataset", s.cfg.DatasetName)
}

// submit sends the run. The submission is the one that was answered.
func (s *Scorer) submit(ctx context.Context, h swebench.Health, e *Entry) (swebench.StatusView, submission, error) {
	p, err := s.prepare(h, e)
	if err != nil {
		return swebench.StatusView{}, p, err
	}
	view, err := s.send(ctx, p)
	var setup *SetupError
	if errors.As(err, &setup) && setup.StatusCode == http.StatusUnprocessableEntity && p.taken {
		// The key stands for another request, such as one with another endpoint key.
		s.unclaim()
		if p, err = s.prepare(h, e); err != nil {
			return view, p, err
		}
		view, err = s.send(ctx, p)
	}
	if errors.As(err, &setup) && setup.StatusCode == http.StatusBadRequest && h.Has(swebench.CapRoutingHeaders) {
		// A definite refusal. The service may have been replaced by an older one meanwhile.
		if again, healthErr := s.client.health(ctx); healthErr == nil && !again.Has(swebench.CapRoutingHeaders) {
			if p, err = s.prepare(again, e); err != nil {
				return swebench.StatusView{}, p, err
			}
			view, err = s.send(ctx, p)
		}
	}
	return view, p, err
}

// keyLost is what the message of a run says that has lost its endpoint key in a restart of
// the service and waits for it.
const keyLost = "endpoint_key_lost"

// remind sends the submission again if the service waits for its endpoint key. The key of the
// submission keeps it from being a second run.
func (s *Scorer) remind(ctx context.Context, p submission, view swebench.StatusView) {
	if p.key == "" || view.Status.Terminal() || !strings.Contains(view.Message, keyLost) {
		return
	}
	h, err := s.client.health(ctx)
	if err == nil && h.Has(swebench.CapIdempotentSubmit) {
		s.log.Info("the service was restarted and asks for the endpoint key again", "run", view.RunID)
		_, err = s.client.submit(ctx, p.body, p.key)
	}
	if err != nil {
		s.log.Warn("the service waits for the endpoint key, but it could not be sent", "run", view.RunID, "error", err)
	}
}

func (s *Scorer) send(ctx context.Context, p submission) (swebench.StatusView, error) {
	// An interrupt must not lose a run that the service is about to accept.
	post, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		if pause(post, graceAfterInterrupt) == nil {
			cancel(context.Cause(ctx))
		}
	})
	defer func() {
		cancel(nil)
		if !stop() {
			<-ended
		}
	}()
	for attempt := 1; ; attempt++ {
		view, err := s.client.submit(post, p.body, p.key)
		var setup *SetupError
		if err == nil || p.key == "" || attempt == submitAttempts || !errors.As(err, &setup) || !setup.transient() || ctx.Err() != nil {
			return view, err
		}
		s.log.Warn("the submission failed and is sent again under the same key", "attempt", attempt, "error", err)
		if pause(ctx, s.backoff(attempt, setup)) != nil {
			return view, err
		}
	}
}

// submitReason tells what a failed submission means.
func submitReason(err error) Reason {
	var (
		setup *SetupError
		below *net.OpError
	)
	dialed := !errors.As(err, &below) || below.Op != "dial"
	if errors.As(err, &setup) && setup.StatusCode == 0 && dialed {
		return Reason{SubmitUnclear, "the submission was not answered as it should be; it is not sent again, because the service may have accepted it: " + err.Error()}
	}
	return Reason{SubmitFailed, "the service did not accept the run: " + err.Error()}
}

// pause waits; it returns the cause if ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
