package modeltest

import (
	"net/http"
	"os"
	"strconv"
	"testing"
)

// recordEnv is the switch of [Replay].
const recordEnv = "HOMING_RECORD"

// Record returns a transport that sends by base and writes what went out and came
// back to a file when the test ends, for [Replay]. A nil base is
// [http.DefaultTransport]. It is [Tape.Record] of the zero Tape, which tells what is
// written and what is kept out.
func Record(t testing.TB, file string, base http.RoundTripper) http.RoundTripper {
	t.Helper()
	return Tape{}.Record(t, file, base)
}

// Replay returns a transport that answers from a file which [Record] wrote, without a
// network. With HOMING_RECORD=1 in the environment it is Record, unless base is nil.
// It is [Tape.Replay] of the zero Tape, which tells how requests are matched.
func Replay(t testing.TB, file string, base http.RoundTripper) http.RoundTripper {
	t.Helper()
	return Tape{}.Replay(t, file, base)
}

// A Tape holds the settings of a recording. The zero Tape works; one that is set must
// be the same for the recording and for the replay. It is copied.
//
// The file is text to be read, reviewed and committed. It holds, session by session:
// method, path and query, the request headers Content-Type and those that carry the
// session, the request body, status, response headers, and the response body as it
// was read, byte by byte; streams keep their lines. The origin is left out, and so are
// the headers of the connection and the date. Line ends may be changed by an editor or
// by git; no content depends on them.
//
// Secrets are replaced by REDACTED: credentials, cookies and tokens in headers and in
// the query, their values wherever else they occur, JSON members such as access_token,
// and what has the form of an API key. The IDs of the request's session, its parent
// and its root, and of the other sessions in the file, are replaced by SESSION-1,
// SESSION-2 and so on, wherever they stand as a word of their own; an ID of less than
// 16 bytes, which may be a common word, only as a whole value. A replay puts the IDs
// of its own sessions there. What is not to be seen in the text stays: a form that a
// carrier derives from an ID, such as a hash, and an ID that comes in pieces, need
// Scrub; a body that the caller asked for in compressed form is kept as it is.
//
// So that two runs write the same file, sessions are ordered by their first request,
// and those that begin alike by time. What a session sends is in the order in which it
// was sent; requests without a session have no order but by what they are.
type Tape struct {
	// Headers names further request headers to be recorded and compared.
	Headers []string
	// Secrets names further headers, query parameters and JSON members with a string
	// value that are secret.
	Secrets []string
	// Scrub, if set, replaces what else is secret or differs from run to run. It is
	// given the target, each header value and each body of a request and of a response,
	// when the usual secrets are gone and the session IDs are still there. It must be a
	// pure function and is called by any number of goroutines.
	Scrub func(text string) string
	// MaxBytes bounds the two bodies of an exchange together; 0 means 16 MiB. An exchange
	// above it fails the test.
	MaxBytes int
}

const defaultTapeBytes = 16 << 20

func (c Tape) maxBytes() int {
	if c.MaxBytes <= 0 {
		return defaultTapeBytes
	}
	return c.MaxBytes
}

// Record returns a transport for any number of goroutines that sends by base, as it
// was given the requests, and hands the responses on as they come. The file is
// written, in place of an older one and in one step, when the test ends without a
// failure; folders are made.
//
// An answer that is not read to its end is recorded as far as it was read, and marked
// as cut; an event stream is whole with its [DONE]. How much of a cut answer there is
// depends on the network, as does the order of requests that a session has in flight
// together, so that such a file may differ from run to run.
func (c Tape) Record(t testing.TB, file string, base http.RoundTripper) http.RoundTripper {
	t.Helper()
	if base == nil {
		base = http.DefaultTransport
	}
	r := &recorder{t: t, file: file, base: base, tape: c}
	t.Cleanup(r.end)
	return r
}

// Replay returns a transport for any number of goroutines that answers from the file,
// or what [Tape.Record] returns if base is not nil and HOMING_RECORD=1 is set.
//
// Each session of the replay takes the place of the first session in the file that
// begins with the same request and is free. From then on its requests must be the
// recorded ones, in their order, byte for byte: method, target, body, and the headers
// in the file. Requests without a session are answered in any order. A request that
// does not match fails, with an error that tells where it differs and in which a
// client of this module finds a [model.RequestError], so that it does not try again;
// the test fails with the same text when it ends. If nothing else failed by then, it
// fails for each recorded exchange that was never asked for.
//
// An event stream comes in one event a read. How long the server took is not kept.
// Failures come back: a broken answer breaks at the same byte, and what was canceled
// waits for the caller to cancel it. There is no socket, so a replay also works inside
// of [testing/synctest].
func (c Tape) Replay(t testing.TB, file string, base http.RoundTripper) http.RoundTripper {
	t.Helper()
	if base != nil && recordWanted(t) {
		return c.Record(t, file, base)
	}
	tracks, err := readTape(file, c.maxBytes())
	if err != nil {
		t.Fatalf("modeltest: replay %v", err)
	}
	p := newPlayer(t, file, c, tracks)
	t.Cleanup(p.end)
	return p
}

func recordWanted(t testing.TB) bool {
	t.Helper()
	text := os.Getenv(recordEnv)
	if text == "" {
		return false
	}
	wanted, err := strconv.ParseBool(text)
	if err != nil {
		t.Fatalf("modeltest: %s is %q; set it to 1 to record, and to 0 or nothing to replay", recordEnv, text)
	}
	return wanted
}
