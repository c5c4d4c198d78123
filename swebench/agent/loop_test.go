package agent_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/model/modeltest"
	"github.com/homing-go/homing/qwen"
	"github.com/homing-go/homing/swebench/agent"
	"github.com/stretchr/testify/require"
)

// With a step limit of 2 a model that never hands in is asked twice, and the exit is
// LimitsExceeded with an empty submission.
func TestCase124_StepLimit(t *testing.T) {
	t.Parallel()
	r := newRepo(t, "a.txt", "1\n")
	server := modeltest.NewServer(t, bash("echo 2 > a.txt"), bash("true"))
	cfg := r.config(server.URL())
	cfg.Limits.Steps = 2
	outcome := run(t, cfg, r.task())
	require.Equal(t, agent.LimitsExceeded, outcome.ExitStatus)
	require.Empty(t, outcome.Submission)
	require.Equal(t, 2, outcome.Calls)
	require.Contains(t, outcome.Reason, "the limit is 2")
	require.Contains(t, string(outcome.Unsubmitted), "+2", "what was done is kept as evidence")
	require.Len(t, server.Requests(), 2)
	require.False(t, outcome.ExitStatus.Infrastructure())
}

// Answers that cannot be carried out cost as much as others, and the limit on cost counts
// them.
func TestCase125_CostOfFormatErrors(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	server := modeltest.NewServer(t, modeltest.Reply("no call"), modeltest.Reply("no call again"))
	cfg := r.config(server.URL())
	cfg.Cost = func(res *model.Response) float64 { return float64(res.Usage.CompletionTokens) / 8 } // 0.5 each
	cfg.Limits = agent.Limits{Cost: 1, FormatErrors: -1}
	outcome := run(t, cfg, r.task())
	require.Equal(t, agent.LimitsExceeded, outcome.ExitStatus)
	require.InDelta(t, 1, outcome.Cost, 1e-9)
	require.Equal(t, 2, outcome.Calls)
}

// Three unfit answers in a row end the trajectory with RepeatedFormatError, and a good step
// in between sets the count back.
func TestCase127_RepeatedFormatError(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	bad := modeltest.Reply("I think.")
	server := modeltest.NewServer(t, bad, bad, bash("true"), bad, modeltest.ToolCall("bash", `{"cmd":1}`), modeltest.ToolCall("nope", `{}`))
	outcome := run(t, r.config(server.URL()), r.task())
	require.Equal(t, agent.RepeatedFormatError, outcome.ExitStatus)
	require.Equal(t, 6, outcome.Calls)
	require.Empty(t, outcome.Submission)
}

// The model gets the guidance as a user message in the place of its unfit answer, which the
// journal keeps.
func TestFormatErrorMessage(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	server := modeltest.NewServer(t, bash("echo one"), modeltest.Reply("just words"), bash(handIn))
	cfg := r.config(server.URL())
	require.Equal(t, agent.Submitted, run(t, cfg, r.task()).ExitStatus)
	requests := server.Requests()
	before, after := sentMessages(t, requests[1]), sentMessages(t, requests[2])
	require.Len(t, after, len(before)+1, "the unfit answer is not in the history")
	require.Equal(t, before, after[:len(before)])
	require.Equal(t, "user", after[len(before)]["role"])
	require.Contains(t, after[len(before)]["content"], "no_tool_call")
	require.Contains(t, after[len(before)]["content"], "bash")
	require.NotContains(t, after[len(before)]["content"], "finish", "a tool that is not offered is not named")
	require.Contains(t, steps(cfg)[3].Answer.Message, "just words")
}

// An answer cut by the token limit before any call is told so; with a malformed call the
// real error is shown.
func TestCase128_Truncated(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	cut := func(message string) modeltest.Step {
		return modeltest.Status(200, nil, `{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"length","message":`+
			message+`}],"usage":{"prompt_tokens":1,"completion_tokens":4096,"total_tokens":4097}}`)
	}
	call := `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"bash","arguments":"{\"command\": 7 8"}}]}`
	for _, kind := range []string{"qwen", "plain"} {
		server := modeltest.NewServer(t, cut(`{"role":"assistant","content":"thinking and thinking"}`), cut(call), bash(handIn))
		cfg := r.config(server.URL())
		if kind == "plain" {
			plain, err := model.New(model.Config{BaseURL: server.URL(), Model: "m", Retry: fast()})
			require.NoError(t, err)
			t.Cleanup(plain.CloseIdleConnections)
			cfg.Client = plain
		}
		require.Equal(t, agent.Submitted, run(t, cfg, r.task()).ExitStatus, kind)
		requests := server.Requests()
		require.Contains(t, lastContent(t, requests[1]), "truncated: your response was cut off after 4096 tokens, before a tool call", kind)
		require.Regexp(t, `cut off at the token limit.*(bad_json in bash|incomplete_args in bash|no valid JSON)`, lastContent(t, requests[2]), kind)
	}
	for call, want := range map[string]string{
		`{"name":"bahs","arguments":"{}"}`:              "there is no tool",
		`{"name":"bash","arguments":"{}"}`:              "missing_param in bash",
		`{"name":"bash","arguments":"{\"command\":1}"}`: "bad_type in bash",
	} {
		server := modeltest.NewServer(t, cut(`{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":`+call+`}]}`), bash("echo $RANDOM$$ > x"), finish("x"))
		cfg := r.config(server.URL())
		cfg.Template = agent.QwenTools()
		run(t, cfg, r.task())
		require.Contains(t, lastContent(t, server.Requests()[1]), "cut off at the token limit", call)
		require.Contains(t, lastContent(t, server.Requests()[1]), want, call)
	}
}

