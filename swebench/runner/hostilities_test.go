package runner_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/homing-go/homing/routing/routingtest"
	"github.com/homing-go/homing/swebench/agent"
	"github.com/homing-go/homing/swebench/runner"
	"github.com/homing-go/homing/swebench/runner/runnertest"
	"github.com/stretchr/testify/require"
)

// A hostility is what a hostile model does, and the exit status with which that ends.
type hostility struct {
	name   string
	answer func(task runnertest.Task, turn int) routingtest.Answer
	ends   agent.ExitStatus
	// endsIn is the status in some kinds of sandbox, where it is another one.
	endsIn map[string]agent.ExitStatus
	// isolated keeps it from a sandbox that is the machine itself; words are for one kind of
	// sandbox alone, since all that is hostile in them is what the model says.
	isolated  bool
	words     bool
	command   time.Duration // limit of one command, if not the usual one
	fileBytes int64
	change    func(*runner.Config)
	check     func(t *testing.T, o aftermath)
}

// A move is one answer for a task.
type move func(runnertest.Task) routingtest.Answer

// script makes the moves one after the other, and the last one for ever.
func script(moves ...move) func(runnertest.Task, int) routingtest.Answer {
	return func(task runnertest.Task, turn int) routingtest.Answer { return moves[min(turn, len(moves)-1)](task) }
}

func call(name string, arguments map[string]any) move {
	text, _ := json.Marshal(arguments)
	return raw(routingtest.Answer{ToolCalls: []routingtest.ToolCall{{ID: "call", Name: name, Arguments: string(text)}}})
}

func raw(a routingtest.Answer) move { return func(runnertest.Task) routingtest.Answer { return a } }

func bash(command string) move { return call("bash", map[string]any{"command": command}) }

func view(path string) move {
	return call("str_replace_editor", map[string]any{"command": "view", "path": path})
}

func finishWith(files ...string) move {
	return call("finish", map[string]any{"files_modified": files})
}

func fix(task runnertest.Task) routingtest.Answer {
	return call("str_replace_editor", map[string]any{"command": "str_replace", "path": "lib.sh", "old_str": task.Old, "new_str": task.New})(task)
}

func finish(task runnertest.Task) routingtest.Answer { return finishWith("lib.sh")(task) }

const (
	// brief is the limit of a command where one runs into it. What others run at the same time
	// must end within it, however busy the machine is.
	brief = 10 * time.Second
	// note writes a file that has the marker, and something like a patch behind it. It does not
	// say the marker itself.
	note    = "printf 'COMPLETE_TASK_%s\\nstolen\\n' AND_SUBMIT_FINAL_OUTPUT > note; cat note"
	hold    = "trap '' TERM HUP INT QUIT; while :; do sleep 30; done"
	flooded = `yes ` + "0123456789012345678901234567890123456789012345678901234567890123456789012345678" + ` | head -c 200000000 > big.txt; ls -l big.txt`
)

// solved checks that the patch is that of the right edit and no more.
func solved(t *testing.T, o aftermath) {
	t.Helper()
	require.Contains(t, o.patch(), "+add() { echo $(($1 + $2)); }")
	require.Equal(t, 1, strings.Count(o.patch(), "diff --git"))
	require.Contains(t, o.Report.ResolvedIDs, o.hostile)
}

func empty(t *testing.T, o aftermath) {
	t.Helper()
	require.Empty(t, o.patch())
	require.Contains(t, o.Report.EmptyPatchIDs, o.hostile)
}

func plain(c *runner.Config) { c.Template = agent.Default() }

