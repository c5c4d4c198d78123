package agent_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/homing-go/homing/internal/memhttp"
	"github.com/homing-go/homing/internal/need"
	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/model/modeltest"
	"github.com/homing-go/homing/qwen"
	"github.com/homing-go/homing/routing"
	"github.com/homing-go/homing/swebench/agent"
	"github.com/stretchr/testify/require"
)

// toy is a sandbox without processes, for tests with a fake clock: commands take a time.
type toy struct {
	takes time.Duration
	ran   atomic.Int64
}

func (s *toy) Run(ctx context.Context, cmd qwen.Command) (qwen.Output, error) {
	all := strings.Join(cmd.Args, " ")
	switch {
	case strings.Contains(all, "uname"):
		return qwen.Output{Stdout: []byte("0123456789abcdef0123456789abcdef01234567\nLinux\n6\nv\nx86_64\nbash\n")}, nil
	case strings.Contains(all, "command -v bash"):
		return qwen.Output{Stdout: []byte("/bin/bash\n0123456789abcdef0123456789abcdef01234567\n")}, nil
	case strings.Contains(all, "git add -N -A"):
		return qwen.Output{Stdout: []byte("diff of everything\n")}, nil
	}
	s.ran.Add(1)
	timer := time.NewTimer(s.takes)
	defer timer.Stop()
	select {
	case <-timer.C:
		return qwen.Output{Stdout: []byte("ran\n")}, nil
	case <-ctx.Done():
		return qwen.Output{Stdout: []byte("part\n"), ExitCode: -1}, ctx.Err()
	}
}

const bashAnswer = `{"choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[%s]}}],"usage":{"prompt_tokens":90,"completion_tokens":10,"total_tokens":100}}`

func answerOf(n int) string {
	one := `{"id":"c%d","type":"function","function":{"name":"bash","arguments":"{\"command\":\"true\"}"}}`
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(one, i)
	}
	return fmt.Sprintf(bashAnswer, strings.Join(list, ","))
}

// inBubble runs a trajectory with a fake clock against a model that takes a time for each
// answer of n calls.
func inBubble(t *testing.T, takes time.Duration, n int, box *toy, limits agent.Limits, check func(agent.Outcome, error, time.Duration, []agent.Step)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := memhttp.Serve(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			select {
			case <-time.After(takes):
			case <-req.Context().Done():
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(answerOf(n)))
		}))
		defer server.Close()
		client, err := model.New(model.Config{BaseURL: server.URL() + "/v1", Model: "m", HTTPClient: &http.Client{Transport: server.Transport()}})
		require.NoError(t, err)
		defer client.CloseIdleConnections()
		journal := new(agent.MemoryJournal)
		start := time.Now()
		outcome, err := agent.Run(t.Context(), agent.Config{Client: client, Sandbox: box, Journal: journal, Limits: limits}, agent.Task{InstanceID: "i", Problem: "p"})
		check(outcome, err, time.Since(start), journal.Steps())
	})
}

// The limit on time is looked at before each answer and between the calls of one answer, and
// interrupts neither: the calls that are left are said not to be run.
func TestWallLimit(t *testing.T) {
	t.Parallel()
	box := &toy{takes: 10 * time.Second}
	inBubble(t, 30*time.Second, 3, box, agent.Limits{Wall: 100 * time.Second}, func(outcome agent.Outcome, err error, took time.Duration, steps []agent.Step) {
		require.NoError(t, err)
		require.Equal(t, agent.TimeExceeded, outcome.ExitStatus)
		require.Equal(t, 2, outcome.Calls) // 30 + 3*10 = 60, 90 + 10 = 100, then no more
		require.Equal(t, 100*time.Second, took)
		require.EqualValues(t, 4, box.ran.Load())
		require.True(t, steps[len(steps)-2].Result.NotRun)
		require.Equal(t, "diff of everything\n", string(outcome.Unsubmitted))
		require.Empty(t, outcome.Submission)
	})
}

// A command is stopped at its own limit with what it printed, and the trajectory goes on;
// tokens are counted over prompts and answers.
func TestCommandAndTokenLimit(t *testing.T) {
	t.Parallel()
	box := &toy{takes: time.Hour}
	inBubble(t, time.Second, 1, box, agent.Limits{Tokens: 250}, func(outcome agent.Outcome, err error, took time.Duration, steps []agent.Step) {
		require.NoError(t, err)
		require.Equal(t, agent.LimitsExceeded, outcome.ExitStatus)
		require.Contains(t, outcome.Reason, "300 tokens, the limit is 250")
		require.Equal(t, 3*(time.Second+5*time.Minute), took)
		require.Equal(t, -1, steps[2].Result.ExitCode)
		require.Contains(t, steps[2].Result.Message, "stopped after 5m0s")
		require.Equal(t, "part\n", string(steps[2].Result.Output))
	})
}

// An answer with 100,000 calls is refused whole, and three of them end the trajectory.
func TestTooManyCalls(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{100_000: "has too many tool calls, and at most 100", 101: "has 101 tool calls, and at most 100"} {
		box := &toy{}
		inBubble(t, time.Second, n, box, agent.Limits{}, func(outcome agent.Outcome, err error, _ time.Duration, steps []agent.Step) {
			require.NoError(t, err)
			require.Equal(t, agent.RepeatedFormatError, outcome.ExitStatus, outcome.Reason)
			require.Equal(t, 3, outcome.Calls)
			require.Zero(t, box.ran.Load())
			require.Contains(t, steps[1].Answer.Fault, want)
		})
	}
}

