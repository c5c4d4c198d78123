package routingtest_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/homing-go/homing/routing/routingtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A wire is a client of a handler behind a loopback socket.
type wire struct {
	t      testing.TB
	url    string // ends in /v1
	client *http.Client
}

// serve puts h on a loopback socket for the length of the test.
func serve(t testing.TB, h http.Handler) *wire {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return dial(t, s.URL+"/v1")
}

func dial(t testing.TB, url string) *wire {
	t.Helper()
	tr := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(tr.CloseIdleConnections)
	return &wire{t, url, &http.Client{
		Transport:     tr,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// cluster starts a cluster for the length of the test.
func cluster(t testing.TB, cfg routingtest.ClusterConfig) (*routingtest.Cluster, *wire) {
	t.Helper()
	c, err := routingtest.NewCluster(cfg)
	require.NoError(t, err)
	w := dial(t, c.URL())
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c, w
}

// do posts a chat completion; header is given as pairs of name and value.
func (w *wire) do(body string, header ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.url+"/chat/completions", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return w.client.Do(req)
}

// send posts a chat completion and reads the whole response.
func (w *wire) send(body string, header ...string) (*http.Response, string) {
	w.t.Helper()
	res, err := w.do(body, header...)
	require.NoError(w.t, err)
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	require.NoError(w.t, err)
	return res, string(b)
}

// try is send for other goroutines than the test's: it reads a whole response of
// status 200 or says what was wrong.
func (w *wire) try(body string, header ...string) error {
	res, err := w.do(body, header...)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", res.StatusCode)
	}
	_, err = io.Copy(io.Discard, res.Body)
	return err
}

// together runs n calls of fn at a time and joins their errors.
func together(n int, fn func(i int) error) error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = fn(i) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// answer posts a plain chat completion that must succeed.
func (w *wire) answer(body string, header ...string) (*http.Response, completion) {
	w.t.Helper()
	res, text := w.send(body, header...)
	require.Equal(w.t, http.StatusOK, res.StatusCode, text)
	var c completion
	require.NoError(w.t, json.Unmarshal([]byte(text), &c), text)
	return res, c
}

// events posts a streamed chat completion that must succeed, and returns the data.
func (w *wire) events(body string, header ...string) []string {
	w.t.Helper()
	res, text := w.send(body, header...)
	require.Equal(w.t, http.StatusOK, res.StatusCode, text)
	return parseEvents(w.t, text)
}

func parseEvents(t testing.TB, text string) []string {
	t.Helper()
	var list []string
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		require.True(t, ok, "no data line: %q", lines.Text())
		require.True(t, lines.Scan(), "the event has no end")
		require.Empty(t, lines.Text())
		list = append(list, data)
	}
	return list
}

type completion struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Model   string `json:"model"`
	Choices []struct {
		Message      json.RawMessage `json:"message"`
		FinishReason string          `json:"finish_reason"`
	} `json:"choices"`
	Usage usage `json:"usage"`
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	Details    struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

func (c completion) text(t testing.TB) string {
	t.Helper()
	var m struct {
		Content string `json:"content"`
	}
	require.Len(t, c.Choices, 1)
	require.NoError(t, json.Unmarshal(c.Choices[0].Message, &m))
	return m.Content
}

// A history is a conversation that grows as an agent's does.
type history struct {
	messages []string
}

func newHistory(task string) *history {
	return &history{[]string{`{"role":"system","content":"You fix bugs."}`, message("user", task)}}
}

func (h *history) body(extra ...string) string {
	return `{"model":"m",` + strings.Join(extra, "") + `"messages":[` + strings.Join(h.messages, ",") + `]}`
}

// grow appends the answer and what a tool says to it.
func (h *history) grow(answer json.RawMessage, tool string) {
	h.messages = append(h.messages, string(answer), message("tool", tool))
}

func message(role, text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"role":%q,"content":%s}`, role, b)
}

func user(text string) string { return `{"messages":[` + message("user", text) + `]}` }

func streamed(text string) string {
	return `{"stream":true,"messages":[` + message("user", text) + `]}`
}