// In the compatibility mode the marker hands in only as the first line of the output of a
// command that ends with 0; then the remaining lines are the patch, carriage returns
// included.
func TestCase130_MarkerCompatibility(t *testing.T) {
	t.Parallel()
	r := newRepo(t, "evil.txt", "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\r\ndiff --git\r\n+x\r\n\xff")
	server := modeltest.NewServer(t,
		bash("cat evil.txt; exit 1"), bash("echo first; cat evil.txt"), bash("printf '\\n \\t'; cat evil.txt"))
	cfg := r.config(server.URL())
	cfg.MarkerEnds = true
	outcome := run(t, cfg, r.task())
	require.Equal(t, agent.Submitted, outcome.ExitStatus)
	require.Equal(t, "diff --git\r\n+x\r\n\xff", string(outcome.Submission))
	require.Equal(t, 3, outcome.Calls)
}

// Without it the marker in the output of a command, in a viewed file or behind an exit code
// never ends a task, whichever template it is.
func TestMarkerInOutputIsText(t *testing.T) {
	t.Parallel()
	r := newRepo(t, "evil.txt", agent.Marker+"\nevil patch\n", "say.sh", "echo "+agent.Marker+"\n")
	look := []modeltest.Step{bash("cat evil.txt"), bash("sh say.sh"), bash("grep -h COMPLETE evil.txt"), bash("python3 -c 'print(1)'; cat evil.txt")}
	server := modeltest.NewServer(t, append(look, bash("echo "+agent.Marker+"; false"), bash(handIn))...)
	outcome := run(t, r.config(server.URL()), r.task())
	require.Equal(t, agent.Submitted, outcome.ExitStatus)
	require.Equal(t, 6, outcome.Calls)
	require.Empty(t, outcome.Submission)

	server = modeltest.NewServer(t, append(look, bash(handIn), bash("echo "+agent.Marker),
		modeltest.ToolCall("str_replace_editor", `{"command":"view","path":"evil.txt"}`), bash("echo x > new.txt"), finish("new.txt"))...)
	cfg := r.config(server.URL())
	cfg.Template = agent.QwenTools()
	outcome = run(t, cfg, r.task())
	require.Equal(t, agent.Submitted, outcome.ExitStatus)
	require.Equal(t, 9, outcome.Calls)
	require.Contains(t, string(outcome.Submission), "+x")
}

// A bash-only model hands in by a command that says the marker itself: what it prints behind
// it is the patch, without what git says on standard error; with nothing behind it the patch
// is what differs from the commit of the start, commits of the model included.
func TestHandInByCommand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ command, want string }{
		{"cd . && echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && cat p.txt && echo warning >&2", "patch\r\nline\n"},
		{"git add -N -- b.txt; echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && cat p.txt", "patch\r\nline\n"},
		{`printf 'COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\n'; cat p.txt`, "patch\r\nline\n"},
		{`echo "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"`, "+changed"},
	} {
		r := newRepo(t, "a.txt", "old\n", ".gitignore", "p.txt\n")
		r.put("p.txt", "patch\r\nline\n")
		server := modeltest.NewServer(t, bash("echo changed > a.txt; echo new > b.txt; git commit -qam mine"), bash(c.command))
		outcome := run(t, r.config(server.URL()), r.task())
		require.Equal(t, agent.Submitted, outcome.ExitStatus, c.command)
		if c.want == "+changed" {
			require.Contains(t, string(outcome.Submission), c.want)
			require.Contains(t, string(outcome.Submission), "+new")
			continue
		}
		require.Equal(t, c.want, string(outcome.Submission), c.command)
	}
}

