package routingtest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/homing-go/homing/routing/routingtest"
)

func TestPlain(t *testing.T) {
	t.Parallel()
	w := serve(t, routingtest.NewBackend(routingtest.BackendConfig{Name: "b7"}))

	res, c := w.answer(`{"model":"qwen","messages":[{"role":"user","content":"häl<lo> & \u00fc"},{"role":"assistant","content":"no"}],"n":1}`)
	require.Equal(t, "b7", res.Header.Get("X-Served-By"))
	require.Equal(t, "application/json", res.Header.Get("Content-Type"))
	require.Equal(t, "chat.completion", c.Object)
	require.Equal(t, "qwen", c.Model)
	require.NotEmpty(t, c.ID)
	require.NotZero(t, c.Created)
	require.JSONEq(t, `{"role":"assistant","content":"häl<lo> & ü"}`, string(c.Choices[0].Message))
	require.Contains(t, string(c.Choices[0].Message), "<lo> &", "HTML must not be escaped")
	require.Equal(t, "stop", c.Choices[0].FinishReason)
	// Bytes as received, the escape in its six.
	first := len(`{"role":"user","content":"häl<lo> & \u00fc"}`)
	second := len(`{"role":"assistant","content":"no"}`)
	require.Equal(t, (first+3)/4+(second+3)/4, c.Usage.Prompt)
	require.Equal(t, (len("häl<lo> & ü")+3)/4, c.Usage.Completion)
	require.Equal(t, c.Usage.Prompt+c.Usage.Completion, c.Usage.Total)
	require.Zero(t, c.Usage.Details.Cached)

	_, again := w.answer(user("x"))
	require.NotEqual(t, c.ID, again.ID)
	require.Equal(t, "routingtest", again.Model, "the backend's model stands in for none")
}

func TestPathsAndMethods(t *testing.T) {
	t.Parallel()
	w := serve(t, routingtest.NewBackend(routingtest.BackendConfig{Models: []string{"a", "b"}, ServedBy: "-"}))
	root := strings.TrimSuffix(w.url, "/v1")
	for _, tc := range []struct {
		method, path string
		status       int
	}{
		{"POST", "/v1/chat/completions", 200},
		{"POST", "/chat/completions", 200},
		{"GET", "/v1/models", 200},
		{"GET", "/models", 200},
		{"GET", "/v1/chat/completions", 404},
		{"POST", "/v1/models", 404},
		{"POST", "/v1/responses", 404},
		{"POST", "/v2/v1/chat/completions", 404},
		{"GET", "/", 404},
	} {
		req, err := http.NewRequestWithContext(t.Context(), tc.method, root+tc.path, strings.NewReader(user("x")))
		require.NoError(t, err)
		res, err := w.client.Do(req)
		require.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, tc.status, res.StatusCode, "%s %s", tc.method, tc.path)
		require.NotContains(t, res.Header, "X-Served-By")
		if tc.status == 404 {
			requireEnvelope(t, string(body), tc.path)
		}
		if tc.method == "GET" && tc.status == 200 {
			require.JSONEq(t, `{"object":"list","data":[
				{"id":"a","object":"model","created":0,"owned_by":"routingtest"},
				{"id":"b","object":"model","created":0,"owned_by":"routingtest"}]}`, string(body))
		}
	}
}

func TestServedByHeader(t *testing.T) {
	t.Parallel()
	w := serve(t, routingtest.NewBackend(routingtest.BackendConfig{ServedBy: "x-replica-id"}))
	res, _ := w.answer(user("x"))
	require.Equal(t, "backend", res.Header.Get("X-Replica-Id"))
	require.NotContains(t, res.Header, "X-Served-By")
}

func TestBadBodies(t *testing.T) {
	t.Parallel()
	b := routingtest.NewBackend(routingtest.BackendConfig{})
	w := serve(t, b)
	for name, tc := range map[string]struct{ body, says string }{
		"empty":               {``, "not a JSON object"},
		"not JSON":            {`hello`, "not a JSON object"},
		"array":               {`[]`, "not a JSON object"},
		"cut":                 {`{"messages":[{"role":"user","content":"x`, "ends too early, after 40 bytes"},
		"trailing text":       {user("x") + `{}`, "at byte 44: data after"},
		"trailing comma":      {`{"a":[1,],"messages":[{"role":"user","content":"x"}]}`, "at byte 8: no value"},
		"control character":   {"{\"messages\":[{\"role\":\"user\",\"content\":\"\x01\"}]}", "control character"},
		"bad escape":          {`{"messages":[{"role":"user","content":"\x"}]}`, "escape"},
		"bad number":          {`{"n":01,"messages":[{"role":"user","content":"x"}]}`, "comma"},
		"no messages":         {`{"model":"m"}`, "messages is missing"},
		"empty messages":      {`{"messages":[]}`, "messages is empty"},
		"messages null":       {`{"messages":null}`, "messages is not an array"},
		"messages object":     {`{"messages":{"role":"user"}}`, "messages is not an array"},
		"message is a string": {`{"messages":["x"]}`, "not an object"},
		"no role":             {`{"messages":[{"content":"x"}]}`, "no role"},
		"role is a number":    {`{"messages":[{"role":1,"content":"x"}]}`, "role is not a string"},
		"model is a number":   {`{"model":1,"messages":[{"role":"user","content":"x"}]}`, "model is not a string"},
		"stream is a string":  {`{"stream":"yes","messages":[{"role":"user","content":"x"}]}`, "stream is not a boolean"},
		"stream_options":      {`{"stream_options":[],"messages":[{"role":"user","content":"x"}]}`, "stream_options is not an object"},
		"include_usage":       {`{"stream_options":{"include_usage":1},"messages":[{"role":"user","content":"x"}]}`, "include_usage is not a boolean"},
		"deep nesting":        {`{"x":` + strings.Repeat("[", 1<<20), "nested too deeply"},
		"deep messages":       {`{"messages":[{"role":"user","content":` + strings.Repeat(`{"a":`, 1<<20), "nested too deeply"},
	} {
		res, text := w.send(tc.body)
		require.Equal(t, http.StatusBadRequest, res.StatusCode, name)
		requireEnvelope(t, text, tc.says)
	}
	_, text := w.send(`{"messages":[]}`)
	require.JSONEq(t, `{"error":{"message":"messages is empty","type":"invalid_request_error","param":"messages","code":400}}`, text)
	require.Zero(t, b.Stats().Completions)
	require.Zero(t, b.Stats().Faults)
}

