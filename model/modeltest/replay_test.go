package modeltest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/model/modeltest"
	"github.com/homing-go/homing/routing"
)

const nowhere = "http://nowhere.test/v1"

// replaying runs f as a test that replays, and returns the messages.
func replaying(t *testing.T, c modeltest.Tape, file string, f func(transport http.RoundTripper)) string {
	t.Helper()
	fake := &fakeT{TB: t}
	return fake.run(func() { f(c.Replay(fake, file, nil)) })
}

func TestReplayGivesTheSame(t *testing.T) {
	t.Parallel()
	file, want := recordTurns(t, newSession())
	for _, k := range []string{key, "another-key", ""} {
		require.Empty(t, replaying(t, modeltest.Tape{}, file, func(transport http.RoundTripper) {
			require.Equal(t, want, turns(t, transport, nowhere, k, newSession()))
		}))
	}
}

// There is no socket, so a bubble's clock runs on through the waits of the client.
func TestReplayInABubble(t *testing.T) {
	t.Parallel()
	file, messages := recording(t, modeltest.Tape{}, func(transport http.RoundTripper) {
		s := modeltest.NewServer(t, modeltest.Status(503, http.Header{"Retry-After": {"0.001"}}, ""), modeltest.Reply("fine"))
		client := newBase(t, model.Config{BaseURL: s.URL(), HTTPClient: &http.Client{Transport: transport}})
		_, err := model.NewTrajectory(client, newSession()).Send(t.Context(), model.User("hi"))
		require.NoError(t, err)
	})
	require.Empty(t, messages)
	text := strings.Replace(read(t, file), "Retry-After: 0.001", "Retry-After: 90", 1)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		client := newBase(t, model.Config{BaseURL: nowhere, HTTPClient: &http.Client{Transport: modeltest.Replay(t, file, nil)}})
		res, err := model.NewTrajectory(client, newSession()).Send(t.Context(), model.User("hi"))
		require.NoError(t, err)
		require.Equal(t, "fine", res.Text)
		require.Equal(t, 90*time.Second, time.Since(began))
	})
}

