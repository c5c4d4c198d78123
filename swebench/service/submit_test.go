package service_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/service"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// refused posts a body that is refused and checks that no run has come of it.
func (w *world) refused(text string) answer {
	w.Helper()
	res := w.call("POST", "/v1/runs", text)
	require.Equal(w, 400, res.StatusCode, "%s: %s", text, res.body)
	require.Equal(w, "text/plain; charset=utf-8", res.Header.Get("Content-Type"))
	require.NotEmpty(w, res.body)
	require.Less(w, len(res.body), 1000)
	runs, _ := w.Known()
	require.Zero(w, runs)
	return res
}

// Two endpoint URLs are refused with 400, as are none and one that is not HTTP.
func TestCase070_OneEndpoint(t *testing.T) {
	t.Parallel()
	w := start(t, newGate())
	for _, urls := range []string{`["http://a","http://b"]`, `[]`, `["ftp://a"]`, `["http://"]`, `["http://a:99999"]`, `"http://a"`, `null`, `[null]`, `[1]`} {
		w.refused(strings.Replace(body(""), `["http://127.0.0.1:9/v1"]`, urls, 1))
	}
}

// A key that the protocol does not have, or has in another letter case, is refused.
func TestCase071_UnknownKeys(t *testing.T) {
	t.Parallel()
	w := start(t, newGate())
	require.Contains(t, w.refused(body(`"extra":1`)).body, "extra")
	require.Contains(t, w.refused(body(`"Split":"test"`)).body, "Split")
	require.Contains(t, w.refused(strings.Replace(body(""), `"workers"`, `"Workers"`, 1)).body, "Workers")
	w.refused(body(`"split":"a","split":"b"`))
	w.refused(body("") + " {}")
	w.refused(body("") + "x")
	for _, text := range []string{"", " ", "null", "[]", `"x"`, "1", "{", body("")[1:], "\xff", "\ufeff" + body("")} {
		w.refused(text)
	}
}

// null is not zero: a null where a value is required is refused.
func TestCase073_Null(t *testing.T) {
	t.Parallel()
	w := start(t, newGate())
	for _, change := range [][2]string{
		{`"num_instances":1`, `"num_instances":null`},
		{`"workers":1`, `"workers":null`},
		{`"max_eval_workers":1`, `"max_eval_workers":null`},
		{`"evaluated_instance_ids":["a-1"]`, `"evaluated_instance_ids":null`},
		{`"model_name":"m"`, `"model_name":null`},
		{`"model_name":"m"`, `"model_name":"m","split":null`},
		{`"model_name":"m"`, `"model_name":"m","generation_params":null`},
	} {
		text := strings.Replace(body(""), change[0], change[1], 1)
		require.NotEqual(t, body(""), text)
		w.refused(text)
	}
	w.submit(body(`"endpoint_api_key":null`))
}

// A key that no server would take is refused, and the answer does not show it.
func TestEndpointKeyLimit(t *testing.T) {
	t.Parallel()
	w := start(t, newGate())
	key := strings.Repeat("k", 8<<10)
	res := w.refused(body(`"endpoint_api_key":"` + key + `k"`))
	require.Contains(t, res.body, "endpoint_api_key: it has 8193 bytes")
	w.submit(body(`"endpoint_api_key":"` + key + `"`))
}

// Integers may come as Python takes them; booleans, fractions and other texts are
// refused, and the numbers must agree with each other.
func TestIntegers(t *testing.T) {
	t.Parallel()
	w := start(t, script(t, `{"runs":{"*":{}}}`), func(c *service.Config) { c.MaxConcurrentRuns = 20 })
	for _, n := range []string{"true", "1.5", `"1.0"`, `" 1"`, `"x"`, `""`, "0", "-1", `"-1"`, "[1]", "{}", "1e400", "99999999999999999999", `"1e0"`} {
		w.refused(strings.Replace(body(""), `"workers":1`, `"workers":`+n, 1))
	}
	w.refused(strings.Replace(body(""), `"num_instances":1`, `"num_instances":2`, 1))
	for _, n := range []string{"5", "5.0", `"5"`, "5e0", "50e-1"} {
		id := w.submit(strings.Replace(body(""), `"workers":1`, `"workers":`+n, 1)).RunID
		data, err := os.ReadFile(w.path(id, swebench.FileRequest))
		require.NoError(t, err)
		require.Contains(t, string(data), `"workers":5,`)
	}
}

