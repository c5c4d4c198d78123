package qwen_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/homing-go/homing/internal/need"
	"github.com/homing-go/homing/qwen"
	"github.com/stretchr/testify/require"
)

// place is a repository with an executor.
type place struct {
	t    *testing.T
	root string
	*qwen.SandboxExecutor
}

// newPlace makes a repository with the files, each a name and a content, committed.
func newPlace(t *testing.T, cfg qwen.ExecutorConfig, files ...string) *place {
	t.Helper()
	need.Programs(t, "sh", "git")
	p := &place{t: t, root: newRoot(t)}
	for i := 0; i < len(files); i += 2 {
		p.put(files[i], files[i+1])
	}
	shell(t, p.root, "git init -q . && git add -A -f && git commit -q --allow-empty -m base")
	cfg.Root = p.root
	var err error
	p.SandboxExecutor, err = qwen.NewExecutor(t.Context(), qwen.Local{Env: environment()}, cfg)
	require.NoError(t, err)
	return p
}

func (p *place) path(name string) string { return filepath.Join(p.root, name) }

func (p *place) put(name, content string) {
	p.t.Helper()
	require.NoError(p.t, os.MkdirAll(filepath.Dir(p.path(name)), 0o755))
	require.NoError(p.t, os.WriteFile(p.path(name), []byte(content), 0o600))
}

func (p *place) get(name string) string {
	p.t.Helper()
	return string(must(os.ReadFile(p.path(name))))
}

func (p *place) do(action qwen.Action) qwen.Result {
	p.t.Helper()
	res, err := p.Execute(p.t.Context(), action)
	require.NoError(p.t, err)
	return res
}

// refused runs an action that must fail and say why.
func (p *place) refused(action qwen.Action, why string) {
	p.t.Helper()
	res := p.do(action)
	require.NotZero(p.t, res.ExitCode)
	require.Nil(p.t, res.Submission)
	require.Contains(p.t, string(res.Output), why)
}

// A command runs in the repository with standard error among its output, whatever its
// length, and is stopped with its children when its time is over.
func TestExec(t *testing.T) {
	t.Parallel()
	p := newPlace(t, qwen.ExecutorConfig{Timeout: time.Second})
	res := p.do(qwen.Exec{Command: "pwd; echo err >&2; exit 3"})
	require.Equal(t, p.root+"\nerr\n", string(res.Output))
	require.Equal(t, 3, res.ExitCode)
	res = p.do(qwen.Exec{Command: ": " + strings.Repeat("x", 200_000) + "\necho here; cat"})
	require.Equal(t, "here\n", string(res.Output))
	start := time.Now()
	res = p.do(qwen.Exec{Command: "echo before; sleep 60 & sleep 60"})
	require.Less(t, time.Since(start), 30*time.Second)
	require.Equal(t, "before\n", string(res.Output))
	require.Equal(t, -1, res.ExitCode)
	require.Contains(t, res.Note, "1s")
	res = p.do(qwen.Exec{Command: "sleep 3 & echo started"})
	require.Equal(t, "started\n", string(res.Output))
	require.Zero(t, res.ExitCode)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.Execute(ctx, qwen.Exec{Command: "echo"})
	require.ErrorIs(t, err, context.Canceled)
}

// What a view cannot show is an error that says what there is instead.
func TestView(t *testing.T) {
	t.Parallel()
	p := newPlace(t, qwen.ExecutorConfig{}, "a.py", "1\n2\n3", "empty", "", "b.bin", "\xff\x00\r\n", "dir/x y", "")
	require.Equal(t, "     2\t2\n     3\t3", string(p.do(qwen.View{Path: p.path("a.py"), Start: 2, End: 900}).Output))
	require.Equal(t, "     3\t3", string(p.do(qwen.View{Path: p.path("a.py"), Start: 3, End: -1}).Output))
	require.Equal(t, "     1\t\xff\x00\r\n", string(p.do(qwen.View{Path: p.path("b.bin")}).Output))
	require.Equal(t, "x y\n", string(p.do(qwen.View{Path: p.path("dir")}).Output))
	require.Empty(t, p.do(qwen.View{Path: p.path("empty"), Start: 1, End: -1}).Output)
	p.refused(qwen.View{Path: p.path("a.py"), Start: 4, End: 9}, "only 3 lines")
	p.refused(qwen.View{Path: p.path("empty"), Start: 2, End: 2}, "only 0 lines")
	p.refused(qwen.View{Path: p.path("nowhere")}, "does not exist")
	p.refused(qwen.View{Path: "/dev/null"}, "no regular file")
}

