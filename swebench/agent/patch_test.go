package agent_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/homing-go/homing/internal/memhttp"
	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/model/modeltest"
	"github.com/homing-go/homing/qwen"
	"github.com/homing-go/homing/swebench/agent"
	"github.com/stretchr/testify/require"
)

// work changes a repository in every way that a patch has to carry.
const work = `set -e
printf 'one\r\nTWO\r\nthree\r\n' > crlf.txt
printf 'mixed\r\nnew\n' > mixed.txt
printf '\000\001\377new' > binary.bin
printf 'caf\351\nna\357ve\n' > latin1.txt
git mv old-name.txt new-name.txt
printf 'more\n' >> new-name.txt
git rm -q deleted.txt
rm gone.txt
chmod +x script.sh
printf 'sp\n' > 'space and "quote".txt'
printf 'tick\n' > "it's.txt"
printf 'no newline' > bare.txt
mkdir -p deep/er && printf 'deep\n' > deep/er/x
ln -s crlf.txt link
: > empty.txt
printf 'gr\303\266\303\237e\n' > 'größe.txt'
printf 'bytes\n' > "$(printf 'name\377.txt')"
git config diff.noprefix true; git config color.ui always; git config core.autocrlf false; git config diff.renames copies
git add -A; git commit -qm 'the model commits'
printf 'after\n' > after.txt
`

func startingFiles() []string {
	return []string{
		"crlf.txt", "one\r\ntwo\r\nthree\r\n", "mixed.txt", "mixed\r\nold\n", "binary.bin", "\x00\x01\xffold",
		"latin1.txt", "caf\xe9\n", "old-name.txt", "a\nb\nc\nd\n", "deleted.txt", "x\n", "gone.txt", "y\n", "script.sh", "#!/bin/sh\n",
		"bare.txt", "bare", "space and \"quote\".txt", "old\n",
	}
}

// The patch of a submission gives, applied to the commit of the start, the same files to the
// byte: line ends, binary files, renamed, deleted and new ones, modes, links, names with
// spaces, quotes and bytes that are no UTF-8. It is UTF-8 itself, for JSON.
func TestPatchAppliesByteForByte(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		template agent.Template
		last     func(r *repo) modeltest.Step
	}{
		"finish": {agent.QwenTools(), func(*repo) modeltest.Step {
			return finish("crlf.txt", "mixed.txt", "binary.bin", "latin1.txt", "old-name.txt", "new-name.txt", "deleted.txt", "gone.txt", "script.sh",
				`space and "quote".txt`, "it's.txt", "bare.txt", "deep", "link", "empty.txt", "größe.txt", "after.txt", "names")
		}},
		"command": {agent.Default(), func(*repo) modeltest.Step { return bash("echo " + agent.Marker) }},
	} {
		r := newRepo(t, startingFiles()...)
		shell(t, r.dir, "git clone -q . ../fresh")
		script := work
		if name == "finish" { // a tool call is JSON and cannot name such a file, but its folder
			script += "mkdir names; mv name*.txt names/"
		}
		server := modeltest.NewServer(t, bash(script), c.last(r))
		cfg := r.config(server.URL())
		cfg.Template = c.template
		outcome := run(t, cfg, r.task())
		require.Equal(t, agent.Submitted, outcome.ExitStatus, name)
		require.True(t, utf8.Valid(outcome.Submission), name)
		fresh := filepath.Join(filepath.Dir(r.dir), "fresh")
		require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(r.dir), "patch"), outcome.Submission, 0o600))
		shell(t, fresh, "git apply --whitespace=nowarn ../patch")
		shell(t, fresh, "diff -r --no-dereference --exclude=.git . ../testbed && test -x script.sh && test -L link")
		require.Contains(t, string(outcome.Submission), "-two\r\n+TWO\r\n", "text stays text")
		require.NotContains(t, string(outcome.Submission), "\x1b")
		require.NoFileExists(t, r.path(".git/info/attributes.lock"))
		require.NotContains(t, shell(t, r.dir, "cat .git/info/attributes 2>/dev/null || true"), "-diff", "the repository's settings are as they were")
	}
}

