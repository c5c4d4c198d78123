package agent_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/homing-go/homing/model/modeltest"
	"github.com/homing-go/homing/swebench/agent"
	"github.com/stretchr/testify/require"
)

// A configuration for models that write their commands as text runs the one command of an
// answer, with observations as user messages and without tools, and can be resumed.
func TestTextBased(t *testing.T) {
	t.Parallel()
	template, err := agent.Load("testdata/text.yaml")
	require.NoError(t, err)
	block := func(command string) string { return "I look.\n```mswea_bash_command\n" + command + "\n```\n" }
	r := newRepo(t, "a.txt", "1\n")
	server := modeltest.NewServer(t, modeltest.Reply("none"), modeltest.Reply(block("a")+block("b")),
		modeltest.Reply(block("echo 2 > a.txt\necho done")), modeltest.Reply(block(handIn)))
	cfg := r.config(server.URL())
	cfg.Template = template
	outcome := run(t, cfg, r.task())
	require.Equal(t, agent.Submitted, outcome.ExitStatus)
	require.Contains(t, string(outcome.Submission), "+2")
	requests := server.Requests()
	require.NotContains(t, string(requests[0].Body), `"tools"`)
	require.Equal(t, "Expected exactly 1 action, found 0. Found 0.", lastContent(t, requests[1]))
	require.Equal(t, "Expected exactly 1 action, found 2. Found 2.", lastContent(t, requests[2]))
	require.Equal(t, "code 0: done\n", lastContent(t, requests[3]))
	messages := sentMessages(t, requests[3])
	require.Equal(t, "user", messages[len(messages)-1]["role"])
	var file bytes.Buffer
	require.NoError(t, agent.WriteTrajectory(&file, steps(cfg)))
	require.Contains(t, file.String(), `echo 2 > a.txt\necho done`)

	past := steps(cfg)
	require.Len(t, past, 8)
	server = modeltest.NewServer(t, modeltest.Reply(block(handIn)))
	again := r.config(server.URL())
	again.Template = template
	outcome, err = agent.Replay(t.Context(), again, r.task(), past[:4])
	require.NoError(t, err)
	require.Equal(t, agent.Submitted, outcome.ExitStatus)
	require.True(t, strings.HasPrefix(lastContent(t, server.Requests()[0]), "code -1: "))
}
