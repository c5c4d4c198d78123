//go:build unix

package service_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/homing-go/homing/swebench"
	"github.com/stretchr/testify/require"
)

// What does not name one of the artifacts in the run's own folder is 404, be it a way out,
// a link, a folder or a pipe, and no lease remains.
func TestCase100_NoWayOut(t *testing.T) {
	t.Parallel()
	w := start(t, script(t, `{"runs":{"*":{}}}`))
	id := w.submit(body("")).RunID
	w.until(id, swebench.StateSucceeded)
	w.write(w.path(id, "secret.txt"), "secret")
	w.write(w.path("outside"), "secret")
	for _, name := range []string{
		"..%2Fstatus.json", "%2e%2e%2fstatus.json", "..%2foutside", "../status.json", "../../outside", "%2Fetc%2Fpasswd", "/etc/passwd", "status.json%00", "%00", "status.json%00.log",
		"secret.txt", "request.json", ".service.json", ".", "..", "", "STATUS.JSON", "status.json/", "status.json%20", "swe_bench_output", "swe_bench_output%2Fpreds.json", "status.json%", "%zz",
		"..%5Cstatus.json", "status.json;x", "./status.json", "%2e/status.json", "status%2Ejson%2F", "\xff",
	} {
		res := w.raw("GET /v1/runs/" + id + "/artifacts/" + name + " HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer " + token + "\r\n\r\n")
		require.Contains(t, []int{404, 400}, res.StatusCode, name) // 400: net/http refuses what is no URL
		if res.StatusCode == 400 {
			require.Contains(t, []string{"status.json%", "%zz", "\xff"}, name)
		}
		require.NotContains(t, res.body, "secret")
		require.Empty(t, res.Header.Get("Location"))
	}
	require.Equal(t, 200, w.artifact(id, "status%2Ejson").StatusCode, "an escape that means the name is the name")
	for _, other := range []string{"..", "%2e%2e", ".", id + "%2F..", id + "%00", "%2F"} {
		require.Equal(t, 404, w.call("GET", "/v1/runs/"+other+"/artifacts/status.json", "").StatusCode, other)
	}
	target := w.path(id, swebench.FilePreds)
	for _, arrange := range []func() error{
		func() error { return os.Symlink(w.path("outside"), target) },
		func() error { return os.Symlink("../outside", target) },
		func() error { return os.Symlink("secret.txt", target) },
		func() error { return os.Symlink(filepath.Join(swebench.DirOutput, "preds.json"), target) },
		func() error { return os.Symlink(target, target) },
		func() error { return os.Mkdir(target, 0o755) },
		func() error { return syscall.Mkfifo(target, 0o644) },
		func() error { return nil },
	} {
		require.NoError(t, os.RemoveAll(target))
		require.NoError(t, arrange())
		require.Equal(t, 404, w.artifact(id, swebench.FilePreds).StatusCode)
	}
	require.Zero(t, w.Leases(id))
}

// Logs are served as text to be saved, JSON files as a file server does it: with
// conditions and ranges.
func TestArtifactSemantics(t *testing.T) {
	t.Parallel()
	w := start(t, script(t, `{"runs":{"*":{"agent_log":"line\n"}}}`))
	id := w.submit(body("")).RunID
	w.until(id, swebench.StateSucceeded)

	res := w.artifact(id, swebench.FileAgentLog)
	require.Equal(t, "line\n", res.body)
	require.Equal(t, "text/plain; charset=utf-8", res.Header.Get("Content-Type"))
	require.Equal(t, `attachment; filename="swe_bench_agent.log"`, res.Header.Get("Content-Disposition"))
	require.Empty(t, w.artifact(id, swebench.FileEvalLog).body)

	whole := w.artifact(id, swebench.FilePreds)
	require.Equal(t, "application/json", whole.Header.Get("Content-Type"))
	require.Equal(t, "bytes", whole.Header.Get("Accept-Ranges"))
	etag, modified := whole.Header.Get("ETag"), whole.Header.Get("Last-Modified")
	require.Regexp(t, `^"[0-9a-f-]+"$`, etag)
	for header, want := range map[string]int{"If-None-Match:" + etag: 304, "If-Modified-Since:" + modified: 304, "If-Match:\"other\"": 412, "Range:bytes=2-4": 206, "Range:bytes=999999-": 416} {
		req := w.request("GET", swebench.ArtifactPath(id, swebench.FilePreds), "")
		name, value, _ := strings.Cut(header, ":")
		req.Header.Set(name, value)
		res := w.do(req)
		require.Equal(t, want, res.StatusCode, header)
		if want == 206 {
			require.Equal(t, whole.body[2:5], res.body)
		}
	}
	require.Equal(t, 404, w.artifact("unknown", swebench.FilePreds).StatusCode)
}

// Files can be fetched before the run is over, once they exist.
func TestArtifactsOfARunningRun(t *testing.T) {
	t.Parallel()
	g := newGate()
	w := start(t, g)
	id := w.submit(body("")).RunID
	job := <-g.started
	require.Equal(t, 404, w.artifact(id, swebench.FileAgentLog).StatusCode)
	w.write(job.Path(swebench.FileAgentLog), "there")
	require.Equal(t, "there", w.artifact(id, swebench.FileAgentLog).body)
	require.Equal(t, 200, w.artifact(id, swebench.FileStatus).StatusCode)
}

func FuzzArtifactPath(f *testing.F) {
	for _, seed := range []string{"status.json", "..%2Fstatus.json", "/", "a/b", "%00", "preds.json/..", "\xff"} {
		f.Add(seed)
	}
	w := fuzzWorld(f, `{"runs":{"*":{}}}`)
	v := w.submit(body(""))
	w.until(v.RunID, swebench.StateSucceeded)
	f.Fuzz(func(t *testing.T, path string) {
		code, text := w.serve("GET", "/v1/runs/"+v.RunID+"/artifacts/"+path, "")
		switch code {
		case 200:
			known := swebench.ArtifactNames()
			require.Contains(t, known[:], path)
		case 404:
			require.Less(t, len(text), 100)
		default:
			t.Fatalf("%q: %d", path, code)
		}
		require.Zero(t, w.Leases(v.RunID))
	})
}
