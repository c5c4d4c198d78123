package modeltest_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/homing-go/homing/model/modeltest"
)

// post sends one request by a connection of its own.
func post(t *testing.T, s *modeltest.Server, body string) (*http.Response, string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Post(s.URL()+"/chat/completions", "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res, string(text)
}

// dial opens a bare connection, for requests that no client would send.
func dial(t *testing.T, s *modeltest.Server) (net.Conn, *bufio.Reader) {
	t.Helper()
	u, err := url.Parse(s.URL())
	require.NoError(t, err)
	c, err := net.Dial("tcp", u.Host)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	return c, bufio.NewReader(c)
}

func TestRecordsTheWire(t *testing.T) {
	t.Parallel()
	s := modeltest.NewServer(t, modeltest.Reply("one"), modeltest.Reply("two"), modeltest.Status(204, nil, ""))
	c, r := dial(t, s)
	_, err := io.WriteString(c, "POST /v1/chat/completions?a=b HTTP/1.1\r\nhost: x\r\nX-Session-ID: one\r\nx-session-id:two \r\nContent-Length: 4\r\n\r\nbody")
	require.NoError(t, err)
	read := func() int {
		res, err := http.ReadResponse(r, nil)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, res.Body)
		require.NoError(t, err)
		return res.StatusCode
	}
	require.Equal(t, 200, read())
	_, err = io.WriteString(c, "POST /v1/x HTTP/1.1\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n")
	require.NoError(t, err)
	require.Equal(t, 100, read())
	_, err = io.WriteString(c, "3\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: x\r\n\r\n")
	require.NoError(t, err)
	require.Equal(t, 200, read())
	require.Equal(t, 1, s.OpenConns())
	_, err = io.WriteString(c, "GET / HTTP/1.1\nConnection: close\n\n")
	require.NoError(t, err)
	require.Equal(t, 204, read())
	_, err = r.ReadByte()
	require.ErrorIs(t, err, io.EOF)
	s.AwaitConns(0)

	all := s.Await(3)
	first := all[0]
	require.Equal(t, []string{"host: x", "X-Session-ID: one", "x-session-id:two ", "Content-Length: 4"}, first.Lines)
	require.Equal(t, []string{"X-Session-ID: one", "x-session-id:two "}, first.Named("X-SESSION-ID"))
	require.Empty(t, first.Named("Session-ID"))
	require.Equal(t, []string{"one", "two"}, first.Header.Values("X-Session-Id"))
	require.Equal(t, "POST /v1/chat/completions?a=b", first.String())
	require.Equal(t, "HTTP/1.1", first.Proto)
	require.Equal(t, "body", string(first.Body))
	for _, text := range []string{"a=b", "two", "body"} {
		require.True(t, first.Contains(text), text)
	}
	require.False(t, first.Contains("three"))
	require.False(t, first.Time.IsZero())
	require.Equal(t, "abcde", string(all[1].Body))
	require.Nil(t, all[2].Body)
	for _, r := range all {
		require.Equal(t, 1, r.Conn)
	}
}

func TestScriptIsChecked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		steps []modeltest.Step
		sends int
		want  string
	}{
		"a step too many": {
			[]modeltest.Step{modeltest.Reply("one"), modeltest.Status(503, nil, ""), modeltest.Reset()},
			1,
			"modeltest: step never asked for: step 2, status 503; 1 requests came\n" +
				"modeltest: step never asked for: step 3, connection reset; 1 requests came",
		},
		"a request too many": {
			[]modeltest.Step{modeltest.Reply("one")},
			2,
			"modeltest: request without a step: request 2, POST /v1/chat/completions; the script has 1 steps",
		},
		"all is well": {[]modeltest.Step{modeltest.Reply("one"), modeltest.Reply("two")}, 2, ""},
		"the zero step": {
			[]modeltest.Step{modeltest.Reply("one"), {}},
			0,
			"modeltest: step 2 of the script is the zero Step; use one of the functions that return a Step",
		},
		"no message": {
			[]modeltest.Step{modeltest.Hold(make(chan struct{}), modeltest.Delay(time.Second, modeltest.Message([]byte(`["x"]`))))},
			0,
			"modeltest: step 1 of the script is a message that is no JSON object",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := &fakeT{TB: t}
			require.Equal(t, c.want, fake.run(func() {
				s := modeltest.NewServer(fake, c.steps...)
				for i := range c.sends {
					if res, _ := post(t, s, `{}`); i >= len(c.steps) {
						require.Equal(t, 400, res.StatusCode, "no client may try that again")
					}
				}
			}))
		})
	}
}

