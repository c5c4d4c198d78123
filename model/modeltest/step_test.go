package modeltest_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/model/modeltest"
	"github.com/homing-go/homing/routing"
)

const streamed = `{"stream":true}`

// exchange sends one request to a server with one step.
func exchange(t *testing.T, step modeltest.Step, body string) (*http.Response, string, error) {
	t.Helper()
	s := modeltest.NewServer(t, step)
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Post(s.URL(), "application/json", strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res, string(text), err
}

func TestStatusAndRedirect(t *testing.T) {
	t.Parallel()
	res, text, err := exchange(t, modeltest.Status(429, http.Header{"Retry-After": {"7"}, "X-A": {"1", "2"}}, `{"error":{}}`), "")
	require.NoError(t, err)
	require.Equal(t, "429 Too Many Requests", res.Status)
	require.Equal(t, "7", res.Header.Get("Retry-After"))
	require.Equal(t, []string{"1", "2"}, res.Header.Values("X-A"))
	require.Equal(t, "application/json", res.Header.Get("Content-Type"))
	require.Equal(t, `{"error":{}}`, text)

	res, text, err = exchange(t, modeltest.Status(599, http.Header{"Content-Type": {"text/html"}}, `{<p>`), "")
	require.NoError(t, err)
	require.Equal(t, "text/html", res.Header.Get("Content-Type"))
	require.Equal(t, "{<p>", text)

	res, _, err = exchange(t, modeltest.Redirect(308, "/there"), "")
	require.NoError(t, err)
	require.Equal(t, 308, res.StatusCode)
	require.Equal(t, "/there", res.Header.Get("Location"))
}

func TestReset(t *testing.T) {
	t.Parallel()
	_, _, err := exchange(t, modeltest.Reset(), "")
	require.ErrorIs(t, err, syscall.ECONNRESET)
}

func TestHoldAndDelay(t *testing.T) {
	t.Parallel()
	release, answered := make(chan struct{}), make(chan error, 1)
	s := modeltest.NewServer(t, modeltest.Hold(release, modeltest.Status(204, nil, "")))
	go func() {
		res, err := new(http.Client).Post(s.URL(), "", http.NoBody)
		if err == nil {
			err = res.Body.Close()
		}
		answered <- err
	}()
	s.Await(1)
	select {
	case err := <-answered:
		t.Fatalf("answered before it was released: %v", err)
	default:
	}
	close(release)
	require.NoError(t, <-answered)

	const wait = 20 * time.Millisecond
	start := time.Now()
	res, _, err := exchange(t, modeltest.Delay(wait, modeltest.Reply("late")), "")
	require.NoError(t, err)
	require.Equal(t, 200, res.StatusCode)
	require.GreaterOrEqual(t, time.Since(start), wait)
}

func TestPlainReplies(t *testing.T) {
	t.Parallel()
	for message, step := range map[string]modeltest.Step{
		`{"role":"assistant","content":"a <b> \"c\""}`: modeltest.Reply(`a <b> "c"`),
		`{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"sh","arguments":"{\"c\": 1.0}"}}]}`: modeltest.ToolCall("sh", `{"c": 1.0}`),
		`{"content" : "\u00e9", "role":"assistant"}`: modeltest.Message(json.RawMessage(`{"content" : "\u00e9", "role":"assistant"}`)),
	} {
		res, text, err := exchange(t, step, `{}`)
		require.NoError(t, err)
		require.Equal(t, 200, res.StatusCode)
		require.Contains(t, text, `"message":`+message+`,"finish_reason":"`)
		require.True(t, json.Valid([]byte(text)), text)
	}
}

// What a client assembles from a stream is what the step says.
func TestStreamedReplies(t *testing.T) {
	t.Parallel()
	s := modeltest.NewServer(t,
		modeltest.Message(json.RawMessage(`{"role":"assistant","content":"two calls then","reasoning_content":"think twice","tool_calls":[`+
			`{"id":"a","type":"function","function":{"name":"sh","arguments":"{\"c\": \"ls -l\"}"}},`+
			`{"id":"b","type":"function","function":{"name":"cat","arguments":"{}"}}]}`)),
		modeltest.Reply(""),
	)
	client := newBase(t, model.Config{BaseURL: s.URL()})
	t.Cleanup(client.CloseIdleConnections)
	tr := model.NewTrajectory(client, routing.NewSession(routing.NewID()))
	events := 0
	stream := tr.Stream(t.Context(), model.User("go"))
	for _, err := range stream.Events() {
		require.NoError(t, err)
		events++
	}
	res, err := stream.Response()
	require.NoError(t, err)
	require.Greater(t, events, 8, "it comes in pieces")
	require.Equal(t, "two calls then", res.Text)
	require.Equal(t, "think twice", res.Reasoning)
	require.Equal(t, model.FinishToolCalls, res.Finish)
	require.Equal(t, []model.ToolCall{
		{ID: "a", Name: "sh", Arguments: json.RawMessage(`{"c": "ls -l"}`)}, {ID: "b", Name: "cat", Arguments: json.RawMessage(`{}`)},
	}, res.ToolCalls)
	require.Equal(t, 12, res.Usage.PromptTokens)

	res, err = tr.Stream(t.Context(), model.User("nothing to say?")).Response()
	require.NoError(t, err)
	require.Empty(t, res.Text)
	require.Equal(t, model.FinishStop, res.Finish)
}

func TestCuts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		step   modeltest.Step
		events int
		rest   string // behind the events
		broken bool   // as HTTP sees it
	}{
		"whole":          {modeltest.SSE(`{"a":1}`, `{"a":2}`), 3, "", false},
		"Truncate":       {modeltest.Truncate(2), 2, "", false},
		"Truncate at 0":  {modeltest.Truncate(0), 0, "", false},
		"TruncateInside": {modeltest.TruncateInside(1), 1, `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"`, false},
		"Break":          {modeltest.Break(2), 2, "", true},
		"Break at once":  {modeltest.Break(0), 0, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res, text, err := exchange(t, c.step, streamed)
			require.Equal(t, c.broken, errors.Is(err, io.ErrUnexpectedEOF), err)
			require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
			require.Equal(t, c.events, strings.Count(text, "\n\n"), text)
			require.Equal(t, name == "whole", strings.HasSuffix(text, "data: [DONE]\n\n"))
			require.NotContains(t, text, `"finish_reason":"`)
			if c.rest != "" {
				require.True(t, strings.HasPrefix(text[strings.LastIndex(text, "\n\n")+2:], c.rest), text)
			}
		})
	}
	_, text, err := exchange(t, modeltest.ShortBody("half of this"), `{}`)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.False(t, json.Valid([]byte(text)))
}
