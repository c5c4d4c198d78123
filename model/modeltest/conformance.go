package modeltest

import (
	"testing"
	"time"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/routing"
)

// Conformance checks that the clients made by open keep what [model.Client] and this
// module promise, whatever they are made of. open returns a client for the server at
// the base URL url, which ends in /v1, that carries sessions by c. It is called once
// or more in each subtest, by several at a time, and may use t to clean up behind the
// client.
//
// Each promise is a subtest, and its message names what was broken:
//
//   - The session of the context is on every request, exactly once and as the carrier
//     spells it: on the first attempt, on a retry, on a stream, behind a redirect
//     inside the origin. It never reaches another origin.
//   - No session and no [routing.Without]: [routing.ErrNoSession], and nothing is sent.
//   - A client tries again, at least twice, what is worth it: status 500 and 429 (when
//     the server says so, and not before), a reset, a stream that was cut before its
//     first event. Every attempt has the same bytes.
//   - A stream that was cut later is [model.ErrTruncated] and not sent again.
//   - Trajectories do not mix, and the history of one only grows at its end.
//   - Cancellation ends a call at once, and a loop that ends early gives its
//     connection up.
//
// Waits between attempts are up to the client; half a second is fine. The subtests
// run in parallel and are over when Conformance returns. One that a client keeps from
// coming to its end fails after two minutes; what hangs in it is left behind.
func Conformance(t *testing.T, open func(t *testing.T, url string, c routing.Carrier) model.Client) {
	t.Helper()
	t.Run("promise", func(t *testing.T) {
		for _, promise := range promises {
			t.Run(promise.name, func(t *testing.T) {
				t.Parallel()
				within(t, promiseTime, func() { promise.check(&kit{t, open}) })
			})
		}
	})
}

const promiseTime = 2 * time.Minute

// within runs a check that a broken client can keep from returning.
func within(t testing.TB, limit time.Duration, check func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done) // behind FailNow, too
		check()
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		t.Fatalf("the client hangs: no end after %v", limit)
	}
}

// A promise is one case of the suite. Its name completes "a client keeps ...".
type promise struct {
	name  string
	check func(k *kit)
}

var promises = [...]promise{
	{"session on the first attempt", firstAttempt},
	{"session spelled as configured", spelling},
	{"session in several headers", severalHeaders},
	{"session in the body", inBody},
	{"nothing without headers", noHeaders},
	{"nothing after Without", without},
	{"no session is an error", noSession},
	{"an unusable ID is an error", unusableID},
	{"session on a retry after status 500", retryServerError},
	{"session on a retry after status 429", retryRateLimit},
	{"session on a retry after a reset", retryReset},
	{"same body on every attempt", sameBody},
	{"a cut plain answer is no answer", cutPlain},
	{"session on a stream", onStream},
	{"session on a stream cut before its first event", cutBefore},
	{"a stream cut later is truncated", cutLater},
	{"a stream is lazy", lazy},
	{"early breaks leave no connections", earlyBreaks},
	{"session on a redirect inside the origin", redirectInside},
	{"no session on a redirect to another origin", redirectOutside},
	{"cancel of a plain call", cancelPlain},
	{"cancel of a stream", cancelStream},
	{"cancel of a wait", cancelWait},
	{"one ID for each trajectory", ownID},
	{"64 trajectories at once", manyAtOnce},
	{"history grows at its end", growingHistory},
}
