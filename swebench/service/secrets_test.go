package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/service"
	"github.com/stretchr/testify/require"
)

// sent collects everything that a service has sent and written.
func (w *world) everything(id string) map[string]string {
	w.Helper()
	all := map[string]string{"stderr": w.log.String()}
	for _, path := range []string{"/health", "/v1/runs", "/", "/v1/runs/" + id, "/nothing"} {
		all[path] = w.call("GET", path, "").body
	}
	known := swebench.ArtifactNames()
	for _, name := range known {
		res := w.artifact(id, name)
		all["artifact "+name] = res.body + fmt.Sprint(res.Header)
	}
	require.NoError(w, filepath.WalkDir(w.root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			data, err := os.ReadFile(path)
			require.NoError(w, err)
			all[path] = string(data)
		}
		return err
	}))
	return all
}

// leaky is a runner that puts the key wherever it can: into the logs, cut in the middle,
// into its error or its result.
func leaky(_ context.Context, job service.Job) (json.RawMessage, error) {
	key := job.EndpointAPIKey
	for _, name := range []string{swebench.FileAgentLog, swebench.FileEvalLog} {
		log, err := job.Log(name, true)
		if err != nil {
			return nil, err
		}
		quoted, _ := json.Marshal(map[string]string{"authorization": "Bearer " + key, "x": key})
		fmt.Fprintf(log, "key=%s Bearer %s\nhttp://u:%s@host/?api_key=%s\n%s\n", key, key, key, key, quoted)
		for i := range len(key) { // cut at every place
			fmt.Fprint(log, "cut api_key="+key[:i])
			fmt.Fprint(log, key[i:]+" "+token[:i])
			fmt.Fprint(log, token[i:]+"\n")
		}
		fmt.Fprint(log, "the end: "+key[:max(len(key)-1, 0)])
		if err := log.Publish(); err != nil {
			return nil, err
		}
	}
	job.Warn("a warning with %s", key)
	if strings.HasPrefix(job.Request.ModelName, "fails") {
		return nil, errors.New("401: key=" + key + " is wrong, Bearer " + key + ", token " + token)
	}
	result, err := json.Marshal(map[string]any{"submitted_instances": 1, "resolved_instances": 1, "api_key": key, "text": "key=" + key, token: 1})
	return result, err
}

// A token and a key of 64 characters are in no byte that was written or sent.
func TestSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	const key = "sk-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXY"
	require.Len(t, key, 64)
	require.Len(t, token, 64)
	for _, model := range []string{"succeeds", "fails"} {
		w := start(t, service.RunnerFunc(leaky), func(c *service.Config) { c.MaxConcurrentRuns = 2 })
		req := w.request("POST", "/v1/runs", strings.Replace(body(`"model_name":"`+model+`-`+key+`","endpoint_api_key":"`+key+`","split":"x`+key+`","generation_params":{"chat_template_kwargs":{"my_token":1,"a":"`+key+`","`+key+`":2}}`),
			"http://127.0.0.1:9/v1", "http://user:"+key+"@127.0.0.1:9/v1?api_key="+key, 1))
		req.Header.Set(swebench.IdempotencyHeader, "idempotent-"+key)
		res := w.do(req)
		require.Equal(t, 202, res.StatusCode, res.body)
		id := parse(t, res.body).RunID
		require.Eventually(t, func() bool { return w.status(id).Status.Terminal() }, waitLong, tick)
		all := w.everything(id)
		all["refused"] = w.call("POST", "/v1/runs", body(`"endpoint_api_key":"`+key+`","`+key+`":1`)).body
		all["refused value"] = w.call("POST", "/v1/runs", strings.Replace(body(`"endpoint_api_key":"`+key+`"`), `"workers":1`, `"workers":"`+key+`"`, 1)).body
		for where, text := range all {
			require.NotContains(t, text, key, where)
			require.NotContains(t, text, key[:12], where)
			require.NotContains(t, text, token, where)
		}
		require.Contains(t, all["artifact swe_bench_agent.log"], "<redacted>")
		require.Contains(t, all[w.path(id, swebench.FileRequest)], `"my_token":"<redacted>"`)
	}
}

const (
	waitLong = 10e9
	tick     = 2e6
)