// Hostile commands end in a result within their limits: output without end, a flood of
// children that ignore signals, waiting for input, and a repository that is taken away.
func TestHostileCommands(t *testing.T) {
	t.Parallel()
	need.Programs(t, "sh", "git", "yes")
	r := newRepo(t, "a.txt", "1\n")
	server := modeltest.NewServer(t, bash("yes"), bash("for i in 1 2 3 4 5 6 7 8; do (trap '' TERM HUP INT; sleep 62.5) & done; echo begun; wait"),
		bash("read x; echo \"got [$x]\""), bash(": "+strings.Repeat("x", 300_000)+"\necho long; exit 3"), bash("head -c 3000000 /dev/zero | tr '\\0' e"),
		bash("rm -rf .git a.txt"), bash("echo "+agent.Marker))
	cfg := r.config(server.URL())
	cfg.Limits = agent.Limits{Command: 3 * time.Second, Steps: 7}
	cfg.Sandbox = qwen.Local{Env: environment(), MaxOutput: 4 << 20}
	outcome := run(t, cfg, r.task())
	require.Equal(t, agent.LimitsExceeded, outcome.ExitStatus)
	requests := server.Requests()
	require.Contains(t, lastContent(t, requests[1]), "stopped after 3s")
	require.Less(t, len(lastContent(t, requests[1])), 12_000)
	require.Contains(t, lastContent(t, requests[2]), "begun")
	require.Contains(t, lastContent(t, requests[3]), "got []")
	require.Contains(t, lastContent(t, requests[4]), "<returncode>3</returncode>\n<output>\nlong\n</output>")
	all := steps(cfg)
	require.Less(t, len(all[10].Result.Output), 1<<20+100)
	require.Contains(t, string(all[10].Result.Output), "bytes left out")
	require.Contains(t, all[14].Result.Message, "not submitted: git diff failed", "there is no patch without a repository")
}

// With many trajectories at once each has a session, a sandbox and an environment of its
// own; the shared configuration is not changed.
func TestCase139_ManyAtOnce(t *testing.T) {
	t.Parallel()
	const n = 12
	server := modeltest.NewServerFunc(t, func(req modeltest.Recorded) modeltest.Step {
		if strings.Contains(string(req.Body), `"role":"tool"`) {
			return bash(handIn)
		}
		return bash(`cat id.txt; echo "$WHO" >> id.txt`)
	})
	template := agent.Default()
	template.Env = map[string]string{"WHO": "shared"}
	client := qwenClient(t, server.URL())
	repos := make([]*repo, n)
	for i := range repos {
		repos[i] = newRepo(t, "id.txt", fmt.Sprintf("repository %d\n", i))
	}
	var all sync.WaitGroup
	outcomes := make([]agent.Outcome, n)
	errs := make([]error, n)
	for i, r := range repos {
		all.Go(func() {
			outcomes[i], errs[i] = agent.Run(t.Context(), agent.Config{
				Client: client, Sandbox: qwen.Local{Env: environment()}, Template: template, Session: routing.NewSession(routing.Derive("x", fmt.Sprint(i))),
			}, agent.Task{InstanceID: fmt.Sprint(i), Problem: fmt.Sprintf("problem %d", i), Dir: r.dir})
		})
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
	sessions := map[string]int{}
	for _, req := range server.Requests() {
		sessions[req.Header.Get("X-Session-Id")]++
	}
	require.Len(t, sessions, n)
	for i, outcome := range outcomes {
		require.Equal(t, agent.Submitted, outcome.ExitStatus)
		require.Contains(t, string(outcome.Submission), fmt.Sprintf(" repository %d\n+shared\n", i))
		require.Equal(t, 2, sessions[string(outcome.Session.ID)])
	}
	require.Equal(t, map[string]string{"WHO": "shared"}, template.Env)
}

// What cannot work is refused before anything is sent.
func TestConfigErrors(t *testing.T) {
	t.Parallel()
	client, err := model.New(model.Config{BaseURL: "http://127.0.0.1:1/v1", Model: "m"})
	require.NoError(t, err)
	good := agent.Config{Client: client, Sandbox: &toy{}}
	task := agent.Task{InstanceID: "i", Problem: "p"}
	for want, change := range map[string]func(*agent.Config, *agent.Task){
		"Client":       func(c *agent.Config, _ *agent.Task) { c.Client = nil },
		"Sandbox":      func(c *agent.Config, _ *agent.Task) { c.Sandbox = nil },
		"Task.Problem": func(_ *agent.Config, t *agent.Task) { t.Problem = " \n" },
		"Task.Dir":     func(_ *agent.Config, t *agent.Task) { t.Dir = "relative" },
		"Template":     func(c *agent.Config, _ *agent.Task) { c.Template = agent.Template{Limits: agent.Limits{Steps: 3}} },
		"Session":      func(c *agent.Config, _ *agent.Task) { c.Session.ID = "with space" },
	} {
		cfg, task := good, task
		change(&cfg, &task)
		_, err := agent.Run(t.Context(), cfg, task)
		var config *agent.ConfigError
		require.ErrorAs(t, err, &config)
		require.Equal(t, want, config.Field)
	}
}