// A patch that a command prints with bytes that are no UTF-8 is made again so that it is text
// and gives the same bytes. Where that cannot be, the model is told, and nothing is submitted.
func TestPrintedPatchIsText(t *testing.T) {
	t.Parallel()
	const say = "echo " + agent.Marker + " && "
	for _, ends := range []bool{false, true} {
		r := newRepo(t, "latin1.txt", "caf\xe9\n", "a b.txt", "1\n", "gone\xff.txt", "x\n", "other.txt", "1\n")
		shell(t, r.dir, "git clone -q . ../fresh")
		steps := []modeltest.Step{
			bash("printf 'th\\351\\n' > latin1.txt; echo 2 > 'a b.txt'; rm gone*; printf '\\377\\n' > new.txt; git add -A; echo 2 > other.txt"),
		}
		if !ends { // with the compatibility on, whatever is printed is taken
			steps = append(steps, bash(say+"printf 'Binary \\377\\n'"),
				bash(say+"printf -- '--- a/same.txt\\n+++ b/same.txt\\n@@ -1 +1 @@\\n-\\377\\n+x\\n'"))
		}
		server := modeltest.NewServer(t, append(steps, bash(say+"git diff --cached"))...)
		cfg := r.config(server.URL())
		cfg.MarkerEnds = ends
		outcome := run(t, cfg, r.task())
		require.Equal(t, agent.Submitted, outcome.ExitStatus)
		require.True(t, utf8.Valid(outcome.Submission))
		if !ends {
			require.Contains(t, lastContent(t, server.Requests()[2]), "no UTF-8, which no prediction can hold")
			require.Contains(t, lastContent(t, server.Requests()[3]), "the files that it names do not differ")
		}
		require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(r.dir), "patch"), outcome.Submission, 0o600))
		shell(t, filepath.Join(filepath.Dir(r.dir), "fresh"), "git apply --whitespace=nowarn ../patch && diff -r --no-dereference --exclude=.git --exclude=other.txt . ../testbed && grep 1 other.txt")
	}
}

// A patch that is longer than the limit is not taken, however it is handed in: the model is
// told, and the next one counts.
func TestPatchLimit(t *testing.T) {
	t.Parallel()
	const big = "head -c 5000 /dev/zero | tr '\\0' x > big.txt; echo >> big.txt; echo 2 > a.txt"
	for name, c := range map[string]struct {
		template    agent.Template
		markerEnds  bool
		large, fine modeltest.Step
	}{
		"finish":  {agent.QwenTools(), false, finish("a.txt", "big.txt"), finish("a.txt")},
		"command": {agent.Default(), false, bash("echo " + agent.Marker), bash(handIn + " -- a.txt")},
		"printed": {agent.Default(), false, bash("echo " + agent.Marker + "; cat big.txt"), bash(handIn + " -- a.txt")},
		"marker":  {agent.Default(), true, bash("echo " + agent.Marker + "; cat big.txt"), bash(handIn + " -- a.txt")},
	} {
		r := newRepo(t, "a.txt", "1\n")
		server := modeltest.NewServer(t, bash(big), c.large, c.fine)
		cfg := r.config(server.URL())
		cfg.Template, cfg.MarkerEnds, cfg.Limits = c.template, c.markerEnds, agent.Limits{Patch: 4000}
		outcome := run(t, cfg, r.task())
		require.Equal(t, agent.Submitted, outcome.ExitStatus, name)
		require.Len(t, server.Requests(), 3, name)
		require.Contains(t, lastContent(t, server.Requests()[2]), "bytes, and at most 4000 are taken", name)
		require.Contains(t, string(outcome.Submission), "+2\n", name)
		require.NotContains(t, string(outcome.Submission), "xxx", name)
	}
}

// oddities is a sandbox whose repository differs in very many files that are no UTF-8.
type oddities struct{ toy }

func (s *oddities) Run(ctx context.Context, cmd qwen.Command) (qwen.Output, error) {
	switch all := strings.Join(cmd.Args, " "); {
	case strings.Contains(all, "git add -N -A"):
		return qwen.Output{Stdout: []byte("\xff")}, nil
	case strings.Contains(all, "--name-only"):
		return qwen.Output{Stdout: []byte(strings.Repeat("name\x00", 100_000))}, nil
	case strings.Contains(all, "info/attributes"):
		return s.toy.Run(ctx, cmd)
	case strings.Contains(all, agent.Marker):
		return qwen.Output{Stdout: []byte(agent.Marker + "\n")}, nil
	}
	return s.toy.Run(ctx, cmd)
}

// However many files have to be looked at one by one, a patch takes no longer than a command.
func TestPatchTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := memhttp.Serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(strings.ReplaceAll(answerOf(1), "\"true", "\"echo "+agent.Marker)))
		}))
		defer server.Close()
		client, err := model.New(model.Config{BaseURL: server.URL() + "/v1", Model: "m", HTTPClient: &http.Client{Transport: server.Transport()}})
		require.NoError(t, err)
		defer client.CloseIdleConnections()
		begin := time.Now()
		journal := new(agent.MemoryJournal)
		box := &oddities{toy{takes: time.Second}}
		outcome, err := agent.Run(t.Context(), agent.Config{Client: client, Sandbox: box, Journal: journal, Limits: agent.Limits{Steps: 1}}, agent.Task{InstanceID: "i", Problem: "p"})
		require.NoError(t, err)
		require.Equal(t, agent.LimitsExceeded, outcome.ExitStatus)
		require.Contains(t, journal.Steps()[2].Result.Message, "files that are no UTF-8 took longer than 5m0s")
		require.Less(t, time.Since(begin), 6*time.Minute, "and no longer for the evidence")
	})
}
