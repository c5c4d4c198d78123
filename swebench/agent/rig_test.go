package agent_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/homing-go/homing/internal/need"
	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/model/modeltest"
	"github.com/homing-go/homing/qwen"
	"github.com/homing-go/homing/routing"
	"github.com/homing-go/homing/swebench/agent"
	"github.com/stretchr/testify/require"
)

const apiKey = "sk-the-endpoint-key-1234"

func environment() []string {
	return append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
}

func shell(t testing.TB, dir, script string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Dir, cmd.Env = dir, environment()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", script, out)
	return string(out)
}

// A repo is a repository with one commit.
type repo struct {
	t   testing.TB
	dir string
}

func newRepo(t testing.TB, files ...string) *repo {
	t.Helper()
	need.Programs(t, "sh", "git")
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	r := &repo{t: t, dir: filepath.Join(root, "testbed")}
	require.NoError(t, os.Mkdir(r.dir, 0o755))
	for i := 0; i < len(files); i += 2 {
		r.put(files[i], files[i+1])
	}
	shell(t, r.dir, "git init -q . && git add -A -f && git commit -q --allow-empty -m base")
	return r
}

func (r *repo) path(name string) string { return filepath.Join(r.dir, name) }

func (r *repo) put(name, content string) {
	r.t.Helper()
	require.NoError(r.t, os.MkdirAll(filepath.Dir(r.path(name)), 0o755))
	require.NoError(r.t, os.WriteFile(r.path(name), []byte(content), 0o644))
}

func (r *repo) get(name string) string {
	r.t.Helper()
	text, err := os.ReadFile(r.path(name))
	require.NoError(r.t, err)
	return string(text)
}

func (r *repo) task() agent.Task {
	return agent.Task{InstanceID: "pkg__pkg-1", Problem: "add(1, 1) is 3 {{ braces }} {% raw", Dir: r.dir}
}

// config is that of a trajectory with the Qwen client and the local sandbox.
func (r *repo) config(url string) agent.Config {
	return agent.Config{Client: qwenClient(r.t, url), Sandbox: qwen.Local{Env: environment()}, Journal: new(agent.MemoryJournal)}
}

func fast() model.Retry {
	return model.Retry{MinWait: time.Millisecond, MaxWait: 2 * time.Millisecond}
}

func qwenClient(t testing.TB, url string) *qwen.Client {
	t.Helper()
	client, err := qwen.New(qwen.Config{Config: model.Config{BaseURL: url, Model: "Qwen/Qwen3-8B", APIKey: apiKey, Retry: fast()}})
	require.NoError(t, err)
	t.Cleanup(client.CloseIdleConnections)
	return client
}

func steps(cfg agent.Config) []agent.Step { return cfg.Journal.(*agent.MemoryJournal).Steps() }

func run(t testing.TB, cfg agent.Config, task agent.Task) agent.Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	outcome, err := agent.Run(ctx, cfg, task)
	require.NoError(t, err)
	return outcome
}

func quote(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func bash(command string) modeltest.Step {
	return modeltest.ToolCall("bash", `{"command":`+quote(command)+`}`)
}

func finish(files ...string) modeltest.Step {
	return modeltest.ToolCall("finish", `{"files_modified":`+quote(files)+`}`)
}

// calls is one answer with several calls, each a name and its arguments.
func calls(list ...string) modeltest.Step {
	var made []map[string]any
	for i := 0; i < len(list); i += 2 {
		made = append(made, map[string]any{
			"id": "c" + quote(i/2), "type": "function", "function": map[string]any{"name": list[i], "arguments": list[i+1]},
		})
	}
	return modeltest.Message(json.RawMessage(quote(map[string]any{"role": "assistant", "content": "several", "tool_calls": made})))
}

const handIn = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && git diff HEAD"

// sentMessages are the messages of a request, each with its role and its content.
func sentMessages(t testing.TB, r modeltest.Recorded) []map[string]any {
	t.Helper()
	var body struct{ Messages []map[string]any }
	require.NoError(t, json.Unmarshal(r.Body, &body))
	return body.Messages
}

func lastContent(t testing.TB, r modeltest.Recorded) string {
	t.Helper()
	all := sentMessages(t, r)
	text, _ := all[len(all)-1]["content"].(string)
	return text
}

// oneSession checks that all requests carry the value under the name, once each.
func oneSession(t testing.TB, requests []modeltest.Recorded, name string, id routing.ID) {
	t.Helper()
	for i, r := range requests {
		require.Equal(t, []string{name + ": " + string(id)}, linesOf(r, name), "request %d", i+1)
	}
}

func linesOf(r modeltest.Recorded, name string) (found []string) {
	for _, line := range r.Lines {
		if head, _, ok := strings.Cut(line, ":"); ok && strings.EqualFold(head, name) {
			found = append(found, line)
		}
	}
	return found
}
