package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/model/modeltest"
	"github.com/homing-go/homing/qwen"
	"github.com/homing-go/homing/swebench/agent"
	"github.com/stretchr/testify/require"
)

// beKilled is the process of a runner: it takes a trajectory up where its journal ends.
func beKilled(path string) int {
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	journal, err := agent.OpenJournal(path)
	if err != nil {
		return fail(err)
	}
	client, err := model.New(model.Config{BaseURL: os.Getenv("AGENT_TEST_URL"), Model: "m"})
	if err != nil {
		return fail(err)
	}
	outcome, err := agent.Replay(context.Background(), agent.Config{
		Client: client, Sandbox: qwen.Local{Env: environment()}, Journal: journal,
	}, agent.Task{InstanceID: "i", Problem: "p", Dir: os.Getenv("AGENT_TEST_DIR")}, journal.Past())
	if err != nil {
		return fail(err)
	}
	fmt.Println(outcome.ExitStatus, journal.Dropped(), string(outcome.Submission))
	return 0
}

// A driver that is killed at any moment, twenty times, leaves its trajectory on disk up to
// the last finished step. Taken up again it goes on from there: under the same session, with
// the same bytes of history, and no command is run twice.
func TestCase142_KilledDriver(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it starts twenty processes")
	}
	const commands = 24
	r := newRepo(t, "a.txt", "0\n")
	server := modeltest.NewServerFunc(t, func(req modeltest.Recorded) modeltest.Step {
		n := bytes.Count(req.Body, []byte(`"role":"assistant"`))
		if n >= commands {
			return bash(handIn)
		}
		return modeltest.Delay(8*time.Millisecond, bash(fmt.Sprintf("echo %d >> ../log; echo %d > a.txt; sleep 0.01", n, n)))
	})
	path := filepath.Join(filepath.Dir(r.dir), "journal.jsonl")
	var out string
	kept, kills := 0, 0
	for deadline := time.Now().Add(time.Minute); out == "" && time.Now().Before(deadline); {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(environment(), "AGENT_TEST_JOURNAL="+path, "AGENT_TEST_URL="+server.URL(), "AGENT_TEST_DIR="+r.dir)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		asked := len(server.Requests())
		require.NoError(t, cmd.Start())
		if kills < 20 {
			server.Await(asked + 1)
			time.Sleep(time.Duration(rand.IntN(30)) * time.Millisecond)
			_ = cmd.Process.Kill()
			kills++
		}
		if err := cmd.Wait(); err == nil {
			out = stdout.String()
		} else {
			require.Empty(t, stderr.String())
		}
		past, err := agent.ReadJournal(path)
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(past), kept, "a finished step is never lost")
		kept = len(past)
	}
	require.True(t, strings.HasPrefix(out, "Submitted "), out)
	require.Contains(t, out, "+23")
	ran := strings.Fields(shell(t, r.dir, "cat ../log"))
	seen := map[string]bool{}
	for _, n := range ran {
		require.False(t, seen[n], "command %s was run twice", n)
		seen[n] = true
	}
	past, err := agent.ReadJournal(path)
	require.NoError(t, err)
	requests := server.Requests()
	oneSession(t, requests, "X-Session-ID", past[0].Start.Session.ID)
	interrupted := 0
	for _, step := range past {
		if step.Result != nil && strings.Contains(step.Result.Note, "interrupted, result unknown") {
			interrupted++
		}
	}
	require.GreaterOrEqual(t, len(seen)+interrupted, commands, "each command ran, or is said to be interrupted")
	for i := 1; i < len(requests); i++ {
		before, after := rawMessages(t, requests[i-1]), rawMessages(t, requests[i])
		require.True(t, strings.HasPrefix(after, before), "request %d begins with the bytes of the one before", i+1)
	}
}

// rawMessages are the bytes of the history.
func rawMessages(t testing.TB, r modeltest.Recorded) string {
	t.Helper()
	var body struct{ Messages json.RawMessage }
	require.NoError(t, json.Unmarshal(r.Body, &body))
	return strings.TrimSuffix(string(body.Messages), "]")
}