// An edit needs exactly one place, works on bytes, keeps mode and links, and says where it
// was; what does not match is never guessed at.
func TestEdit(t *testing.T) {
	t.Parallel()
	p := newPlace(t, qwen.ExecutorConfig{}, "a.py", "x = 1\ny = 2\nz = 1\n", "crlf", "a\r\nb\r\nc\r\n", "mixed", "a\r\nb\n", "e", "")
	require.NoError(t, os.Chmod(p.path("a.py"), 0o755))
	require.NoError(t, os.Symlink("a.py", p.path("link")))
	res := p.do(qwen.Edit{Path: p.path("link"), Old: "y = 2", New: "y = 3\nw = 4"})
	require.Zero(t, res.ExitCode)
	require.Contains(t, string(res.Output), "at line 2 of")
	require.Contains(t, string(res.Output), "     3\tw = 4\n")
	require.Equal(t, "x = 1\ny = 3\nw = 4\nz = 1\n", p.get("a.py"))
	require.Equal(t, os.FileMode(0o755), must(os.Stat(p.path("a.py"))).Mode().Perm())
	require.Equal(t, "a.py", must(os.Readlink(p.path("link"))))

	p.refused(qwen.Edit{Path: p.path("a.py"), Old: " = 1", New: "2"}, "2 times in "+p.path("a.py")+", at lines 1, 4")
	p.refused(qwen.Edit{Path: p.path("a.py"), Old: "nothing", New: "2"}, "not found")
	p.refused(qwen.Edit{Path: p.path("a.py"), Old: "     1\tx = 1\n     2\ty = 3", New: "2"}, "without them it is in the file")
	p.refused(qwen.Edit{Path: p.path("none.py"), Old: "a", New: "b"}, "use create")
	p.refused(qwen.Edit{Path: p.root, Old: "a", New: "b"}, "folder")
	p.refused(qwen.Edit{Path: p.path("e"), Old: "a", New: "b"}, "not found")
	p.refused(qwen.Edit{Path: p.path("mixed"), Old: "a\nb", New: "c"}, "not found")
	require.Equal(t, "x = 1\ny = 3\nw = 4\nz = 1\n", p.get("a.py"))

	require.Zero(t, p.do(qwen.Edit{Path: p.path("crlf"), Old: "a\nb\n", New: "1\n2\n3\n"}).ExitCode)
	require.Equal(t, "1\r\n2\r\n3\r\nc\r\n", p.get("crlf"))
	require.Zero(t, p.do(qwen.Edit{Path: p.path("mixed"), Old: "a\r\n", New: ""}).ExitCode)
	require.Equal(t, "b\n", p.get("mixed"))
}

// A write makes folders, writes through links, and refuses folders.
func TestWrite(t *testing.T) {
	t.Parallel()
	p := newPlace(t, qwen.ExecutorConfig{}, "old", "long old content")
	require.NoError(t, os.Symlink("old", p.path("link")))
	require.Zero(t, p.do(qwen.Write{Path: p.path("-a/ b/it's"), Content: "\x00\xff\n"}).ExitCode)
	require.Equal(t, "\x00\xff\n", p.get("-a/ b/it's"))
	require.Zero(t, p.do(qwen.Write{Path: p.path("link"), Content: "new"}).ExitCode)
	require.Equal(t, "new", p.get("old"))
	p.refused(qwen.Write{Path: p.root + "/x/", Content: "a"}, "folder")
	p.refused(qwen.Write{Path: p.root, Content: "a"}, "folder")
	require.NoFileExists(t, p.path("x"))
	require.NotZero(t, p.do(qwen.Write{Path: p.path("old/x"), Content: "a"}).ExitCode)
	require.Equal(t, "new", p.get("old"))
}