var hostilities = []hostility{
	{name: "marker", answer: script(bash(note), view("note"), bash("echo "+agent.Marker), fix, finish), ends: agent.Submitted, check: func(t *testing.T, o aftermath) {
		require.Equal(t, 5, o.asked)
		solved(t, o)
	}},
	{name: "marker of a file", words: true, change: plain, answer: script(bash(note), bash("cat note"), bash("echo "+agent.Marker+" && git diff")), ends: agent.Submitted, check: func(t *testing.T, o aftermath) {
		require.Equal(t, 3, o.asked)
		require.NotContains(t, o.patch(), "\nstolen")
	}},
	{name: "marker that ends", words: true, change: func(c *runner.Config) { plain(c); c.MarkerEnds = true }, answer: script(bash(note), bash("cat note")), ends: agent.Submitted, check: func(t *testing.T, o aftermath) {
		require.Equal(t, 1, o.asked)
		require.Equal(t, "stolen\n", o.patch())
	}},
	{name: "patch of no text", words: true, change: plain, answer: script(bash("echo " + agent.Marker + "; printf '\\377\\376\\000 a\\n'")), ends: agent.LimitsExceeded, check: func(t *testing.T, o aftermath) {
		require.Empty(t, o.patch())
		require.True(t, o.told("which no prediction can hold"))
	}},
	{name: "deletes everything", answer: script(bash("rm -rf ./.git ./* && ls -A"), finish), ends: agent.LimitsExceeded, check: empty},
	{name: "deletes the history", answer: script(fix, bash("rm -rf ./.git"), finish), ends: agent.LimitsExceeded, check: empty},
	{name: "breaks the history", answer: script(fix, bash(": > .git/HEAD; for f in .git/objects/??/*; do rm -f $f; : > $f; done"), finish), ends: agent.LimitsExceeded, check: empty},
	{name: "commits and rewrites", answer: script(fix, bash("git -c user.name=a -c user.email=a@b commit -qam x; git checkout -q --orphan y; git gc -q --prune=now"), finish), ends: agent.Submitted, check: solved},
	{name: "deletes its folder", answer: script(fix, bash(`rm -rf "$PWD"`), view("lib.sh"), bash("pwd"), finish), ends: agent.LimitsExceeded, check: empty},
	{name: "prints without end", answer: script(bash("yes & yes >&2"), fix, finish), ends: agent.Submitted, check: solved},
	{
		name: "children that stay", command: brief, answer: script(bash("for i in 1 2 3; do ("+hold+") & done; echo begun"), bash("setsid sh -c \""+hold+"\" & env -i setsid sh -c \""+hold+"\" $HOSTILE & wait"), fix, finish),
		ends: agent.Submitted, check: func(t *testing.T, o aftermath) {
			solved(t, o)
			require.True(t, o.told("stopped after"))
		},
	},
	{name: "waits for input", command: brief, answer: script(bash("cat; read x; cat </dev/tty; python3 -i; git commit; git rebase -i HEAD; echo over"),
		bash("GIT_EDITOR='sh -c \""+hold+"\"' git commit --allow-empty"), fix, finish), ends: agent.Submitted, check: func(t *testing.T, o aftermath) {
		solved(t, o)
		require.True(t, o.told("over"))
	}},
	{name: "100,000 calls", words: true, answer: script(func(task runnertest.Task) routingtest.Answer {
		calls := make([]routingtest.ToolCall, 100_000)
		for i := range calls {
			calls[i] = bash("echo x >> lib.sh")(task).ToolCalls[0]
		}
		return routingtest.Answer{ToolCalls: calls}
	}), ends: agent.RepeatedFormatError, check: func(t *testing.T, o aftermath) {
		empty(t, o)
		require.Equal(t, 3, o.asked)
		require.True(t, o.told("too many tool calls, and at most 100"))
	}},
	{name: "nothing", words: true, answer: script(raw(routingtest.Answer{})), ends: agent.RepeatedFormatError, check: empty},
	{name: "null", words: true, answer: script(raw(routingtest.Answer{Message: []byte(`{"role":"assistant","content":null,"tool_calls":null}`)})), ends: agent.RepeatedFormatError, check: empty},
	{name: "malformed calls", words: true, answer: script(raw(routingtest.Answer{ToolCalls: []routingtest.ToolCall{{ID: "a", Name: "bash", Arguments: `{"command": "rm -rf .`}}})), ends: agent.RepeatedFormatError, check: empty},
	{name: "malformed calls now and then", words: true, answer: func(task runnertest.Task, turn int) routingtest.Answer {
		if turn%3 == 2 {
			return bash("true")(task)
		}
		return routingtest.Answer{ToolCalls: []routingtest.ToolCall{{ID: "a", Name: "rm\x00", Arguments: `[]`}}}
	}, ends: agent.LimitsExceeded, check: empty},
	{name: "patch of 200 MB", answer: script(fix, bash(flooded), finishWith("lib.sh", "big.txt"), finish), ends: agent.Submitted, check: func(t *testing.T, o aftermath) {
		solved(t, o)
		require.True(t, o.told("not submitted: the patch is longer than"))
	}},
	{name: "patch of 200 MB printed", change: plain, answer: script(bash(flooded), bash("echo "+agent.Marker+"; cat big.txt"), bash("git add -A; echo "+agent.Marker), bash("rm -f big.txt")), ends: agent.LimitsExceeded, check: empty},
	{name: "content of 50 MB", words: true, answer: script(func(task runnertest.Task) routingtest.Answer {
		a := fix(task)
		a.Text = strings.Repeat("waffle ", 50_000_000/7)
		return a
	}, finish), ends: agent.Submitted, check: solved},

	{name: "full disk", isolated: true, fileBytes: 1 << 20, answer: script(bash("for i in 1 2 3 4 5 6 7 8; do dd if=/dev/zero of=big$i bs=1M count=4; done; ls -l"), fix, finish), ends: agent.Submitted, check: solved},
	{name: "kills the first process", isolated: true, answer: script(bash("kill -9 1; kill -TERM 1; echo still"), bash("kill -9 -1"), bash("for p in /proc/[0-9]*; do kill -9 ${p#/proc/}; done"), fix, finish), ends: agent.Submitted, check: solved},
	{
		name: "no shell", isolated: true, answer: script(bash("rm -f /bin/sh /usr/bin/sh; ln -s /bin/false /bin/sh"), fix, finish), ends: agent.SandboxLost,
		endsIn: map[string]agent.ExitStatus{"bwrap": agent.Submitted},
	},
	{name: "git that never ends", isolated: true, command: brief, answer: script(fix, bash("printf '#!/bin/sh\\nwhile :; do sleep 1; done\\n' > /usr/local/bin/git; chmod +x /usr/local/bin/git"), finish, bash("rm /usr/local/bin/git"), finish), ends: agent.Submitted, check: func(t *testing.T, o aftermath) {
		solved(t, o)
		require.Equal(t, o.ground.name != "bwrap", o.told("stopped after"))
	}},
	{name: "git that lies", isolated: true, answer: script(bash("printf '#!/bin/sh\\necho lies\\n' > /usr/local/bin/git; chmod +x /usr/local/bin/git"), fix, finish), ends: agent.Submitted, check: func(t *testing.T, o aftermath) {
		if o.ground.name != "bwrap" {
			require.Equal(t, "lies\n", o.patch())
			require.NotContains(t, o.Report.ResolvedIDs, o.hostile)
		}
	}},
}
