//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/homing-go/homing/swebench"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// asCommand makes the test binary be the command.
const asCommand = "HOMING_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}

const token = "tk-0123456789abcdef"

// A process is the command in a process of its own.
type process struct {
	*testing.T
	cmd  *exec.Cmd
	url  string
	key  string // of idempotent submissions
	done chan error
	log  *bytes.Buffer // complete when done
}

// start starts the command and waits until it listens.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{T: t, done: make(chan error, 1), log: new(bytes.Buffer)}
	p.cmd = exec.Command(os.Args[0], append([]string{"-port", "0", "-auth-token-env", "SERVICE_TOKEN"}, args...)...)
	p.cmd.Env = append(os.Environ(), asCommand+"=1", "SERVICE_TOKEN="+token, "MSWEA_DOCKER_EXECUTABLE=true")
	stderr, err := p.cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	lines := make(chan string, 1)
	go func() {
		r := bufio.NewReader(io.TeeReader(stderr, p.log))
		for {
			line, err := r.ReadString('\n')
			if _, address, ok := strings.Cut(line, "listening on "); ok {
				lines <- strings.TrimSpace(address)
			}
			if err != nil {
				break
			}
		}
		close(lines)
		p.done <- p.cmd.Wait()
	}()
	t.Cleanup(func() { p.end(syscall.SIGKILL) })
	address, ok := <-lines
	require.True(t, ok, "it did not start")
	p.url = address
	return p
}

// end sends a signal and waits for the end.
func (p *process) end(signal syscall.Signal) error {
	if p.done == nil {
		return nil
	}
	_ = p.cmd.Process.Signal(signal)
	err := <-p.done
	p.done = nil
	return err
}

func (p *process) call(method, path, body string) (int, string) {
	p.Helper()
	req, err := http.NewRequest(method, p.url+path, strings.NewReader(body))
	require.NoError(p, err)
	req.Header.Set("Authorization", "Bearer "+token)
	if p.key != "" {
		req.Header.Set(swebench.IdempotencyHeader, p.key)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	require.NoError(p, err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	require.NoError(p, err)
	return res.StatusCode, string(data)
}

func (p *process) status(id string) swebench.StatusView {
	p.Helper()
	code, body := p.call("GET", "/v1/runs/"+id, "")
	require.Equal(p, 200, code, body)
	v, err := swebench.ParseStatus([]byte(body))
	require.NoError(p, err)
	return v
}

func (p *process) until(what string, true func() bool) {
	p.Helper()
	require.Eventually(p, true, 20*time.Second, 10*time.Millisecond, what)
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	return name
}

func request(n int, more string) string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = "project__x-" + string(rune('a'+i/26)) + string(rune('a'+i%26))
	}
	list, _ := json.Marshal(ids)
	count, _ := json.Marshal(n)
	return `{"model_name":"m","endpoint_urls":["http://localhost:1"],"num_instances":` + string(count) + `,"workers":1,"max_eval_workers":1,"evaluated_instance_ids":` + string(list) + more + `}`
}

// Killed in the middle of a run and started again, the service finishes the run: what was
// done is kept, what its children did is stopped, and the score is the same.
func TestKilledAndResumed(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "runs")
	instances := map[string]any{}
	for _, id := range []string{"project__x-aa", "project__x-bd"} {
		instances[id] = map[string]any{"outcome": "fail"}
	}
	for i := range 50 {
		id := "project__x-" + string(rune('a'+i/26)) + string(rune('a'+i%26))
		entry, _ := instances[id].(map[string]any)
		if entry == nil {
			entry = map[string]any{}
		}
		entry["delay_s"] = 0.02
		instances[id] = entry
	}
	script, err := json.Marshal(map[string]any{"runs": map[string]any{"*": map[string]any{
		"instances": instances, "agent_command": []string{"sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $! >> ../pids; [ -e preds.json ] || echo key $OPENAI_API_KEY"},
	}}})
	require.NoError(t, err)
	args := []string{"-artifact-root", root, "-runner", "scripted=" + write(t, "script.json", string(script))}
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("sh is missing")
	}
	p := start(t, args...)
	p.key = "same"
	body := request(50, `,"endpoint_api_key":"sk-0123456789"`)
	code, text := p.call("POST", "/v1/runs", body)
	require.Equal(t, 202, code, text)
	v, err := swebench.ParseStatus([]byte(text))
	require.NoError(t, err)
	p.until("some instances are done", func() bool { return *p.status(v.RunID).Progress.AgentCompleted >= 10 })
	require.Error(t, p.end(syscall.SIGKILL))

	p = start(t, args...)
	p.key = "same"
	require.Equal(t, swebench.StateQueued, p.status(v.RunID).Status)
	require.Contains(t, p.status(v.RunID).Message, "endpoint_key_lost")
	done := *p.status(v.RunID).Progress.AgentCompleted
	require.Positive(t, done)
	require.Less(t, done, 50)
	code, again := p.call("POST", "/v1/runs", body)
	require.Equal(t, 202, code)
	require.Contains(t, again, v.RunID)
	p.until("the run has ended", func() bool { return p.status(v.RunID).Status.Terminal() })
	got := p.status(v.RunID)
	require.Equal(t, swebench.StateSucceeded, got.Status, got.Error)
	require.JSONEq(t, `{"submitted_instances":50,"resolved_instances":48}`, string(got.Result))
	_, log := p.call("GET", swebench.ArtifactPath(v.RunID, swebench.FileAgentLog), "")
	require.Equal(t, "key <redacted>\n\n[the service was restarted]\n", log)
	require.NoError(t, p.end(syscall.SIGTERM))
	require.NoError(t, filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NotContains(t, string(data), "sk-0123456789", path)
			require.NotContains(t, string(data), token, path)
		}
		return err
	}))
	require.NotContains(t, p.log.String(), "sk-0123456789")
}

