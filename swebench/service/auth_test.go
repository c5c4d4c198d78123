package service_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/homing-go/homing/swebench/service"
	"github.com/stretchr/testify/require"
)

// raw sends bytes as they are and reads one answer.
func (w *world) raw(text string) answer {
	w.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
	require.NoError(w, err)
	defer conn.Close()
	_, err = io.WriteString(conn, text)
	require.NoError(w, err)
	method, _, _ := strings.Cut(text, " ")
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	require.NoError(w, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	require.NoError(w, err)
	return answer{res, string(b)}
}

// With a token set, health is answered without it and any other path is not.
func TestCase064_EveryPathButHealthNeedsTheToken(t *testing.T) {
	t.Parallel()
	w := start(t, newGate())
	for _, header := range []string{"", "Authorization: Bearer wrong\r\n", "Authorization: Bearer " + token + "\r\n"} {
		require.Equal(t, 200, w.raw("GET /health HTTP/1.1\r\nHost: h\r\n"+header+"\r\n").StatusCode)
	}
	id := w.submit(body("")).RunID
	for _, line := range []string{
		"GET /", "GET /v1/runs", "POST /v1/runs", "GET /v1/runs/" + id, "POST /v1/runs/" + id + "/cancel", "GET /v1/runs/" + id + "/artifacts/status.json",
		"GET /health/", "GET //health", "GET /Health", "GET /health%2F", "GET /%68ealth", "GET /health/../v1/runs", "DELETE /nothing", "GET /favicon.ico", "OPTIONS *",
	} {
		for _, header := range []string{
			"", "Authorization: Bearer\r\n", "Authorization: Bearer wrong\r\n", "Authorization: bearer " + token + "\r\n", "Authorization: Bearer  " + token + "\r\n",
			"Authorization: " + token + "\r\n", "Authorization: Bearer " + token + "x\r\n", "Authorization: Bearer " + token[1:] + "\r\n", "Authorization: Basic " + token + "\r\n",
			"Cookie: Authorization=Bearer " + token + "\r\n",
		} {
			res := w.raw(line + " HTTP/1.1\r\nHost: h\r\n" + header + "\r\n")
			require.Equal(t, 401, res.StatusCode, "%s %q", line, header)
			require.Equal(t, "unauthorized", res.body)
			require.Equal(t, "text/plain; charset=utf-8", res.Header.Get("Content-Type"))
		}
	}
	require.Equal(t, 404, w.call("GET", "/nothing", "").StatusCode)
	require.Equal(t, 200, w.raw("GET /v1/runs HTTP/1.1\r\nHost: h\r\nauthorization: Bearer "+token+"\r\n\r\n").StatusCode, "the header's own name has no case")
}

// A service with neither token nor permission, with both, or with an empty token does not
// start.
func TestCase065_AuthMustBeChosen(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]service.Config{
		"neither": {},
		"both":    {AuthToken: "x", AllowUnauthenticated: true},
		"line":    {AuthToken: "a\nb"},
		"spaces":  {AuthToken: " a"},
		"letters": {AuthToken: "tökén"},
	} {
		cfg.ArtifactRoot, cfg.Runner = t.TempDir(), newGate()
		_, err := service.New(cfg)
		require.ErrorContains(t, err, "token", name)
	}
	w := start(t, newGate(), func(c *service.Config) { c.AuthToken, c.AllowUnauthenticated = "", true })
	require.Equal(t, 200, w.raw("GET /v1/runs HTTP/1.1\r\nHost: h\r\n\r\n").StatusCode)
}

// An Authorization value that is not ASCII, or not even text, is a wrong one: 401.
func TestCase067_StrangeAuthorizationIsWrong(t *testing.T) {
	t.Parallel()
	w := start(t, newGate())
	for _, value := range []string{"Bearer tök", "Bearer \xff\xfe", "Bearer " + token + "\xa0", "\u2603"} {
		res := w.raw("GET /v1/runs HTTP/1.1\r\nHost: h\r\nAuthorization: " + value + "\r\n\r\n")
		require.Equal(t, 401, res.StatusCode, "%q", value)
		require.Equal(t, "unauthorized", res.body)
	}
}

// Health tells version v1, status ok, and the capabilities in the documented order, then
// those of this service.
func TestCase068_Health(t *testing.T) {
	t.Parallel()
	w := start(t, newGate())
	res := w.call("GET", "/health", "")
	require.Equal(t, 200, res.StatusCode)
	require.Equal(t, "application/json; charset=utf-8", res.Header.Get("Content-Type"))
	require.Equal(t, `{"api_version":"v1","capabilities":["swebench.run","swebench.cancel","artifacts.download","swebench.progress",`+
		`"swebench.routing_headers","swebench.idempotent_submit","swebench.list_runs"],"status":"ok"}`, res.body)
}

// HEAD works where GET does; other methods get 405 with the list of those that are
// allowed; what does not exist gets 404.
func TestMethodsAndPaths(t *testing.T) {
	t.Parallel()
	w := start(t, script(t, `{"runs":{"*":{}}}`))
	id := w.submit(body("")).RunID
	w.until(id, "succeeded")
	for path, allowed := range map[string]string{
		"/health": "GET, HEAD", "/": "GET, HEAD", "/v1/runs": "GET, HEAD, POST", "/v1/runs/" + id: "GET, HEAD",
		"/v1/runs/" + id + "/artifacts/preds.json": "GET, HEAD", "/v1/runs/" + id + "/cancel": "POST", "/v1/runs/unknown": "GET, HEAD",
	} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"} {
			res := w.call(method, path, "")
			if !strings.Contains(", "+allowed+",", ", "+method+",") {
				require.Equal(t, 405, res.StatusCode, "%s %s", method, path)
				require.Equal(t, allowed, res.Header.Get("Allow"))
				continue
			}
			require.NotEqual(t, 405, res.StatusCode, "%s %s", method, path)
			if method == "HEAD" {
				get := w.call("GET", path, "")
				require.Equal(t, get.StatusCode, res.StatusCode, path)
				require.Equal(t, get.Header.Get("Content-Type"), res.Header.Get("Content-Type"), path)
				require.Equal(t, get.ContentLength, res.ContentLength, path)
				require.Empty(t, res.body)
			}
		}
	}
	for _, path := range []string{"/v1", "/v1/", "/v1/runs/", "/v1/runs//", "/v1/runs//cancel", "/v2/runs", "/v1/runs/" + id + "/", "/v1/runs/" + id + "/artifacts", "/v1/runs/" + id + "/artifacts/", "/v1/runs/" + id + "/cancel/x", "/x/../v1/runs", "/v1/./runs", "/v1%2Fruns"} {
		res := w.call("GET", path, "")
		require.Equal(t, 404, res.StatusCode, path)
		require.Equal(t, "text/plain; charset=utf-8", res.Header.Get("Content-Type"))
		require.NotContains(t, res.body, "\n")
	}
}

func ExampleNew() {
	_, err := service.New(service.Config{Runner: newGate(), ArtifactRoot: "runs"})
	fmt.Println(err)
	// Output: service: no auth token; set one, or allow unauthenticated requests explicitly
}