// A submission is compared with the commit at the start, holds the listed files and nothing
// else, byte for byte, whatever the user's git configuration says.
func TestSubmit(t *testing.T) {
	t.Parallel()
	p := newPlace(t, qwen.ExecutorConfig{}, "a.py", "a\n", "b.py", "b\n", "gone.py", "g\n", "crlf.py", "x\r\n", ".gitignore", "*.log\n", "testbed/in.py", "i\n", "pkg/__init__.py", "", "lib/i.py", "i\n")
	shell(t, p.root, "git config diff.noprefix true; git config color.ui always; git config diff.external false")
	p.put("a.py", "A\n")
	p.put("b.py", "B\n")
	p.put("crlf.py", "y\r\n")
	p.put("new.log", "ignored\n")
	p.put("lib/[id].py", "new\n")
	p.put("lib/i.py", "changed and not listed, though the other name is a pattern for it\n")
	p.put("image.bin", "\x00\x01\xff")
	p.put("testbed/in.py", "j\n")
	p.put("pkg/new.py", "n\n")
	p.put("pkg/x.log", "scratch\n")
	shell(t, p.root, "git rm -q gone.py; git commit -q -am 'the model commits'")
	paths := []string{"a.py", "gone.py", "crlf.py", "new.log", "lib/[id].py", "image.bin", "testbed/in.py", "pkg"}
	res := p.do(qwen.Submit{Paths: append(paths, "testbed/b.py")})
	require.NotNil(t, res.Submission, "%s", res.Output)
	want := &wantRun{PatchPaths: []string{
		"a.py", "b.py", "gone.py", "crlf.py", "new.log", "lib/[id].py", "image.bin", "testbed/in.py", "pkg/new.py",
	}, PatchContains: "+y\r\n"}
	shell(t, p.root, "git config --unset diff.noprefix; git config --unset color.ui; git config --unset diff.external")
	want.checkPatch(t, p.root, res)

	p.refused(qwen.Submit{Paths: []string{"a.py", "nowhere.py", ":!a.py"}}, "nowhere.py, :!a.py does not exist")
}

// A submission without a change is refused once, and then taken.
func TestSubmitNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t, qwen.ExecutorConfig{}, "a.py", "a\n")
	p.refused(qwen.Submit{Paths: []string{"a.py"}}, "no change in the listed files")
	res := p.do(qwen.Submit{Paths: []string{"a.py"}})
	require.NotNil(t, res.Submission)
	require.Empty(t, res.Submission.Patch)
}

// An empty repository is compared with nothing; where there is none, nothing can be
// submitted; and a commit that does not exist is an error at once.
func TestExecutorBase(t *testing.T) {
	t.Parallel()
	need.Programs(t, "sh", "git")
	root := newRoot(t)
	local := qwen.Local{Env: environment()}
	e, err := qwen.NewExecutor(t.Context(), local, qwen.ExecutorConfig{Root: root})
	require.NoError(t, err)
	res, err := e.Execute(t.Context(), qwen.Submit{Paths: []string{"a"}})
	require.NoError(t, err)
	require.Contains(t, string(res.Output), "no git repository")
	shell(t, root, "git init -q . && echo a >a")
	e, err = qwen.NewExecutor(t.Context(), local, qwen.ExecutorConfig{Root: root})
	require.NoError(t, err)
	res, err = e.Execute(t.Context(), qwen.Submit{Paths: []string{"a"}})
	require.NoError(t, err)
	require.NotNil(t, res.Submission, "%s", res.Output)
	shell(t, root, "git add a && git commit -q -m 1 && echo b >a && git commit -q -am 2")
	e, err = qwen.NewExecutor(t.Context(), local, qwen.ExecutorConfig{Root: root, Base: "HEAD~1"})
	require.NoError(t, err)
	res, err = e.Execute(t.Context(), qwen.Submit{Paths: []string{"a"}})
	require.NoError(t, err)
	require.Contains(t, string(res.Submission.Patch), "-a\n+b\n")
	_, err = qwen.NewExecutor(t.Context(), local, qwen.ExecutorConfig{Root: root, Base: "v9"})
	require.ErrorContains(t, err, "v9")
	_, err = qwen.NewExecutor(t.Context(), local, qwen.ExecutorConfig{Root: root + "/none"})
	require.ErrorContains(t, err, "cannot be used as the repository")
	_, err = e.Execute(t.Context(), nil)
	require.Error(t, err)
}

// Output beyond what the sandbox keeps is dropped and said to be missing.
func TestLocalOutput(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("sh is missing")
	}
	out, err := qwen.Local{MaxOutput: 10}.Run(t.Context(), qwen.Command{Args: []string{"sh", "-c", "cat; echo 0123456789 >&2; exit 4"}, Stdin: []byte("0123456789abc")})
	require.NoError(t, err)
	require.Equal(t, qwen.Output{Stdout: []byte("0123456789"), Stderr: []byte("0123456789"), ExitCode: 4, Cut: true}, out)
	_, err = qwen.Local{}.Run(t.Context(), qwen.Command{})
	require.ErrorContains(t, err, "Args")
	_, err = qwen.Local{}.Run(t.Context(), qwen.Command{Args: []string{"/nowhere"}})
	require.Error(t, err)
}
