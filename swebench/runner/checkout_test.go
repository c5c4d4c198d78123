package runner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/homing-go/homing/internal/need"
	"github.com/homing-go/homing/swebench/agent"
	"github.com/homing-go/homing/swebench/dataset"
	"github.com/homing-go/homing/swebench/runner"
	"github.com/stretchr/testify/require"
)

const (
	gitUser     = "reader"
	gitPassword = "p@ss:w/rd 9f3b"
)

// hub serves the repositories of the world's tasks by HTTP, as NAME.git, to who has the
// password. A smart one is git's own server, another one serves files.
func (w *world) hub(smart bool) *httptest.Server {
	w.Helper()
	root := filepath.Join(w.dir, "hub")
	require.NoError(w, os.MkdirAll(root, 0o755))
	for _, task := range w.set.Tasks {
		bare := filepath.Join(root, task.ID+".git")
		if _, err := os.Stat(bare); err != nil {
			out, err := exec.Command("git", "clone", "-q", "--bare", filepath.Join(w.set.Repos, task.ID), bare).CombinedOutput()
			require.NoError(w, err, string(out))
			out, err = exec.Command("git", "-C", bare, "update-server-info").CombinedOutput()
			require.NoError(w, err, string(out))
		}
	}
	files := http.FileServer(http.Dir(root))
	if smart {
		path, err := exec.Command("git", "--exec-path").Output()
		require.NoError(w, err)
		program := filepath.Join(strings.TrimSpace(string(path)), "git-http-backend")
		if _, err := os.Stat(program); err != nil {
			w.Skip("git-http-backend is missing")
		}
		files = &cgi.Handler{Path: program, Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"}, Stderr: io.Discard}
	}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		if user, password, _ := req.BasicAuth(); user != gitUser || password != gitPassword {
			rw.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			rw.WriteHeader(http.StatusUnauthorized)
			return
		}
		files.ServeHTTP(rw, req)
	}))
	w.Cleanup(server.Close)
	return server
}

// withUser puts a user and a password into a URL.
func withUser(t testing.TB, text, password string) string {
	t.Helper()
	u, err := url.Parse(text)
	require.NoError(t, err)
	u.User = url.UserPassword(gitUser, password)
	return u.String()
}

// secretFree checks that a password, in any form, is in no file of a folder.
func secretFree(t testing.TB, dir string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			require.NotContains(t, string(text), "9f3b", name)
		}
		return err
	}))
}

// Rows whose repository is at a URL with a password are run like others. One whose commit does
// not exist, and one whose password is wrong, are failures of the infrastructure that say so,
// and no others are touched. The password is in no log, no result, no file and no checkout.
func TestRepositoriesByURL(t *testing.T) {
	t.Parallel()
	for name, smart := range map[string]bool{"files": false, "git": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 4)
			hub := w.hub(smart)
			for i, row := range w.rows {
				w.rows[i].Repo = withUser(t, hub.URL+"/"+row.InstanceID+".git", gitPassword)
			}
			missing, denied, none := w.rows[1].InstanceID, w.rows[2].InstanceID, w.rows[3].InstanceID
			w.rows[1].BaseCommit = strings.Repeat("ab", 20)
			w.rows[2].Repo = strings.Replace(w.rows[2].Repo, "9f3b", "9f3bwrong", 1)
			w.rows[3].Repo = strings.Replace(w.rows[3].Repo, none, "none", 1)
			cfg := w.config()
			place, err := runner.Place{Name: "local"}.Open(cfg.Dir)
			require.NoError(t, err)
			var log bytes.Buffer
			cfg.Runtime, cfg.Spec, cfg.Logger = place, place.Spec, slog.New(slog.NewTextHandler(&log, nil))
			var said strings.Builder
			cfg.Progress = func(p runner.Progress) { said.WriteString(p.String() + "\n") }
			res := w.run(cfg)
			require.Equal(t, agent.Submitted, statusOf(res, w.rows[0].InstanceID), "%+v", res.Reasons)
			require.Contains(t, w.predictions(cfg.Dir)[w.rows[0].InstanceID].Patch, "lib.sh")
			for id, want := range map[string]string{
				missing: `cannot be checked out at "abababab`, denied: "Authentication failed", none: "not found",
			} {
				require.Equal(t, runner.SandboxNotStarted, statusOf(res, id))
				require.Contains(t, res.Report.FailureReasons[id], want)
				require.Contains(t, res.Report.FailureReasons[id], hub.URL, "it says where")
			}
			require.False(t, res.Complete)
			text, err := json.Marshal(res)
			require.NoError(t, err)
			require.NotContains(t, string(text)+log.String()+said.String(), "9f3b")
			secretFree(t, cfg.Dir)
			left, err := filepath.Glob(filepath.Join(cfg.Dir, ".repos", "*.tmp"))
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// What cannot be a URL is not shown, since the password may be where none is looked for.
func TestRepositoryThatIsNoURL(t *testing.T) {
	t.Parallel()
	w := localWorkspace(t.TempDir())
	for repo, want := range map[string]string{
		"http://u:p%zz9f3b@host/x": "a URL that cannot be read", "ssh://u:9f3b@host/x": `"ssh://…@host/x" is no folder here`,
		"file:///none": "is no folder here", "http://u:9f3b%0a@host/x": "has a line end",
	} {
		_, err := w.Spec(t.Context(), dataset.Row{InstanceID: "a", Repo: repo})
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "9f3b")
	}
}