// fixed answers by the task in the request, with the same bytes in every run.
func fixed(r modeltest.Recorded) modeltest.Step {
	tasks := regexpTask.FindAllString(string(r.Body), -1)
	task := tasks[len(tasks)-1]
	n := strings.Count(string(r.Body), `"assistant"`)
	if r.Contains(`"stream":true`) {
		return modeltest.SSE(fmt.Sprintf(`{"choices":[{"index":0,"delta":{"role":"assistant","content":"%s "},"finish_reason":null}]}`, task),
			fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":"turn %d"},"finish_reason":"stop"}]}`, n))
	}
	return modeltest.Status(200, nil, fmt.Sprintf(`{"choices":[{"index":0,"message":{"role":"assistant","content":"%s turn %d"},"finish_reason":"stop"}]}`, task, n))
}

// crowd runs trajectories at the same time, each with one word of its own, and all
// with the same first turn if alike is set.
func crowd(t *testing.T, transport http.RoundTripper, url string, n int, alike bool) {
	t.Helper()
	client := newBase(t, model.Config{BaseURL: url, HTTPClient: &http.Client{Transport: transport}})
	var all sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		all.Go(func() {
			run := model.NewTrajectory(client, newSession())
			task := fmt.Sprintf("task-%d", i)
			first := task
			if alike {
				first = "task"
			}
			_, err1 := run.Send(t.Context(), model.User("Begin "+first+"."))
			res, err2 := run.Stream(t.Context(), model.User("Go on with "+task+".")).Response()
			errs[i] = errors.Join(err1, err2)
			if errs[i] == nil && res.Text != task+" turn 1" {
				errs[i] = fmt.Errorf("%s got %q", task, res.Text)
			}
		})
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
}

func TestReplayOfSessionsSideBySide(t *testing.T) {
	t.Parallel()
	const n = 12
	s := modeltest.NewServerFunc(t, fixed)
	record := func(alike bool) string {
		file, messages := recording(t, modeltest.Tape{}, func(transport http.RoundTripper) { crowd(t, transport, s.URL(), n, alike) })
		require.Empty(t, messages)
		return file
	}
	file := record(false)
	for range 3 {
		require.Equal(t, read(t, file), read(t, record(false)), "the order in the file is not that of the network")
		require.Empty(t, replaying(t, modeltest.Tape{}, file, func(transport http.RoundTripper) { crowd(t, transport, nowhere, n, false) }))
	}
	file = record(true)
	for range 3 {
		require.Empty(t, replaying(t, modeltest.Tape{}, file, func(transport http.RoundTripper) { crowd(t, transport, nowhere, n, true) }))
	}
}

var errEnough = errors.New("the caller has enough")

// The ways in which an exchange ends without an end.
func TestReplayOfFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		step modeltest.Step
		read func(t *testing.T, ctx context.Context, cancel func(), transport http.RoundTripper, url string) (string, error)
		want error
		mark string
		text int // bytes at least
	}{
		"reset":         {modeltest.Reset(), readAll, syscall.ECONNRESET, "connection reset", 0},
		"broken stream": {modeltest.Break(2), readAll, io.ErrUnexpectedEOF, "unexpected EOF", 100},
		"short body":    {modeltest.ShortBody("some text"), readAll, io.ErrUnexpectedEOF, "unexpected EOF", 100},
		"canceled while waiting": {modeltest.Hold(nil, modeltest.Step{}), func(t *testing.T, ctx context.Context, cancel func(), transport http.RoundTripper, url string) (string, error) {
			timer := time.AfterFunc(50*time.Millisecond, cancel)
			defer timer.Stop()
			return readAll(t, ctx, cancel, transport, url)
		}, errEnough, "canceled", 0},
		"canceled in a stream": {modeltest.Stall(2), func(t *testing.T, ctx context.Context, cancel func(), transport http.RoundTripper, url string) (string, error) {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(streamed))
			require.NoError(t, err)
			res, err := (&http.Client{Transport: transport}).Do(req)
			require.NoError(t, err)
			defer res.Body.Close()
			var text []byte
			for buf := make([]byte, 4096); ; {
				n, err := res.Body.Read(buf)
				text = append(text, buf[:n]...)
				if err != nil {
					return string(text), err
				}
				if strings.Count(string(text), "\n\n") == 2 {
					cancel()
				}
			}
		}, errEnough, "canceled", 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := modeltest.NewServer(t, c.step)
			var recorded, replayed string
			run := func(transport http.RoundTripper, url string, text *string) {
				ctx, cancel := context.WithCancelCause(routing.NewContext(t.Context(), newSession()))
				defer cancel(nil)
				var err error
				*text, err = c.read(t, ctx, func() { cancel(errEnough) }, transport, url)
				require.ErrorIs(t, err, c.want)
				require.NotContains(t, err.Error(), "it was not", "it took longer than the patience")
			}
			file, messages := recording(t, modeltest.Tape{}, func(transport http.RoundTripper) { run(transport, s.URL(), &recorded) })
			require.Empty(t, messages)
			require.True(t, strings.HasSuffix(read(t, file), "\n! "+c.mark+"\n"), read(t, file))
			require.Empty(t, replaying(t, modeltest.Tape{}, file, func(transport http.RoundTripper) { run(transport, nowhere, &replayed) }))
			require.Equal(t, recorded, replayed)
			require.GreaterOrEqual(t, len(recorded), c.text)
		})
	}
}

func readAll(_ *testing.T, ctx context.Context, _ func(), transport http.RoundTripper, url string) (string, error) {
	_, text, err := get(ctx, transport, url, streamed)
	return text, err
}

// A consumer that stops early may stop at the same place again, and no further on.
func TestReplayOfACutStream(t *testing.T) {
	t.Parallel()
	s := modeltest.NewServer(t, modeltest.Stall(3))
	stop := func(transport http.RoundTripper, url string) []string {
		client := newBase(t, model.Config{BaseURL: url, HTTPClient: &http.Client{Transport: transport}})
		var got []string
		stream := model.NewTrajectory(client, newSession()).Stream(t.Context(), model.User("hi"))
		for event, err := range stream.Events() {
			require.NoError(t, err)
			if got = append(got, event.Text); len(got) == 2 {
				break
			}
		}
		_, err := stream.Response()
		require.ErrorIs(t, err, model.ErrAbandoned)
		return got
	}
	var want []string
	file, messages := recording(t, modeltest.Tape{}, func(transport http.RoundTripper) { want = stop(transport, s.URL()) })
	require.Empty(t, messages)
	require.True(t, strings.HasSuffix(read(t, file), "\n! cut by its reader\n"), read(t, file))
	require.Empty(t, replaying(t, modeltest.Tape{}, file, func(transport http.RoundTripper) { require.Equal(t, want, stop(transport, nowhere)) }))

	further := "the answer to POST /v1/chat/completions of line 6 goes no further: its reader closed it here, after "
	fake := &fakeT{TB: t}
	require.Contains(t, fake.run(func() {
		client := newBase(t, model.Config{BaseURL: nowhere, HTTPClient: &http.Client{Transport: modeltest.Replay(fake, file, nil)}})
		_, err := model.NewTrajectory(client, newSession()).Stream(t.Context(), model.User("hi")).Response()
		require.ErrorIs(t, err, model.ErrTruncated)
		fake.Errorf("the test's own")
	}), "the test's own\nmodeltest: replay "+file+": "+further)
}

