// Package compat runs real clients of other projects against a server that records
// raw requests, to see that package routing makes them routing-aware: the session of
// the context is on every request, once and in the carrier's spelling, on plain calls,
// streams and retries, and two sessions at a time do not mix.
//
// The tests of this module hold the peers whose dependencies go together; the folders
// below are modules of the others. What comes of it is the table in the project's
// README, which each module compares with its own results:
//
//	go test -count 1 .  # fails if the table is out of date
//	go test -update .   # writes this module's rows
//
// The count is there because go's cache of results does not look at the README.
package compat