// checkoutVariable makes the test binary be a process that makes a checkout.
const checkoutVariable = "HOMING_TEST_RUNNER_CHECKOUT"

func checkOut(text string) int {
	cache, repo, _ := strings.Cut(text, " ")
	w := &runner.Workspace{Local: true, Cache: cache}
	if _, err := w.Spec(context.Background(), dataset.Row{InstanceID: "a", Repo: repo}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// stuck serves a repository that never comes; asked hears of each request.
func stuck(t *testing.T) (address string, asked chan struct{}) {
	t.Helper()
	asked = make(chan struct{}, 100)
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		asked <- struct{}{}
		select {
		case <-req.Context().Done():
		case <-over:
		}
	}))
	t.Cleanup(func() { close(over); server.Close() })
	return server.URL + "/x.git", asked
}

// A process that is killed while it clones leaves git running and a folder. The next one with
// the cache ends and removes both, but not while another process is at work there.
func TestCheckoutIsKilled(t *testing.T) {
	t.Parallel()
	need.Programs(t, "git", "sh", "cp")
	cache := filepath.Join(t.TempDir(), "cache")
	address, asked := stuck(t)
	process := func(repo string) *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), checkoutVariable+"="+cache+" "+repo)
		return cmd
	}
	clone := func() *exec.Cmd {
		cmd := process(address)
		require.NoError(t, cmd.Start())
		<-asked
		return cmd
	}
	kill := func(cmd *exec.Cmd) {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	half := func() []string {
		left, err := filepath.Glob(filepath.Join(cache, "*.tmp"))
		require.NoError(t, err)
		return left
	}
	another := func() {
		out, err := process("").CombinedOutput()
		require.NoError(t, err, string(out))
	}
	first, second := clone(), clone()
	kill(first)
	require.Len(t, half(), 2)
	another()
	require.Len(t, half(), 2, "the second process is at work")
	require.NotEmpty(t, marked(address))
	kill(second)
	another()
	require.Empty(t, half())
	require.Empty(t, marked(address), "git of the killed ones has ended")
}

// A clone that hangs ends with its context, git with it.
func TestCheckoutEnds(t *testing.T) {
	t.Parallel()
	need.Programs(t, "git", "sh", "cp")
	address, asked := stuck(t)
	w := localWorkspace(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := w.Spec(ctx, dataset.Row{InstanceID: "a", Repo: address})
		ended <- err
	}()
	<-asked
	cancel()
	select {
	case err := <-ended:
		require.ErrorIs(t, err, context.Canceled)
	case <-time.After(time.Minute):
		require.Fail(t, "it does not end")
	}
	require.Empty(t, marked(address))
}