// The stream comes as it came: one event a read, bytes unchanged, whatever they are.
func TestReplayOfBytes(t *testing.T) {
	t.Parallel()
	bodies := map[string]string{
		"text/event-stream": "data: 1\r\n\r\n: comment \ndata: 2\n\ndata: \x1b[0m\u2028\n\ndata: half",
		"text/plain":        "a\r\nb \t\n\n|c\n+d\n\"e\"\n> f\n# g\n",
		"application/json":  "{\"a\":[1,2,[3,4]],\"b\":{\"c\":1,\"d\":[\"\\\",[\"]},\"e\":[],\"f\":[{}]}",
		"image/png":         "\x89PNG\r\n\x1a\n\x00\xff" + strings.Repeat("\xfe\x00", 80),
		"text/empty":        "",
	}
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", r.URL.Query().Get("type"))
		w.Header().Set("Trailer", "X-Took")
		_, _ = io.WriteString(w, bodies[r.URL.Query().Get("type")])
		w.Header().Set("X-Took", " 3 ms")
	}))
	t.Cleanup(upstream.Close)
	all := func(transport http.RoundTripper, url string) {
		for kind, body := range bodies {
			res, text, err := get(t.Context(), transport, url+"/v1?type="+kind, body)
			require.NoError(t, err)
			require.Equal(t, body, text)
			require.Equal(t, kind, res.Header.Get("Content-Type"))
			require.Equal(t, "3 ms", res.Trailer.Get("X-Took"))
			require.NotNil(t, res.Request)
		}
	}
	file, messages := recording(t, modeltest.Tape{}, func(transport http.RoundTripper) { all(transport, upstream.URL) })
	require.Empty(t, messages)
	require.Empty(t, replaying(t, modeltest.Tape{}, file, func(transport http.RoundTripper) { all(transport, "http://nowhere.test") }))

	require.NotContains(t, read(t, file), "\n< Date:")
	require.Contains(t, read(t, file), "\n*iVBORw0KGgoA/")

	// Git may write the file with the line ends of another system.
	require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(read(t, file), "\n", "\r\n")), 0o600))
	require.Empty(t, replaying(t, modeltest.Tape{}, file, func(transport http.RoundTripper) { all(transport, "http://nowhere.test") }))

	replaying(t, modeltest.Tape{}, file, func(transport http.RoundTripper) {
		res, err := (&http.Client{Transport: transport}).Post(nowhere+"?type=text/event-stream", "", strings.NewReader(bodies["text/event-stream"]))
		require.NoError(t, err)
		var pieces []string
		buf := make([]byte, 4096)
		for {
			n, err := res.Body.Read(buf)
			if err != nil {
				require.ErrorIs(t, err, io.EOF)
				_, err = res.Body.Read(buf)
				require.ErrorIs(t, err, io.EOF)
				break
			}
			pieces = append(pieces, string(buf[:n]))
		}
		require.Equal(t, []string{"data: 1\r\n\r\n", ": comment \ndata: 2\n\n", "data: \x1b[0m\u2028\n\n", "data: half"}, pieces)
		require.Equal(t, http.Header{"X-Took": {"3 ms"}}, res.Trailer)
		require.NoError(t, res.Body.Close())
		_, err = res.Body.Read(buf)
		require.ErrorIs(t, err, http.ErrBodyReadAfterClose)
	})
}

// A redirect inside the origin is followed wherever the server was.
func TestReplayOfARedirect(t *testing.T) {
	t.Parallel()
	var url string
	s := modeltest.NewServerFunc(t, func(r modeltest.Recorded) modeltest.Step {
		if r.Target == "/v1" {
			return modeltest.Redirect(307, url+"/there")
		}
		return modeltest.Status(200, nil, "there "+string(r.Body))
	})
	url = s.URL()
	for range 2 {
		file, messages := recording(t, modeltest.Tape{}, func(transport http.RoundTripper) {
			_, text, err := get(t.Context(), transport, url, "body")
			require.NoError(t, err)
			require.Equal(t, "there body", text)
		})
		require.Empty(t, messages)
		require.Contains(t, read(t, file), "\n< Location: /v1/there\n")
		require.Empty(t, replaying(t, modeltest.Tape{}, file, func(transport http.RoundTripper) {
			_, text, err := get(t.Context(), transport, nowhere, "body")
			require.NoError(t, err)
			require.Equal(t, "there body", text)
		}))
	}
}

var regexpTask = regexp.MustCompile(`task(?:-[0-9]+)?\b`)