// A body above 1 MiB is refused with 413, however it is sent, and no run exists.
func TestCase074_BodyLimit(t *testing.T) {
	t.Parallel()
	w := start(t, newGate())
	long := body(`"split":"` + strings.Repeat("x", 1<<20) + `"`)
	res := w.call("POST", "/v1/runs", long)
	require.Equal(t, 413, res.StatusCode)
	require.Equal(t, "text/plain; charset=utf-8", res.Header.Get("Content-Type"))
	req := w.request("POST", "/v1/runs", long)
	req.ContentLength = -1 // chunked
	require.Equal(t, 413, w.do(req).StatusCode)
	res = w.raw("POST /v1/runs HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer " + token + "\r\nExpect: 100-continue\r\nContent-Length: 5000000\r\n\r\n")
	require.Equal(t, 413, res.StatusCode, "nobody has to send it first")
	res = w.raw("POST /v1/runs HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer " + token + "\r\nContent-Length: 5000000\r\n\r\n{")
	require.Equal(t, 413, res.StatusCode, "nor when it does not ask before")
	res = w.raw("POST /v1/runs HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer " + token + "\r\nTransfer-Encoding: chunked\r\n\r\n100001\r\n" + strings.Repeat("x", 1<<20+1))
	require.Equal(t, 413, res.StatusCode, "nor when it does not say how long it is")
	runs, _ := w.Known()
	require.Zero(t, runs)
	exact := body("")
	exact += strings.Repeat(" ", 1<<20-len(exact))
	w.submit(exact)
}

// An invalid body is refused as such also when there is no capacity.
func TestCase076_InvalidBeforeFull(t *testing.T) {
	t.Parallel()
	w := start(t, newGate())
	w.submit(body(""))
	res := w.call("POST", "/v1/runs", body(""))
	require.Equal(t, 429, res.StatusCode)
	require.Contains(t, res.body, "no capacity")
	require.Equal(t, 400, w.call("POST", "/v1/runs", body(`"extra":1`)).StatusCode)
}

// A valid submission is answered with 202 and a status that has every key.
func TestCase077_Accepted(t *testing.T) {
	t.Parallel()
	w := start(t, newGate())
	before := float64(time.Now().UnixMicro())/1e6 - 0.001
	res := w.call("POST", "/v1/runs", body("", "a-1", "b-2", "c-3"))
	require.Equal(t, 202, res.StatusCode)
	require.Equal(t, "application/json; charset=utf-8", res.Header.Get("Content-Type"))
	var got map[string]any
	require.NoError(t, json.Unmarshal([]byte(res.body), &got))
	require.Regexp(t, `^[0-9a-f]{32}$`, got["run_id"])
	require.IsType(t, 0.5, got["created_at"])
	require.GreaterOrEqual(t, got["created_at"], before)
	require.Equal(t, got["created_at"], got["updated_at"])
	for _, name := range []string{"run_id", "created_at", "updated_at"} {
		delete(got, name)
	}
	require.Equal(t, map[string]any{
		"status": "queued", "phase": "queued", "message": "queued", "finished_at": nil, "error": nil, "result": nil, "artifacts": []any{},
		"agent_total": 3.0, "agent_completed": 0.0, "eval_total": 0.0, "eval_completed": 0.0,
	}, got)
}

