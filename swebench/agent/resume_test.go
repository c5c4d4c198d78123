package agent_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/homing-go/homing/model/modeltest"
	"github.com/homing-go/homing/qwen"
	"github.com/homing-go/homing/routing"
	"github.com/homing-go/homing/swebench/agent"
	"github.com/stretchr/testify/require"
)

// whole runs a trajectory of all kinds of steps and returns its journal.
func whole(t *testing.T) []agent.Step {
	t.Helper()
	r := newRepo(t, "a.txt", "1\n")
	server := modeltest.NewServer(t, modeltest.Reply("words"), calls("bash", `{"command":"echo 2 > a.txt"}`, "bash", `{"command":"echo second"}`, "bash", `{"command":"echo third"}`),
		modeltest.ToolCall("str_replace_editor", `{"command":"view","path":"a.txt"}`), finish("a.txt"))
	cfg := r.config(server.URL())
	cfg.Template = agent.QwenTools()
	require.Equal(t, agent.Submitted, run(t, cfg, r.task()).ExitStatus)
	all := steps(cfg)
	require.Len(t, all, 11)
	return all
}

// moved returns the steps as those of a trajectory in another repository.
func moved(t *testing.T, past []agent.Step, r *repo) []agent.Step {
	t.Helper()
	past = append([]agent.Step(nil), past...)
	start := *past[0].Start
	start.Base = strings.TrimSpace(shell(t, r.dir, "git rev-parse HEAD"))
	past[0].Start = &start
	return past
}

// resumed goes on from the first n steps in a repository of its own.
func resumed(t *testing.T, past []agent.Step, script ...modeltest.Step) (agent.Outcome, []modeltest.Recorded, *agent.MemoryJournal, *repo) {
	t.Helper()
	r := newRepo(t, "a.txt", "1\n")
	past = moved(t, past, r)
	start := past[0].Start
	r.put("a.txt", "2\n")
	server := modeltest.NewServer(t, script...)
	cfg := r.config(server.URL())
	cfg.Template = agent.QwenTools()
	outcome, err := agent.Replay(t.Context(), cfg, r.task(), past)
	require.NoError(t, err)
	require.Equal(t, start.Session, outcome.Session)
	oneSession(t, server.Requests(), "X-Session-ID", start.Session.ID)
	return outcome, server.Requests(), cfg.Journal.(*agent.MemoryJournal), r
}

// A trajectory goes on from every place at which it can have been cut off. Commands without
// a result are not run again; what only reads is.
func TestResumeAtEveryStep(t *testing.T) {
	t.Parallel()
	past := whole(t)
	kinds := []string{"start", "refused", "answer", "result", "result", "result", "answer view", "result", "answer finish", "result", "exit"}
	for n := 1; n <= len(past); n++ {
		script := []modeltest.Step{}
		if n < 9 {
			script = append(script, finish("a.txt"))
		}
		outcome, requests, journal, _ := resumed(t, past[:n], script...)
		require.Equal(t, agent.Submitted, outcome.ExitStatus, "after %d steps", n)
		require.Contains(t, string(outcome.Submission), "+2")
		added := journal.Steps()
		switch kinds[n-1] {
		case "answer":
			require.Contains(t, added[0].Result.Note, "interrupted, result unknown")
			require.True(t, added[1].Result.NotRun)
			require.True(t, added[2].Result.NotRun)
			require.Contains(t, lastContent(t, requests[0]), "the one before it was interrupted")
		case "answer view":
			require.Contains(t, lastContent(t, requests[0]), "1\t2\n")
		case "refused":
			require.Contains(t, lastContent(t, requests[0]), "no_tool_call")
		case "exit":
			require.Empty(t, added, "nothing is done again")
		}
		if n >= 2 && n < 9 {
			require.Equal(t, map[int]int{2: 2, 3: 3, 4: 3, 5: 3, 6: 3, 7: 4, 8: 4}[n], outcome.Calls, "earlier answers count")
		}
	}
}

// The limits count from the start, and so do unfit answers.
func TestResumeKeepsCounting(t *testing.T) {
	t.Parallel()
	past := whole(t)
	outcome, _, _, _ := resumed(t, past[:2], modeltest.Reply("words"), modeltest.Reply("words"))
	require.Equal(t, agent.RepeatedFormatError, outcome.ExitStatus)
	r := newRepo(t)
	late := moved(t, past[:2], r)
	late[1].Elapsed = time.Hour
	server := modeltest.NewServer(t)
	cfg := r.config(server.URL())
	cfg.Limits.Wall = time.Hour
	outcome, err := agent.Replay(t.Context(), cfg, r.task(), late)
	require.NoError(t, err)
	require.Equal(t, agent.TimeExceeded, outcome.ExitStatus)
}

// A journal of another task, under another session, or one that does not add up is refused.
func TestResumeRefuses(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	past := moved(t, whole(t), r)
	cfg := r.config("http://127.0.0.1:1/v1")
	try := func(change func(*agent.Config, *agent.Task), past []agent.Step, want string) {
		t.Helper()
		cfg, task := cfg, r.task()
		change(&cfg, &task)
		_, err := agent.Replay(t.Context(), cfg, task, past)
		var config *agent.ConfigError
		require.ErrorAs(t, err, &config)
		require.Contains(t, err.Error(), want)
	}
	same := func(*agent.Config, *agent.Task) {}
	try(func(_ *agent.Config, task *agent.Task) { task.InstanceID = "other" }, past, "other")
	try(func(c *agent.Config, _ *agent.Task) { c.Session = routing.NewSession(routing.NewID()) }, past, "not that of the journal")
	try(same, past[1:], "does not begin with the start")
	try(same, append(past[:3:3], past[4]), "step 4")
	try(same, append(past[:11:11], past[3]), "behind the exit")
	try(same, append(past[:2:2], past[0]), "second start")
	try(same, past[:9], "use the template that the trajectory began with")
}

