// Package service is the server side of the SWE-bench service protocol: an http.Handler
// with a run manager behind it. What a run does is up to a [Runner].
//
// It is wire-compatible with the Python service. Where that one leaves a choice, or loses
// something, this is what happens here:
//
//   - Only GET /health, written exactly so, needs no token. Any other path does, also
//     those that do not exist.
//   - A run that is cancelled stops counting at once. The answer waits until its child
//     processes have ended, at most 25 s, so that the logs are there; a runner without one
//     gets a quarter of a second. The run's slot is free when the runner has returned.
//   - Terminal states never change. A runner that returns after a cancel has no result.
//   - Failed and cancelled runs list their artifacts as succeeded ones do.
//   - Progress is read from files, at most once a second for each run, and never written.
//     A file that cannot be read as what it should be is passed over for the next source.
//   - GET /v1/runs lists the runs, newest first, as {"runs": [...]}; GET / shows them to
//     people.
//   - A submission with an Idempotency-Key never starts a second run: it is answered 202
//     with the run that the key has started, also after a restart, until that run is
//     pruned. With another body than the first one it is refused with 422.
//   - After a restart old finished runs are served until they are pruned. Interrupted ones
//     are resumed, or with Config.NoResume reported as failed. One that had an endpoint
//     key, which is never stored, waits for it: it comes from Config.EndpointAPIKey or with
//     the submission sent again under its Idempotency-Key. The message then has the
//     word endpoint_key_lost in it, and so has the error of a run that waited in vain. A
//     run that waits takes no slot.
//   - Close cancels what runs. What waits for a key goes on waiting in the next process.
//
// Package redact says what counts as a secret. The request in a run's folder holds the
// effective values without secrets. If that changes more than the key and the endpoint's
// URL, the run cannot be resumed from the folder alone and waits for its submission.
package service