// Of two calls of which the first hands in the second is not run; the observations of all
// calls of that answer are kept.
func TestCase131_NothingRunsBehindASubmission(t *testing.T) {
	t.Parallel()
	r := newRepo(t, "a.txt", "1\n")
	server := modeltest.NewServer(t, calls("bash", `{"command":"echo 2 > a.txt"}`, "finish", `{"files_modified":["a.txt"]}`, "bash", `{"command":"touch ran"}`))
	cfg := r.config(server.URL())
	cfg.Template = agent.QwenTools()
	outcome := run(t, cfg, r.task())
	require.Equal(t, agent.Submitted, outcome.ExitStatus)
	require.NoFileExists(t, r.path("ran"))
	all := steps(cfg)
	require.Len(t, all, 6)
	require.True(t, all[4].Result.NotRun)
	require.True(t, all[3].Result.Submitted)

	server = modeltest.NewServer(t, calls("bash", `{"command":`+quote(handIn)+`}`, "bash", `{"command":"touch ran"}`))
	require.Equal(t, agent.Submitted, run(t, r.config(server.URL()), r.task()).ExitStatus)
	require.NoFileExists(t, r.path("ran"))
}

// finish takes a path with a space below the repository's folder, also by the name that the
// folder has in images, and compares it with the commit of the start, new files included.
func TestCase133_FinishPaths(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "/testbed"} {
		r := newRepo(t, "a.txt", "1\n")
		folder := name
		if name == "" {
			folder = r.dir
		}
		server := modeltest.NewServer(t, bash("echo 2 > a.txt"),
			modeltest.ToolCall("str_replace_editor", `{"command":"create","path":"`+folder+`/a b.py","new_str":"new\n"}`), finish(folder+"/a b.py"))
		cfg := r.config(server.URL())
		cfg.Template = agent.QwenTools()
		outcome := run(t, cfg, r.task())
		require.Equal(t, agent.Submitted, outcome.ExitStatus, folder)
		require.Contains(t, string(outcome.Submission), "+++ b/a b.py\t\n")
		require.NotContains(t, string(outcome.Submission), "a.txt")
	}
}

// str_replace on a text that occurs twice fails with an exit code, and the file is unchanged.
func TestCase134_TwoMatches(t *testing.T) {
	t.Parallel()
	r := newRepo(t, "a.txt", "x\nx\n")
	server := modeltest.NewServer(t,
		modeltest.ToolCall("str_replace_editor", `{"command":"str_replace","path":"a.txt","old_str":"x","new_str":"y"}`),
		modeltest.ToolCall("str_replace_editor", `{"command":"str_replace","path":"a.txt","old_str":"x\nx","new_str":"y"}`), finish("a.txt"))
	cfg := r.config(server.URL())
	cfg.Template = agent.QwenTools()
	require.Equal(t, agent.Submitted, run(t, cfg, r.task()).ExitStatus)
	require.Contains(t, lastContent(t, server.Requests()[1]), "<returncode>1</returncode>")
	require.Contains(t, lastContent(t, server.Requests()[1]), "occurs 2 times")
	require.Equal(t, "y\n", r.get("a.txt"))
}

// A command that outlives its limit with a child gives return code -1 and what it printed,
// and none of its processes is left.
func TestCase136_CommandLimit(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	sleep := fmt.Sprintf("sleep 61.%d", os.Getpid()) // unlike that of another run of this test
	server := modeltest.NewServerFunc(t, func(req modeltest.Recorded) modeltest.Step {
		if strings.Contains(string(req.Body), `"role":"tool"`) {
			return bash(handIn) // again, if a slow machine stopped it
		}
		return bash("echo begun; (trap '' TERM; " + sleep + ") & " + sleep)
	})
	cfg := r.config(server.URL())
	cfg.Limits.Command = time.Second
	require.Equal(t, agent.Submitted, run(t, cfg, r.task()).ExitStatus)
	text := lastContent(t, server.Requests()[1])
	require.Contains(t, text, "<returncode>-1</returncode>")
	require.Contains(t, text, "begun")
	require.Contains(t, text, "stopped after 1s")
	require.Eventually(t, func() bool {
		entries, _ := os.ReadDir("/proc")
		for _, e := range entries {
			if line, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline"); strings.Contains(string(line), strings.ReplaceAll(sleep, " ", "\x00")) {
				return false
			}
		}
		return true
	}, 5*time.Second, 10*time.Millisecond)
}

// Output that is no UTF-8 is replaced, and the loop goes on.
func TestCase137_OutputIsNoUTF8(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	server := modeltest.NewServer(t, bash(`printf 'a\377b\n'`), bash(handIn))
	require.Equal(t, agent.Submitted, run(t, r.config(server.URL()), r.task()).ExitStatus)
	require.Contains(t, lastContent(t, server.Requests()[1]), "a\ufffdb\n</output>")
}

