package modeltest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/model/modeltest"
	"github.com/homing-go/homing/routing"
)

// pool is the base of a recording; it closes what it opened.
func pool(t *testing.T) *http.Transport {
	t.Helper()
	p := &http.Transport{}
	t.Cleanup(p.CloseIdleConnections)
	return p
}

// turns is what a trajectory sends: a plain call, a stream and its retry, a tool turn.
// It returns what the caller got.
func turns(t *testing.T, transport http.RoundTripper, url, key string, s routing.Session) []string {
	t.Helper()
	client := newBase(t, model.Config{BaseURL: url, APIKey: key, HTTPClient: &http.Client{Transport: transport}})
	run := model.NewTrajectory(client, s, model.System("You fix bugs."))
	var got []string
	note := func(res *model.Response, err error) {
		t.Helper()
		require.NoError(t, err)
		got = append(got, fmt.Sprintf("%q %q %v %v %s %s %v", res.Text, res.Reasoning, res.ToolCalls, res.Finish, res.Raw, res.Message.JSON(), res.Header))
	}
	note(run.Send(t.Context(), model.User("Fix it <now>.")))
	events := 0
	stream := run.Stream(t.Context(), model.User("Go on."))
	for event, err := range stream.Events() {
		require.NoError(t, err)
		events++
		got = append(got, event.Text)
	}
	note(stream.Response())
	require.Greater(t, events, 2)
	note(run.Send(t.Context(), model.User("List.")))
	note(run.Send(t.Context(), model.ToolResult("call_4", "a.go")))
	return got
}

func script(t *testing.T) *modeltest.Server {
	t.Helper()
	return modeltest.NewServer(t,
		modeltest.Reply("first é\u200b"),
		modeltest.Status(500, http.Header{"X-Try": {"1"}}, `{"error":{"message":"boom"}}`),
		modeltest.Reply("a stream of words"),
		modeltest.ToolCall("sh", `{"command":"ls"}`),
		modeltest.Reply("done"),
	)
}

const key = "sk-test-0123456789abcdefghijkl"

// recordTurns records one trajectory and returns the file and what the caller got.
func recordTurns(t *testing.T, s routing.Session) (string, []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "testdata", "turns.txt")
	fake := &fakeT{TB: t}
	var got []string
	require.Empty(t, fake.run(func() {
		got = turns(t, modeltest.Record(fake, file, pool(t)), script(t).URL(), key, s)
	}))
	return file, got
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

func newSession() routing.Session { return routing.NewSession(routing.NewID()) }

func TestRecordedFile(t *testing.T) {
	t.Parallel()
	s := newSession()
	file, _ := recordTurns(t, s)
	text := read(t, file)
	for _, secret := range []string{string(s.ID), key, "0123456789", "127.0.0.1", "Authorization", "Date"} {
		require.NotContains(t, text, secret)
	}
	require.Contains(t, text, strings.Join([]string{
		"\nsession SESSION-1\n",
		"> POST /v1/chat/completions",
		"> Content-Type: application/json",
		"> X-Session-ID: SESSION-1",
		`+{"messages":[`,
		`+{"role":"system","content":"You fix bugs."},`,
		`+{"role":"user","content":"Fix it <now>."}],`,
		`+"model":"m"}`,
		"< 200 OK",
		"< Content-Type: application/json",
		``,
	}, "\n"))
	require.Contains(t, text, "< 500 Internal Server Error\n< Content-Type: application/json\n< X-Try: 1\n"+`+{"error":{"message":"boom"}}`+"\n\n> POST")
	require.Contains(t, text, "< 200 OK\n< Content-Type: text/event-stream\n|data: {")
	require.Contains(t, text, "}\n|\n|data: [DONE]\n|\n\n> POST")
	require.Equal(t, 5, strings.Count(text, "\n> POST"))

	again, _ := recordTurns(t, newSession())
	require.Equal(t, text, read(t, again), "two runs write the same file")
	require.NotContains(t, text, " \n", "blanks that an editor would strip")
	left, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	require.Len(t, left, 1, "no temporary file stays")
}

// get sends a request by a plain client and returns the whole body.
func get(ctx context.Context, transport http.RoundTripper, url, body string, header ...string) (*http.Response, string, error) {
	method, reader := http.MethodGet, io.Reader(nil)
	if body != "" {
		method, reader = http.MethodPost, strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, reader)
	if err != nil {
		return nil, "", err
	}
	for i := 0; i < len(header); i += 2 {
		req.Header[header[i]] = append(req.Header[header[i]], header[i+1])
	}
	client := &http.Client{Transport: transport}
	res, err := client.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res, string(text), err
}

// recording runs f as a test that records, and returns the file and the messages.
func recording(t *testing.T, c modeltest.Tape, f func(transport http.RoundTripper)) (file, messages string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "tape.txt")
	fake := &fakeT{TB: t}
	messages = fake.run(func() { f(c.Record(fake, file, pool(t))) })
	return file, messages
}

func TestRecordsOnlyWhatPassed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tape.txt")
	require.NoError(t, os.WriteFile(file, []byte("the old one"), 0o600))
	fake := &fakeT{TB: t}
	require.Equal(t, "the test's own\nmodeltest: record "+file+": the file was not written because the test failed", fake.run(func() {
		modeltest.Record(fake, file, nil)
		fake.Errorf("the test's own")
	}))
	require.Equal(t, "the old one", read(t, file))
}

