// Package scorer is the client of a SWE-bench service: it submits one run, follows it,
// fetches its artifacts, and computes the score.
//
// A [Scorer] scores one dataset through its [Config]; a [Benchmark] does it for all that a
// configuration file says. Both work with any service of protocol v1, the Python one
// included. What they do where the protocol leaves a choice:
//
//   - Header names. Whether the service knows the field routing_headers is decided by GET
//     /health right before the submission. A service without it gets the body of old, the run
//     goes on unrouted, one warning is logged, and the [Entry] says so; it stays complete.
//     If a body with the field is answered with 400, health is asked again, and only if the
//     capability is gone now, the body is sent once more without the field.
//   - The submission is never sent twice if the service may have got it, with one exception:
//     a service that lists swebench.idempotent_submit gets the same Idempotency-Key on each
//     attempt, and up to 4 attempts.
//   - A run whose message says endpoint_key_lost waits, after a restart of the service, for the
//     key of its endpoint: the submission is sent again under its Idempotency-Key.
//   - The key is kept in the report folder until the run is over or given up, unless the
//     service could be reached no more. A scorer that was killed and is started again with the
//     same folder and the same request finds its run by it, if the service knows keys; with
//     other services the run goes on unheeded.
//   - Polls that fail below HTTP or with 408, 429 or 5xx are tried again after 1, 2, 4 ...
//     poll intervals, at most 30 seconds, or as Retry-After says, until 10 have failed in
//     a row, over 30 seconds at least. Every other answer that is no status ends the run. 404
//     means that a restarted service has lost it.
//   - A run that is given up is cancelled on the service, with 10 seconds of its own. That
//     covers the deadline, an interrupt of the context, and an answer that cannot be used.
//     An interrupt while the submission is under way waits 5 seconds for the run's ID.
//   - The last poll is at the deadline, and no poll outlasts it by more than a second.
//   - A dataset without rows is not submitted, and the service is not asked for its health.
//   - Only results that this run delivered count: those in its status, or the file that was
//     downloaded just now. Files of earlier runs never do.
//   - Errors of instances, infrastructure failures and predictions that are all empty leave
//     the score as it is, but it is incomplete, and [Entry.Reasons] says why.
//   - Redirects are answers, not ways: nothing is sent to another place.
//   - A report folder that has a sample_idx_map.json must have an entry for the dataset
//     there; without the file nothing is asked.
//
// No token and no key is in an error, a log line or a file written here, should the service
// send one back; artifacts are kept as they come. A secret of one character is
// taken out only where the words before it say what it is, and those of fewer than eight are
// left in the IDs of a result.
//
// Files written in the report folder: swe_bench_results.json, the result; swe_bench_report.json,
// all entries; swe_bench_config.yaml, the redacted configuration; swe_bench_submission.json, the key of
// a submission that is under way; and in swe_bench_runs/ID the artifacts
// and swe_bench_service_status.json, the last status.
package scorer