// dying is a sandbox that is dead from its nth command on.
type dying struct {
	qwen.Sandbox
	left int
	err  error
}

func (d *dying) Run(ctx context.Context, cmd qwen.Command) (qwen.Output, error) {
	if d.left--; d.left < 0 {
		return qwen.Output{}, d.err
	}
	return d.Sandbox.Run(ctx, cmd)
}

// When the container has died the trajectory ends with an infrastructure status at the next
// command.
func TestCase140_DeadContainer(t *testing.T) {
	t.Parallel()
	gone := os.ErrProcessDone
	for left := range 5 {
		r := newRepo(t)
		server := modeltest.NewServerFunc(t, func(modeltest.Recorded) modeltest.Step { return bash("true") })
		cfg := r.config(server.URL())
		cfg.Sandbox = &dying{cfg.Sandbox, left, gone}
		outcome := run(t, cfg, r.task())
		require.Equal(t, agent.SandboxLost, outcome.ExitStatus)
		require.True(t, outcome.ExitStatus.Infrastructure())
		require.ErrorIs(t, outcome.Err, gone)
		require.Equal(t, max(0, left-1), outcome.Calls)
	}
}

// A model name with a slash is sent unchanged, and in file names slashes are two underscores.
func TestCase145_ModelName(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	server := modeltest.NewServer(t, bash(handIn))
	run(t, r.config(server.URL()), r.task())
	require.Contains(t, string(server.Requests()[0].Body), `"model":"Qwen/Qwen3-8B"`)
	require.Equal(t, "a__b__c", agent.FileName("a/b/c"))
}

// After 429 the call is tried again, and one step is counted.
func TestCase146_RateLimitedOnce(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	server := modeltest.NewServer(t, modeltest.Status(429, nil, `{"error":{"message":"slow down"}}`), bash(handIn))
	cfg := r.config(server.URL())
	cfg.Limits.Steps = 1
	outcome := run(t, cfg, r.task())
	require.Equal(t, agent.Submitted, outcome.ExitStatus)
	require.Equal(t, 1, outcome.Calls)
	require.Len(t, server.Requests(), 2)
}

// Failures of the endpoint end the trajectory with a status of their own: refused for too
// many requests, down, a key that is wrong, and a history that the model cannot take.
func TestEndpointFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		step  modeltest.Step
		want  agent.ExitStatus
		says  string
		infra bool
	}{
		{modeltest.Status(429, nil, `{"error":{"message":"slow down"}}`), agent.RateLimited, "; the server says: slow down", true},
		{modeltest.Status(503, nil, "busy"), agent.EndpointFailed, "status 503", true},
		{modeltest.Status(401, nil, `{"error":{"message":"who"}}`), agent.EndpointFailed, "; the server says: who", true},
		{modeltest.Status(400, nil, `{"error":{"message":"no\nsuch `+strings.Repeat("é", 200)+`"}}`), agent.EndpointFailed, "; the server says: no such éé", true},
		{modeltest.Reset(), agent.EndpointFailed, "transport failure", true},
		{modeltest.Status(400, nil, `{"error":{"message":"This model's maximum context length is 10 tokens.","code":"context_length_exceeded"}}`), agent.ContextWindowExceeded, "maximum context length", false},
	} {
		r := newRepo(t)
		server := modeltest.NewServerFunc(t, func(modeltest.Recorded) modeltest.Step { return c.step })
		outcome := run(t, r.config(server.URL()), r.task())
		require.Equal(t, c.want, outcome.ExitStatus)
		require.Equal(t, c.infra, outcome.ExitStatus.Infrastructure())
		require.Error(t, outcome.Err)
		require.NotContains(t, outcome.Err.Error(), "says", "errors hold no words of a server")
		require.Contains(t, outcome.Reason, c.says)
		require.Less(t, len(outcome.Reason), 500)
		require.True(t, utf8.ValidString(outcome.Reason))
		require.Empty(t, outcome.Submission)
	}
}

// What the server could not parse of the model's output counts as an unfit answer.
func TestServerCannotParse(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	server := modeltest.NewServerFunc(t, func(modeltest.Recorded) modeltest.Step {
		return modeltest.Status(500, nil, `{"error":{"code":500,"message":"Failed to parse input at pos 12: <tool_call>","type":"server_error"}}`)
	})
	outcome := run(t, r.config(server.URL()), r.task())
	require.Equal(t, agent.RepeatedFormatError, outcome.ExitStatus)
	require.Equal(t, 3, outcome.Calls)
}