// After a failure of the test's own the script has nothing to add.
func TestScriptIsQuietAfterAFailure(t *testing.T) {
	t.Parallel()
	fake := &fakeT{TB: t}
	require.Equal(t, "the test's own", fake.run(func() {
		modeltest.NewServer(fake, modeltest.Reply("never asked for"))
		fake.Errorf("the test's own")
	}))
}

func TestFaultsOfTheAnswerFunc(t *testing.T) {
	t.Parallel()
	fake := &fakeT{TB: t}
	require.Equal(t, "modeltest: the step returned for request 2, POST /v1/chat/completions, is the zero Step; use one of the functions that return a Step",
		fake.run(func() {
			s := modeltest.NewServerFunc(fake, func(r modeltest.Recorded) modeltest.Step {
				if r.Contains("bad") {
					return modeltest.Step{}
				}
				return modeltest.Reply("fine")
			})
			for body, want := range map[string]int{`{}`: 200} {
				res, _ := post(t, s, body)
				require.Equal(t, want, res.StatusCode)
			}
			res, _ := post(t, s, `{"bad":1}`)
			require.Equal(t, 400, res.StatusCode)
		}))
}

func TestMalformedRequestsAreReported(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	for request, want := range map[string]string{
		"hello\r\n\r\n":                                          "the first line is no HTTP/1 request line",
		"GET / HTTP/2.0\r\n\r\n":                                 "the first line is no HTTP/1 request line",
		"GET / HTTP/1.1\r\nA: b\r\nno colon\r\n\r\n":             "header line 2 is no name, colon and value",
		"GET / HTTP/1.1\r\nA : b\r\n\r\n":                        "header line 1 is no name, colon and value",
		"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n":            "the content length is no number, or there are two",
		"GET / HTTP/1.1\r\nContent-Length: 999999999999\r\n\r\n": "a body of 999999999999 bytes is above the limit, 268435456",
		"GET / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n":      "the transfer coding is not chunked",
		"GET / HTTP/1.1\r\nA: " + long + "\r\n\r\n":              "the header is above the limit, 1048576 bytes",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			fake := &fakeT{TB: t}
			require.Equal(t, "modeltest: a request could not be read: "+want, fake.run(func() {
				s := modeltest.NewServer(fake)
				c, r := dial(t, s)
				_, _ = io.WriteString(c, request)
				_, _ = io.Copy(io.Discard, r) // until the server closes
				require.Empty(t, s.Requests())
			}))
		})
	}
}

// A connection that ends inside of a request is no fault: clients are canceled.
func TestCutRequestsAreNoFault(t *testing.T) {
	t.Parallel()
	for i, request := range []string{"", "GET / HT", "GET / HTTP/1.1\r\nA: b\r\n", "GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\nab"} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			s := modeltest.NewServer(t)
			c, _ := dial(t, s)
			_, err := io.WriteString(c, request)
			require.NoError(t, err)
			require.NoError(t, c.Close())
			s.AwaitConns(0)
			require.Empty(t, s.Requests())
		})
	}
}

// The end of a test does not wait for clients.
func TestServerEndsWithOpenRequests(t *testing.T) {
	t.Parallel()
	fake := &fakeT{TB: t}
	result := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	require.Empty(t, fake.run(func() {
		s := modeltest.NewServer(fake, modeltest.Hold(nil, modeltest.Step{}))
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL(), http.NoBody)
		require.NoError(t, err)
		go func() {
			_, err := new(http.Transport).RoundTrip(req)
			result <- err
		}()
		s.Await(1)
	}))
	require.Error(t, <-result)
	require.NoError(t, ctx.Err())
}
