package agent_test

import (
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/homing-go/homing/model/modeltest"
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