func TestRecordLimit(t *testing.T) {
	t.Parallel()
	s := modeltest.NewServerFunc(t, func(r modeltest.Recorded) modeltest.Step {
		return modeltest.Status(200, nil, strings.Repeat("x", 60)+string(r.Body))
	})
	for name, c := range map[string]struct {
		body  string
		above bool
	}{
		"at the limit":           {strings.Repeat("q", 20), false},
		"an answer above it":     {strings.Repeat("q", 21), true},
		"a request above it":     {strings.Repeat("q", 101), true},
		"a request far above it": {strings.Repeat("q", 99999), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, messages := recording(t, modeltest.Tape{MaxBytes: 100}, func(transport http.RoundTripper) {
				_, text, err := get(t.Context(), transport, s.URL()+"?key=abc", c.body)
				require.NoError(t, err)
				require.Len(t, text, 60+len(c.body), "the caller notices nothing")
			})
			if !c.above {
				require.Empty(t, messages)
				return
			}
			require.Equal(t, "modeltest: record "+file+": exchange 1, POST /v1, is above the limit of 100 bytes; raise Tape.MaxBytes\n"+
				"modeltest: record "+file+": the file was not written because the test failed", messages)
			require.NoFileExists(t, file)
		})
	}
}

// What is not over when the test ends is a cut answer, or an error.
func TestRecordsOpenExchanges(t *testing.T) {
	t.Parallel()
	s := modeltest.NewServer(t, modeltest.Stall(2))
	file, messages := recording(t, modeltest.Tape{}, func(transport http.RoundTripper) {
		res, err := (&http.Client{Transport: transport}).Post(s.URL(), "", strings.NewReader(streamed))
		require.NoError(t, err)
		t.Cleanup(func() { _ = res.Body.Close() })
		_, err = io.ReadFull(res.Body, make([]byte, 30))
		require.NoError(t, err)
	})
	require.Empty(t, messages)
	require.True(t, strings.HasSuffix(read(t, file), "\n! cut by its reader\n"), read(t, file))

	held := make(chan struct{})
	defer close(held)
	s = modeltest.NewServer(t, modeltest.Hold(held, modeltest.Reply("")))
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	file, messages = recording(t, modeltest.Tape{}, func(transport http.RoundTripper) {
		go func() {
			_, _, err := get(ctx, transport, s.URL(), "")
			done <- err
		}()
		s.Await(1)
	})
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	require.Contains(t, messages, "exchange 1, GET /v1, was under way when the test ended; wait for it\n")
	require.NoFileExists(t, file)
}

// A reader that knows where the end is need not ask for it.
func TestRecordsWholeAnswersWithoutEOF(t *testing.T) {
	t.Parallel()
	const half, end = "data: 1\n\n", "data: [DONE]\n\n"
	for name, c := range map[string]struct {
		text   string
		length int64
		read   int
		whole  bool
	}{
		"all of its length":    {"0123456789", 10, 10, true},
		"less than its length": {"0123456789", 10, 9, false},
		"of unknown length":    {"0123456789", -1, 10, false},
		"to the end mark":      {half + end, -1, len(half + end), true},
		"to its last newline":  {half + end, -1, len(half+end) - 1, true},
		"before the end mark":  {half + end, -1, len(half), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "tape.txt")
			fake := &fakeT{TB: t}
			require.Empty(t, fake.run(func() {
				res, err := modeltest.Record(fake, file, fixedAnswer{c.text, c.length}).RoundTrip(httptest.NewRequest("GET", "http://x/", nil))
				require.NoError(t, err)
				_, err = io.ReadFull(res.Body, make([]byte, c.read))
				require.NoError(t, err)
				require.NoError(t, res.Body.Close())
			}))
			require.Equal(t, !c.whole, strings.HasSuffix(read(t, file), "\n! cut by its reader\n"), read(t, file))
		})
	}
}

// fixedAnswer is a transport whose bodies tell their end only to who asks again.
type fixedAnswer struct {
	text   string
	length int64
}

func (f fixedAnswer) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, ContentLength: f.length, Body: io.NopCloser(strings.NewReader(f.text))}, nil
}

// both is a transport that breaks the rule and returns a response beside the error.
type both struct{ body *closeCounter }

type closeCounter struct {
	io.Reader
	closed int
}

func (c *closeCounter) Close() error { c.closed++; return nil }

func (b both) RoundTrip(req *http.Request) (*http.Response, error) {
	_ = req.Body.Close()
	return &http.Response{StatusCode: 200, Body: b.body}, errors.New("secret text 4711")
}

func TestRecordKeepsTheRulesOfTransports(t *testing.T) {
	t.Parallel()
	answer, body := &closeCounter{}, &closeCounter{Reader: strings.NewReader("body")}
	var transport http.RoundTripper
	file := filepath.Join(t.TempDir(), "tape.txt")
	fake := &fakeT{TB: t}
	req := httptest.NewRequest("POST", "http://x/y", body)
	require.Empty(t, fake.run(func() {
		transport = modeltest.Record(fake, file, both{answer})
		res, err := transport.RoundTrip(req)
		require.Error(t, err)
		require.Nil(t, res)
	}))
	require.Equal(t, 1, answer.closed)
	require.Equal(t, 1, body.closed)
	require.Same(t, body, req.Body, "the request is not changed")
	require.True(t, strings.HasSuffix(read(t, file), "\n> POST /y\n+body\n! other failure\n"), read(t, file))

	body = &closeCounter{Reader: strings.NewReader("body")}
	_, err := transport.RoundTrip(httptest.NewRequest("POST", "http://x/y", body))
	require.EqualError(t, err, "modeltest: the test is over")
	require.Equal(t, 1, body.closed)
}

func TestRecordReportsAFileItCannotWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	fake := &fakeT{TB: t}
	require.Contains(t, fake.run(func() { modeltest.Record(fake, filepath.Join(dir, "file", "tape.txt"), nil) }), "modeltest: record "+dir)
}