// A key of three characters is taken out of logs and errors; IDs, words and addresses of
// the protocol stay as they are.
func TestCase101_ShortKeyIsTakenOutOfLogs(t *testing.T) {
	t.Parallel()
	w := start(t, service.RunnerFunc(leaky))
	for _, key := range []string{"k3y", "ccc", "run", "fai", "can", "sta"} {
		id := w.submit(body(`"model_name":"fails","endpoint_api_key":"` + key + `"`)).RunID
		v := w.until(id, swebench.StateFailed)
		require.NotContains(t, v.Error, key)
		require.NotContains(t, w.artifact(id, swebench.FileAgentLog).body, key)
		require.NotContains(t, w.artifact(id, swebench.FileEvalLog).body, key)
		require.Equal(t, id, v.RunID)
		require.Equal(t, swebench.PhaseFailed, v.Progress.Phase)
		require.Equal(t, "failed", v.Message)
		for _, a := range v.Artifacts {
			require.Equal(t, swebench.ArtifactPath(id, a.Name), a.URL)
		}
		stored, err := os.ReadFile(w.path(id, swebench.FileRequest))
		require.NoError(t, err)
		require.Contains(t, string(stored), `"subset":"verified"`)
		require.Contains(t, string(stored), `["a-1"]`)
	}
	// A log that someone else has written is redacted when it is served.
	g := newGate()
	w = start(t, g)
	id := w.submit(body(`"endpoint_api_key":"k3y"`)).RunID
	w.write((<-g.started).Path(swebench.FileAgentLog), "raw k3y and "+token+" in it")
	require.Equal(t, "raw <redacted> and <redacted> in it", w.artifact(id, swebench.FileAgentLog).body)
}

// Of an error text with a key or with credentials in a URL, only the secret part is
// replaced, where it is stored and where it is answered.
func TestCase103_OnlyTheSecretPart(t *testing.T) {
	t.Parallel()
	w := start(t, script(t, `{"runs":{"*":{"outcome":"fail","error":"GET https://me:pw@host:8/p?api_key=VALUE&x=1 gave 401; token=T1, Authorization: Bearer B1 was sent"}}}`))
	id := w.submit(body("")).RunID
	const want = "GET https://me:<redacted>@host:8/p?api_key=<redacted>&x=1 gave 401; token=<redacted>, Authorization: Bearer <redacted> was sent"
	require.Equal(t, want, w.until(id, swebench.StateFailed).Error)
	stored, err := os.ReadFile(w.path(id, swebench.FileStatus))
	require.NoError(t, err)
	require.Equal(t, want, parse(t, string(stored)).Error)
	require.Contains(t, w.call("GET", "/v1/runs", "").body, "<redacted>@host:8")
}

// A key of one character leaves IDs, words and addresses as they are, is not in its own
// field nor behind "key=" and "Bearer ", and a warning says that texts are not protected.
func TestCase104_KeyOfOneCharacter(t *testing.T) {
	t.Parallel()
	w := start(t, service.RunnerFunc(leaky))
	for _, key := range []string{"0", "a", "s", "-"} {
		id := w.submit(body(`"model_name":"fails","endpoint_api_key":"` + key + `"`)).RunID
		v := w.until(id, swebench.StateFailed)
		require.Equal(t, id, v.RunID)
		require.Equal(t, swebench.PhaseFailed, v.Progress.Phase)
		require.Equal(t, swebench.ArtifactPath(id, v.Artifacts[0].Name), v.Artifacts[0].URL)
		log := w.artifact(id, swebench.FileAgentLog).body
		for _, text := range []string{v.Error, log} {
			require.NotContains(t, text, "key="+key+" ")
			require.NotContains(t, text, "Bearer "+key)
		}
		stored, err := os.ReadFile(w.path(id, swebench.FileRequest))
		require.NoError(t, err)
		require.NotContains(t, string(stored), `"endpoint_api_key":"`+key+`"`)
		require.Contains(t, string(stored), `"subset":"verified"`)
		require.Contains(t, w.log.String(), "one character")
	}
}

// The logs of many writers at a time are whole lines without secrets.
func TestLogOfManyWriters(t *testing.T) {
	t.Parallel()
	w := start(t, service.RunnerFunc(func(_ context.Context, job service.Job) (json.RawMessage, error) {
		log, err := job.Log(swebench.FileAgentLog, false)
		if err != nil {
			return nil, err
		}
		var group sync.WaitGroup
		for range 10 {
			group.Go(func() {
				for range 100 {
					fmt.Fprintln(log, "line "+job.EndpointAPIKey)
				}
			})
		}
		group.Wait()
		return json.RawMessage(`{}`), log.Publish()
	}))
	id := w.submit(body(`"endpoint_api_key":"sk-secret-key"`)).RunID
	w.until(id, swebench.StateSucceeded)
	require.Equal(t, strings.Repeat("line <redacted>\n", 1000), w.artifact(id, swebench.FileAgentLog).body)
}