// A last line that was written half, with or without zeros behind it, is cut off and said;
// what stands before it is kept. Damage in the middle is an error that names the line.
func TestJournalPowerCut(t *testing.T) {
	t.Parallel()
	past := whole(t)
	path := filepath.Join(t.TempDir(), "j.jsonl")
	journal, err := agent.OpenJournal(path)
	require.NoError(t, err)
	require.Empty(t, journal.Past())
	for _, step := range past[:5] {
		require.NoError(t, journal.Append(step))
	}
	require.NoError(t, journal.Close())
	require.ErrorIs(t, journal.Append(past[5]), os.ErrClosed)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := strings.SplitAfter(strings.TrimSuffix(string(whole), "\n"), "\n")
	require.Len(t, lines, 5)
	last := lines[4]
	before := strings.Join(lines[:4], "")
	for _, tail := range []string{last[:1], last[:len(last)/2], last, last[:20] + "\x00\x00\x00", "\x00\x00\n", "{}\n", "null\n", last[:9] + strings.Repeat("longer than what follows ", 100), `{"answer":{},"exit":{}}` + "\n"} {
		require.NoError(t, os.WriteFile(path, []byte(before+tail), 0o600))
		read, err := agent.ReadJournal(path)
		require.NoError(t, err)
		require.Len(t, read, 4)
		journal, err := agent.OpenJournal(path)
		require.NoError(t, err, "%q", tail)
		require.Len(t, journal.Past(), 4)
		require.Equal(t, len(tail), journal.Dropped())
		require.NoError(t, journal.Append(past[4]))
		require.NoError(t, journal.Close())
		again, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(whole), string(again), "%q", tail)
	}
	for content, want := range map[string]string{
		lines[0] + "garbage\n" + lines[1]: "line 2: it is damaged",
		lines[1]:                          "line 1: it does not begin with the start",
		lines[0] + lines[0]:               "line 2: ",
		strings.Replace(lines[0], `"version":1`, `"version":9`, 1): "its version is 9",
	} {
		if !strings.HasSuffix(content, "\n") {
			content += "\n"
		}
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		_, err := agent.OpenJournal(path)
		var journalError *agent.JournalError
		require.ErrorAs(t, err, &journalError)
		require.Contains(t, err.Error(), want)
		require.Contains(t, err.Error(), path)
		kept, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, content, string(kept), "a file that is refused is left alone")
	}
	_, err = agent.OpenJournal(filepath.Join(path, "x"))
	require.Error(t, err)
}

// full is a journal whose disk is full from the nth step on.
type full struct {
	agent.MemoryJournal
	left int
}

func (f *full) Append(s agent.Step) error {
	if f.left--; f.left < 0 {
		return errors.New("no space left")
	}
	return f.MemoryJournal.Append(s)
}

// What cannot be written down ends the trajectory before anything else is run.
func TestJournalFailed(t *testing.T) {
	t.Parallel()
	for left := range 3 {
		r := newRepo(t)
		server := modeltest.NewServerFunc(t, func(modeltest.Recorded) modeltest.Step { return bash("touch ran") })
		cfg := r.config(server.URL())
		cfg.Journal = &full{left: left}
		outcome := run(t, cfg, r.task())
		require.Equal(t, agent.JournalFailed, outcome.ExitStatus)
		require.ErrorContains(t, outcome.Err, "no space left")
		require.Len(t, server.Requests(), min(left, 1))
		if left < 2 {
			require.NoFileExists(t, r.path("ran"))
		}
	}
}

// When the context is done the run stops with its error, a running command is ended, and the
// journal has no exit: the trajectory can go on.
func TestContextDone(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	ctx, cancel := context.WithCancel(t.Context())
	server := modeltest.NewServer(t, bash("sleep 60"), bash("echo on; "+handIn), bash(handIn))
	cfg := r.config(server.URL())
	cfg.Sandbox = &cancelling{cfg.Sandbox, cancel}
	outcome, err := agent.Run(ctx, cfg, r.task())
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, outcome.ExitStatus)
	past := steps(cfg)
	require.Len(t, past, 2)
	again := r.config(server.URL())
	outcome, err = agent.Replay(t.Context(), again, r.task(), past)
	require.NoError(t, err)
	require.Equal(t, agent.Submitted, outcome.ExitStatus)
	require.Contains(t, steps(again)[0].Result.Note, "interrupted")
	oneSession(t, server.Requests(), "X-Session-ID", outcome.Session.ID)
}

// cancelling ends the context shortly after a command of the model began.
type cancelling struct {
	qwen.Sandbox
	cancel func()
}

func (c *cancelling) Run(ctx context.Context, cmd qwen.Command) (qwen.Output, error) {
	if strings.Contains(cmd.Args[len(cmd.Args)-1], "sleep 60") {
		time.AfterFunc(20*time.Millisecond, c.cancel)
	}
	return c.Sandbox.Run(ctx, cmd)
}