// On SIGTERM the service cancels its runs, their children included, and ends with 0; after
// -resume=false an interrupted run is failed.
func TestStopAndNoResume(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("sh is missing")
	}
	root := filepath.Join(t.TempDir(), "runs")
	args := []string{"-artifact-root", root, "-runner", "scripted=" + write(t, "script.json", `{"runs":{"*":{"agent_command":["sh","-c","echo $$ > ../pid; echo said; sleep 1000"]}}}`), "-max-concurrent-runs", "2", "-resume=false"}
	p := start(t, args...)
	_, text := p.call("POST", "/v1/runs", request(1, ""))
	v, err := swebench.ParseStatus([]byte(text))
	require.NoError(t, err)
	pid := filepath.Join(root, v.RunID, "pid")
	p.until("the child runs", func() bool { data, _ := os.ReadFile(pid); return bytes.HasSuffix(data, []byte("\n")) })
	require.NoError(t, p.end(syscall.SIGTERM))
	p = start(t, args...)
	require.Equal(t, swebench.StateCancelled, p.status(v.RunID).Status)
	_, log := p.call("GET", swebench.ArtifactPath(v.RunID, swebench.FileAgentLog), "")
	require.Equal(t, "said\n", log)

	_, text = p.call("POST", "/v1/runs", request(1, ""))
	v, err = swebench.ParseStatus([]byte(text))
	require.NoError(t, err)
	pid = filepath.Join(root, v.RunID, "pid")
	p.until("the child runs", func() bool { data, _ := os.ReadFile(pid); return bytes.HasSuffix(data, []byte("\n")) })
	require.Error(t, p.end(syscall.SIGKILL))
	p = start(t, args...)
	got := p.status(v.RunID)
	require.Equal(t, swebench.StateFailed, got.Status)
	require.Contains(t, got.Error, "interrupted")
	_, log = p.call("GET", swebench.ArtifactPath(v.RunID, swebench.FileAgentLog), "")
	require.Equal(t, "said\n", log)
	if _, err := os.Stat("/proc/self/environ"); err == nil {
		data, err := os.ReadFile(pid)
		require.NoError(t, err)
		child, err := strconv.Atoi(strings.TrimSpace(string(data)))
		require.NoError(t, err)
		p.until("the child is gone", func() bool {
			stat, err := os.ReadFile("/proc/" + strconv.Itoa(child) + "/stat")
			return err != nil || strings.Contains(string(stat), ") Z ")
		})
	}
	require.NoError(t, p.end(syscall.SIGTERM))
}

// What the service does not start with, it says, and how it ends.
func TestRefusals(t *testing.T) {
	t.Parallel()
	good := write(t, "good.json", `{"runs":{}}`)
	runner := "-runner=scripted=" + good
	root := "-artifact-root=" + t.TempDir()
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{0, "  -max-stored-runs", []string{"-h"}},
		{2, "no auth token", []string{runner, root}},
		{2, "no auth token", []string{runner, root, "-auth-token="}},
		{2, "choose one", []string{runner, root, "-auth-token=x", "-allow-unauthenticated"}},
		{2, "EMPTY_VARIABLE is empty", []string{runner, root, "-auth-token-env=EMPTY_VARIABLE"}},
		{2, "EMPTY_VARIABLE is empty", []string{runner, root, "-auth-token=x", "-endpoint-api-key-env=EMPTY_VARIABLE"}},
		{2, "want scripted=FILE", []string{root, "-auth-token=x"}},
		{2, "want scripted=FILE", []string{root, "-auth-token=x", "-runner=docker"}},
		{2, "-max-concurrent-runs 0", []string{runner, root, "-auth-token=x", "-max-concurrent-runs=0"}},
		{2, "more than 0", []string{runner, root, "-auth-token=x", "-subprocess-timeout-s=0"}},
		{2, "more than 0", []string{runner, root, "-auth-token=x", "-subprocess-timeout-s=NaN"}},
		{2, "-port 65536", []string{runner, root, "-auth-token=x", "-port=65536"}},
		{2, "unexpected argument", []string{runner, root, "-auth-token=x", "extra"}},
		{2, "-unknown", []string{"-unknown"}},
		{1, "no such file", []string{"-runner=scripted=" + good + "x", root, "-auth-token=x"}},
		{1, "runs.m.delay: there is no such member", []string{"-runner=scripted=" + write(t, "bad.json", `{"runs":{"m":{"delay":1}}}`), root, "-auth-token=x"}},
		{1, "listen", []string{runner, root, "-auth-token=x", "-host=256.0.0.1"}},
	} {
		var stderr bytes.Buffer
		require.Equal(t, c.code, run(context.Background(), c.args, &stderr), "%v: %s", c.args, stderr.String())
		require.Contains(t, stderr.String(), c.says)
	}
	var help bytes.Buffer
	run(context.Background(), []string{"-h"}, &help)
	runbook, err := os.ReadFile("../../swebench/service/README.md")
	require.NoError(t, err)
	for _, flag := range regexp.MustCompile(`(?m)^  (-\S+)`).FindAllStringSubmatch(help.String(), -1) {
		require.Contains(t, string(runbook), "`"+flag[1]+"`")
	}
	for _, name := range []string{"host", "port", "artifact-root", "max-concurrent-runs", "subprocess-timeout-s", "auth-token", "allow-unauthenticated", "max-stored-runs", "runner", "resume", "endpoint-api-key-env"} {
		require.Regexp(t, `(?m)^  -`+name+`\b`, help.String())
	}
}