func TestBodyLimit(t *testing.T) {
	t.Parallel()
	body := user(strings.Repeat("x", 1000))
	b := routingtest.NewBackend(routingtest.BackendConfig{MaxBodyBytes: int64(len(body))})
	w := serve(t, b)
	w.answer(body)
	res, text := w.send(body + " ")
	require.Equal(t, http.StatusRequestEntityTooLarge, res.StatusCode)
	requireEnvelope(t, text, "limit")
	require.Equal(t, 1, b.Stats().Completions)
}

func TestOddButValidBodies(t *testing.T) {
	t.Parallel()
	w := serve(t, routingtest.NewBackend(routingtest.BackendConfig{}))
	for name, tc := range map[string]struct{ body, text string }{
		"space everywhere":  {" {\n\"messages\" : [ { \"role\" : \"user\" , \"content\" : \"a\" } ] }\r\n\t", "a"},
		"escaped names":     {`{"mess\u0061ges":[{"r\u006fle":"us\u0065r","content":"b"}]}`, "b"},
		"the last one wins": {`{"messages":[{"role":"user","content":"x"}],"messages":[{"role":"user","content":"c"}]}`, "c"},
		"parts":             {`{"messages":[{"role":"user","content":[{"type":"text","text":"d"},{"type":"image_url"},{"type":"text","text":"e"}]}]}`, "de"},
		"nulls":             {`{"stream":null,"stream_options":null,"tools":null,"messages":[{"role":"user","content":null}]}`, ""},
		"no content":        {`{"messages":[{"role":"tool"}]}`, ""},
		"nobody to echo":    {`{"messages":[{"role":"system","content":"x"}]}`, "routingtest: no message of a user or a tool to echo"},
	} {
		res, body := w.send(tc.body)
		require.Equal(t, http.StatusOK, res.StatusCode, "%s: %s", name, body)
		var c completion
		require.NoError(t, json.Unmarshal([]byte(body), &c))
		require.Equal(t, tc.text, c.text(t), name)
	}
}

func TestRecordsAndCounts(t *testing.T) {
	t.Parallel()
	b := routingtest.NewBackend(routingtest.BackendConfig{Record: 3})
	w := serve(t, b)
	for _, text := range []string{"0", "1", "2", "3", "4"} {
		w.answer(user(text), "X-Session-ID", "s"+text)
	}
	w.send("{")
	records := b.Records()
	require.Len(t, records, 3, "bounded")
	require.Equal(t, user("3"), string(records[0].Body))
	require.Equal(t, user("4"), string(records[1].Body))
	require.Equal(t, "{", string(records[2].Body))
	require.Equal(t, "s3", records[0].Header.Get("X-Session-ID"))
	require.Equal(t, "POST", records[0].Method)
	require.Equal(t, "/v1/chat/completions", records[0].URL.Path)
	require.False(t, records[0].Time.IsZero())

	s := b.Stats()
	require.Equal(t, 6, s.Requests)
	require.Equal(t, 5, s.Completions)
	require.Positive(t, s.PromptTokens)
	require.Positive(t, s.CompletionTokens)

	off := routingtest.NewBackend(routingtest.BackendConfig{})
	serve(t, off).answer(user("x"))
	require.Empty(t, off.Records(), "off by default")
}

func TestMaxInFlight(t *testing.T) {
	t.Parallel()
	const n = 7
	var inside sync.WaitGroup
	inside.Add(n)
	b := routingtest.NewBackend(routingtest.BackendConfig{Reply: func(*routingtest.Request) routingtest.Answer {
		inside.Done()
		inside.Wait() // until all are here
		return routingtest.Answer{Text: "ok"}
	}})
	w := serve(t, b)
	require.NoError(t, together(n, func(int) error { return w.try(user("x")) }))
	require.Equal(t, n, b.Stats().MaxInFlight)
}

func requireEnvelope(t testing.TB, body, says string) {
	t.Helper()
	var e struct {
		Error struct {
			Message string `json:"message"`
			Type    string `json:"type"`
		} `json:"error"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &e), body)
	require.Contains(t, e.Error.Message, says)
	require.NotEmpty(t, e.Error.Type)
}
