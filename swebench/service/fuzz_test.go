package service_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/service"
	"github.com/stretchr/testify/require"
)

// A handlerWorld calls the handler without a socket.
type handlerWorld struct {
	testing.TB
	*service.Service
}

func fuzzWorld(t testing.TB, text string) *handlerWorld {
	t.Helper()
	s, err := service.New(service.Config{ArtifactRoot: t.TempDir(), Runner: script(t, text), AllowUnauthenticated: true, MaxConcurrentRuns: 1 << 20})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	return &handlerWorld{t, s}
}

// serve calls the handler for a path that is as escaped as it can be.
func (w *handlerWorld) serve(method, path, text string) (int, string) {
	u := &url.URL{Scheme: "http", Host: "h"}
	if decoded, err := url.PathUnescape(path); err == nil {
		u.Path, u.RawPath = decoded, path
	} else {
		u.Path = path
	}
	req := httptest.NewRequestWithContext(context.Background(), method, "http://h/", strings.NewReader(text))
	req.URL = u
	res := httptest.NewRecorder()
	w.ServeHTTP(res, req)
	return res.Code, res.Body.String()
}

func (w *handlerWorld) submit(text string) swebench.StatusView {
	w.Helper()
	code, answer := w.serve("POST", "/v1/runs", text)
	require.Equal(w, 202, code, answer)
	return parse(w, answer)
}

func (w *handlerWorld) until(id string, want swebench.State) {
	w.Helper()
	require.Eventually(w, func() bool {
		_, text := w.serve("GET", "/v1/runs/"+id, "")
		return parse(w, text).Status == want
	}, 10*time.Second, time.Millisecond)
}

// schemaAllows is a second reading of the protocol's table of members, loose in what it
// leaves to the rules of single values: what it refuses must be refused.
func schemaAllows(body []byte) bool {
	var m map[string]any
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.UseNumber()
	if len(body) > 1<<20 || !utf8.Valid(body) || !json.Valid(body) || d.Decode(&m) != nil || m == nil {
		return false
	}
	known := map[string]func(any) bool{
		"model_name": nonEmpty, "endpoint_urls": listOf(nonEmpty), "endpoint_api_key": func(v any) bool { return v == nil || isString(v) },
		"routing_headers": listOf(nonEmpty), "generation_params": func(v any) bool { _, ok := v.(map[string]any); return ok },
		"subset": oneOf("verified", "lite"), "split": isString, "template": oneOf("default", "qwen_tools"),
		"num_instances": integer, "workers": integer, "max_eval_workers": integer, "evaluated_instance_ids": listOf(nonEmpty),
	}
	for name, value := range m {
		check, ok := known[name]
		if !ok || !check(value) {
			return false
		}
	}
	for _, name := range []string{"model_name", "endpoint_urls", "num_instances", "workers", "max_eval_workers", "evaluated_instance_ids"} {
		if _, ok := m[name]; !ok {
			return false
		}
	}
	urls, _ := m["endpoint_urls"].([]any)
	return len(urls) == 1
}

func isString(v any) bool { _, ok := v.(string); return ok }
func nonEmpty(v any) bool { s, ok := v.(string); return ok && s != "" }

func oneOf(words ...string) func(any) bool {
	return func(v any) bool {
		for _, word := range words {
			if v == word {
				return true
			}
		}
		return false
	}
}

func listOf(element func(any) bool) func(any) bool {
	return func(v any) bool {
		list, ok := v.([]any)
		for _, e := range list {
			ok = ok && element(e)
		}
		return ok
	}
}

func integer(v any) bool {
	n, ok := v.(json.Number)
	if s, isText := v.(string); isText {
		n, ok = json.Number(s), true
	}
	f, err := n.Float64()
	return ok && err == nil && f >= 1 && f == float64(int64(f))
}

// Whatever is posted: 202 only for what the schema allows, with a run that has a whole
// status and a request that reads as it was meant; else 400, and no trace of it.
func FuzzSubmit(f *testing.F) {
	for _, seed := range []string{
		body(""), body(`"generation_params":{"seed":123456789012345678901234567890}`), body(`"routing_headers":[]`), body(`"Split":"x"`), body(`"split":"a","split":"b"`),
		body(`"endpoint_api_key":null,"template":"qwen_tools","subset":"lite"`), body(`"split":"\ud800"`), strings.Replace(body(""), ":1,", ":1.0,", 1), body("") + "{}", "", "null", "\xff", "[1]",
		strings.Repeat("[", 20000),
	} {
		f.Add([]byte(seed))
	}
	w := fuzzWorld(f, `{"runs":{"*":{"outcome":"hang"}}}`)
	f.Fuzz(func(t *testing.T, body []byte) {
		before, _ := w.Known()
		code, text := w.serve("POST", "/v1/runs", string(body))
		if code == http.StatusBadRequest || code == http.StatusRequestEntityTooLarge {
			after, _ := w.Known()
			require.Equal(t, before, after)
			require.NotEmpty(t, text)
			return
		}
		require.Equal(t, http.StatusAccepted, code, text)
		require.True(t, schemaAllows(body), "%q was accepted", body)
		v := parse(t, text)
		require.True(t, swebench.ValidRunID(v.RunID))
		ids := 0
		for a := rawjson.Elements(rawjson.Get(body, "evaluated_instance_ids")); a.Next(); {
			ids++
		}
		require.Equal(t, ids, *v.Progress.AgentTotal)
		code, _ = w.serve("POST", "/v1/runs/"+v.RunID+"/cancel", "")
		require.Equal(t, 200, code)
	})
}