// The answer to a submission says queued, however soon the run begins or ends.
func TestCase077_AcceptedIsQueued(t *testing.T) {
	t.Parallel()
	w := start(t, script(t, `{"runs":{"*":{}}}`), func(c *service.Config) { c.MaxConcurrentRuns = 1000 })
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 25 {
				res, err := http.DefaultTransport.RoundTrip(w.request("POST", "/v1/runs", body("")))
				if !assert.NoError(t, err) {
					return
				}
				var got swebench.RunStatus
				assert.NoError(t, json.NewDecoder(res.Body).Decode(&got))
				assert.NoError(t, res.Body.Close())
				assert.Equal(t, swebench.StateQueued, got.Status)
				assert.Equal(t, swebench.PhaseQueued, got.Phase)
			}
		})
	}
	all.Wait()
}

// Parameters that are nested as deep as JSON may be take no longer than flat ones.
func TestCase088_DeepParameters(t *testing.T) {
	t.Parallel()
	w := start(t, newGate(), func(c *service.Config) { c.MaxConcurrentRuns = 10 })
	const depth = 9000
	for _, ends := range [][2]string{{"[", "]"}, {`{"a":`, "}"}} {
		deep := strings.Repeat(ends[0], depth) + `"` + strings.Repeat("x", 900_000) + `"` + strings.Repeat(ends[1], depth)
		begin := time.Now()
		w.submit(body(`"generation_params":{"a":` + deep + `}`))
		require.Less(t, time.Since(begin), 5*time.Second)
	}
}

// An integer beyond 64 bits is stored as it came, half of a surrogate pair is refused or
// stored, and neither loses a slot.
func TestCase088_StrangeParameters(t *testing.T) {
	t.Parallel()
	g := newGate()
	w := start(t, g)
	const params = `{"seed":123456789012345678901234567890,"chat_template_kwargs":{"x":1.50,"y":"\ud83d"}}`
	id := w.submit(body(`"generation_params":` + params)).RunID
	require.JSONEq(t, params, string((<-g.started).Request.GenerationParams))
	data, err := os.ReadFile(w.path(id, swebench.FileRequest))
	require.NoError(t, err)
	require.Contains(t, string(data), params)
	w.cancel(id)
	for range 3 {
		w.refusedOr202(body(`"split":"\ud83d"`))
		w.refusedOr202(body(`"model_name":"\udead"`))
	}
	w.submit(body(""))
}

func (w *world) refusedOr202(text string) {
	w.Helper()
	res := w.call("POST", "/v1/runs", text)
	if res.StatusCode == 202 {
		w.cancel(parse(w, res.body).RunID)
		return
	}
	require.Equal(w, 400, res.StatusCode, res.body)
}

// A folder that cannot be made is a 500, and the slot is free again.
func TestStoreFails(t *testing.T) {
	t.Parallel()
	w := start(t, newGate())
	require.NoError(t, os.RemoveAll(w.root))
	for range 3 {
		res := w.call("POST", "/v1/runs", body(""))
		require.Equal(t, 500, res.StatusCode)
		require.NotContains(t, res.body, w.root)
	}
	require.NoError(t, os.Mkdir(w.root, 0o755))
	w.submit(body(""))
}

// The stored request holds the effective values, defaults included, and no key.
func TestStoredRequest(t *testing.T) {
	t.Parallel()
	w := start(t, newGate())
	id := w.submit(body("")).RunID
	data, err := os.ReadFile(w.path(id, swebench.FileRequest))
	require.NoError(t, err)
	require.Equal(t, `{"model_name":"m","endpoint_urls":["http://127.0.0.1:9/v1"],"endpoint_api_key":"<redacted>","generation_params":{},"subset":"verified","split":"test",`+
		`"num_instances":1,"workers":1,"max_eval_workers":1,"evaluated_instance_ids":["a-1"],"template":"default","routing_headers":["X-Session-ID"]}`+"\n", string(data))
}

// Routing headers that are null, no list, or hold what is no string are refused.
func TestCase160_RoutingHeadersType(t *testing.T) {
	t.Parallel()
	w := start(t, newGate())
	for _, list := range []string{`null`, `"X-Session-ID"`, `["X-Session-ID",1]`, `[null]`, `{}`, `[["X"]]`, `true`} {
		require.Contains(t, w.refused(body(`"routing_headers":`+list)).body, "routing_headers")
	}
}

// Names that cannot be sent, or belong to HTTP, are refused.
func TestCase161_RoutingHeaderNames(t *testing.T) {
	t.Parallel()
	w := start(t, newGate())
	for _, name := range []string{`a\r\nb`, "a b", "", "Authorization", "host", "CONTENT-LENGTH", "Cookie", "Transfer-Encoding", "é", "a:", strings.Repeat("x", 129)} {
		require.Contains(t, w.refused(body(`"routing_headers":["X-Ok","`+name+`"]`)).body, "routing_headers")
	}
	many := make([]string, 17)
	for i := range many {
		many[i] = fmt.Sprintf(`"X-%d"`, i)
	}
	w.refused(body(`"routing_headers":[` + strings.Join(many, ",") + `]`))
}

// What the runner gets: the names as they were sent, without those that differ only in
// case; none for an explicit empty list; the default for an old client that sends none.
func TestRoutingHeadersReachTheRunner(t *testing.T) {
	t.Parallel()
	g := newGate()
	w := start(t, g, func(c *service.Config) { c.MaxConcurrentRuns = 3 })
	for sent, want := range map[string][]string{
		"": {"X-Session-ID"}, `"routing_headers":[]`: {}, `"routing_headers":["X-A","x-b","x-a"]`: {"X-A", "x-b"},
	} {
		id := w.submit(body(sent)).RunID
		job := <-g.started
		require.Equal(t, id, job.RunID)
		require.Equal(t, want, job.Request.RoutingHeaders)
	}
}

// 200 submissions at a time on two slots: exactly two are accepted.
func TestRaceForSlots(t *testing.T) {
	t.Parallel()
	w := start(t, newGate(), func(c *service.Config) { c.MaxConcurrentRuns = 2 })
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 50}}
	defer client.CloseIdleConnections()
	var accepted, full atomic.Int32
	var group sync.WaitGroup
	for range 200 {
		group.Go(func() {
			req := w.request("POST", "/v1/runs", body(""))
			res, err := client.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			res.Body.Close()
			switch res.StatusCode {
			case 202:
				accepted.Add(1)
			case 429:
				full.Add(1)
			}
		})
	}
	group.Wait()
	require.EqualValues(t, 2, accepted.Load())
	require.EqualValues(t, 198, full.Load())
	entries, err := os.ReadDir(w.root)
	require.NoError(t, err)
	require.Len(t, entries, 3, "two runs and the lock")
}

// Polls of 10,000 unknown IDs leave nothing behind.
func TestUnknownIDsLeaveNoState(t *testing.T) {
	t.Parallel()
	w := start(t, newGate())
	handler := http.Handler(w.Service)
	for i := range 10000 {
		for _, path := range []string{"/v1/runs/%032x", "/v1/runs/%032x/artifacts/preds.json"} {
			req := w.request("GET", fmt.Sprintf(path, i), "")
			res := &recorder{header: http.Header{}}
			handler.ServeHTTP(res, req)
			require.Equal(t, 404, res.code)
		}
	}
	require.Equal(t, 404, w.call("POST", "/v1/runs/x/cancel", "").StatusCode)
	runs, keys := w.Known()
	require.Zero(t, runs+keys)
}

// recorder is an httptest.ResponseRecorder that keeps no body.
type recorder struct {
	header http.Header
	code   int
	n      int
}

func (r *recorder) Header() http.Header { return r.header }
func (r *recorder) WriteHeader(code int) {
	if r.code == 0 {
		r.code = code
	}
}

func (r *recorder) Write(p []byte) (int, error) {
	r.WriteHeader(200)
	r.n += len(p)
	return len(p), nil
}
