package sandbox_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/homing-go/homing/swebench/internal/program"
	"github.com/homing-go/homing/swebench/sandbox"
	"github.com/homing-go/homing/swebench/sandbox/sandboxtest"
	"github.com/stretchr/testify/require"
)

// engine is a client that does what a script says, and notes how it was called: fields are
// ended by US, calls by RS.
type engine struct{ folder, program string }

func newEngine(t *testing.T, script string) engine {
	t.Helper()
	sandboxtest.Require(t, "sh")
	e := engine{folder: t.TempDir()}
	e.program = filepath.Join(e.folder, "engine")
	// In one piece, so that calls at once do not mix, and one that is killed holds up no other.
	note := `u=$(printf '\037x'); n=; for a; do n="$n$a${u%x}"; done; printf '%s\036' "$n" >>calls
`
	text := "#!/bin/sh\ncd '" + e.folder + "'\n" + note + script
	program.Write(t, e.program, text)
	return e
}

func (e engine) calls(t *testing.T) (calls [][]string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(e.folder, "calls"))
	require.NoError(t, err)
	for call := range strings.SplitSeq(strings.TrimSuffix(string(raw), "\x1e"), "\x1e") {
		calls = append(calls, strings.Split(strings.TrimSuffix(call, "\x1f"), "\x1f"))
	}
	return calls
}

func (e engine) docker(t *testing.T, cfg sandbox.DockerConfig) *sandbox.Docker {
	t.Helper()
	cfg.Command = []string{e.program}
	d, err := sandbox.NewDocker(cfg)
	require.NoError(t, err)
	return d
}

func TestPrepareNamesEveryImageThatIsMissing(t *testing.T) {
	t.Parallel()
	e := newEngine(t, `case $1$2 in
imageinspect) case $4 in here*) exit 0; esac; exit 1 ;;
info*) pwd ;;
pull*) case $3 in bad*) echo "manifest for $3 not found" >&2; exit 1; esac ;;
esac`)
	d := e.docker(t, sandbox.DockerConfig{MinFree: 1, ImageBytes: 1})
	err := d.Prepare(t.Context(), "here:1", "bad/a:1", "new:1", "bad/b:1", "new:1")
	var missing *sandbox.ImageError
	require.ErrorAs(t, err, &missing)
	require.Len(t, missing.Missing, 2)
	require.ErrorContains(t, err, `2 images are missing and could not be fetched: "bad/a:1"`)
	require.ErrorContains(t, err, "manifest for bad/b:1 not found")
	require.Equal(t, []string{"new:1"}, d.Pulled())
	require.NoError(t, d.Prepare(t.Context(), "here:1"))
	for _, image := range []string{"", "--all", "a b", "a\nb", "$(x)"} {
		var spec *sandbox.SpecError
		require.ErrorAs(t, d.Prepare(t.Context(), image), &spec, "%q", image)
	}
}

// An engine that is away is not told as images that are missing.
func TestPrepareTellsThatTheEngineIsAway(t *testing.T) {
	t.Parallel()
	e := newEngine(t, `echo "Cannot connect to the daemon" >&2; exit 1`)
	err := e.docker(t, sandbox.DockerConfig{}).Prepare(t.Context(), "a", "b")
	var away *sandbox.EngineError
	var missing *sandbox.ImageError
	require.ErrorAs(t, err, &away)
	require.NotErrorAs(t, err, &missing)
	require.ErrorContains(t, err, "version failed with exit code 1: Cannot connect to the daemon")
}

func TestPrepareLooksAtTheDiskFirst(t *testing.T) {
	t.Parallel()
	e := newEngine(t, `case $1 in image) exit 1 ;; info) pwd ;; esac`)
	err := e.docker(t, sandbox.DockerConfig{MinFree: 1 << 60}).Prepare(t.Context(), "a", "b")
	var disk *sandbox.DiskError
	require.ErrorAs(t, err, &disk)
	require.Equal(t, 2, disk.Images)
	require.Equal(t, int64(1<<60+2*2<<30), disk.Need)
	for _, call := range e.calls(t) {
		require.NotEqual(t, "pull", call[0])
	}
}

func TestPullsAreBounded(t *testing.T) {
	t.Parallel()
	e := newEngine(t, `case $1 in image) exit 1 ;; info) echo /no/such/folder ;;
pull) : >"at-$$"; ls at-* | wc -l >>together; sleep 0.05; rm "at-$$" ;; esac`)
	var images []string
	for i := range 9 {
		images = append(images, fmt.Sprintf("image%d", i))
	}
	d := e.docker(t, sandbox.DockerConfig{Pulls: 2})
	require.NoError(t, d.Prepare(t.Context(), images...))
	require.Len(t, d.Pulled(), 9)
	raw, err := os.ReadFile(filepath.Join(e.folder, "together"))
	require.NoError(t, err)
	for line := range strings.Lines(string(raw)) {
		require.Contains(t, []string{"1", "2"}, strings.TrimSpace(line))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, d.Prepare(ctx, images...), context.Canceled)
}

func TestAStartThatFailsIsProvenAndLeavesNothing(t *testing.T) {
	t.Parallel()
	e := newEngine(t, `case $1 in run) echo "no such image" >&2; exit 125 ;; esac`)
	_, err := e.docker(t, sandbox.DockerConfig{}).Start(t.Context(), sandbox.Spec{Image: "a:1", Name: "mine"})
	var start *sandbox.StartError
	require.ErrorAs(t, err, &start)
	require.ErrorContains(t, err, "no such image")
	calls := e.calls(t)
	require.Equal(t, []string{"rm", "--force", "--volumes", "mine"}, calls[len(calls)-1])

	e = newEngine(t, `case $1 in run) echo 'Conflict: name is already in use' >&2; exit 125 ;; esac`)
	_, err = e.docker(t, sandbox.DockerConfig{}).Start(t.Context(), sandbox.Spec{Image: "a:1", Name: "theirs"})
	require.ErrorAs(t, err, &start)
	require.Len(t, e.calls(t), 1, "a container of this name is somebody else's")

	e = newEngine(t, `case $1 in run) sleep 100 ;; esac`)
	begun := time.Now()
	_, err = e.docker(t, sandbox.DockerConfig{StartTimeout: 50 * time.Millisecond}).Start(t.Context(), sandbox.Spec{Image: "a:1"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(begun), 20*time.Second)
	calls = e.calls(t)
	require.Equal(t, "rm", calls[len(calls)-1][0], "what was begun is removed")
}

// "Given many workers, when instances start together, then each gets its own image and no
// shared config is changed."
func TestCase139EveryInstanceHasItsOwnImageAndConfig(t *testing.T) {
	t.Parallel()
	e := newEngine(t, `case $1 in run) echo id$$ ;; exec)
	for a; do case $a in --env=HOMING_EXEC=*) n=${a#--env=HOMING_EXEC=} ;; esac; done; printf '\036%s 1\n' "$n" ;; esac`)
	d := e.docker(t, sandbox.DockerConfig{RunArgs: []string{"--network=none"}})
	env := map[string]string{"K": "v"}
	labels := map[string]string{"run": "r"}
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			spec := sandbox.Spec{
				Image: fmt.Sprintf("image-%d:1", i), Name: fmt.Sprintf("name-%d", i), Env: env, Labels: labels,
				MemoryBytes: int64(i+1) << 30, PIDs: 100 + i, FileBytes: 5, Dir: "/work", Lifetime: 90 * time.Second,
			}
			s, err := d.Start(t.Context(), spec)
			require.NoError(t, err)
			require.NoError(t, s.Stop(t.Context()))
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for _, call := range e.calls(t) {
		if call[0] != "run" {
			continue
		}
		line := strings.Join(call, "\n")
		var i int
		_, named, _ := strings.Cut(line, "--name=name-")
		_, err := fmt.Sscanf(named, "%d", &i)
		require.NoError(t, err)
		for _, want := range []string{
			fmt.Sprintf("image-%d:1", i), "--env=K=v", "--label=run=r", "--label=homing.sandbox=1", "--network=none", "90", "--pull=never",
			fmt.Sprintf("--memory=%d", int64(i+1)<<30), fmt.Sprintf("--memory-swap=%d", int64(i+1)<<30), fmt.Sprintf("--pids-limit=%d", 100+i),
		} {
			require.Contains(t, call, want)
		}
		seen[line] = true
	}
	require.Len(t, seen, 16)
	require.Equal(t, map[string]string{"K": "v"}, env)
	require.Equal(t, map[string]string{"run": "r"}, labels)
}

func TestAnEngineThatDoesNotAnswerIsNoDeadSandbox(t *testing.T) {
	t.Parallel()
	e := newEngine(t, `[ -e down ] && { echo "Cannot connect to the daemon" >&2; exit 1; }
case $1 in run) echo abc ;; exec)
	for a; do case $a in --env=HOMING_EXEC=*) n=${a#--env=HOMING_EXEC=} ;; esac; done; printf '\036%s 1\n' "$n" ;; esac`)
	s, err := e.docker(t, sandbox.DockerConfig{}).Start(t.Context(), sandbox.Spec{Image: "a"})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(e.folder, "down"), nil, 0o600))
	_, err = s.Run(t.Context(), sh("echo"))
	var failed *sandbox.EngineError
	require.ErrorAs(t, err, &failed)
	require.NotErrorIs(t, err, sandbox.ErrGone)
	require.ErrorContains(t, err, "Cannot connect")
	require.Error(t, s.Stop(t.Context()), "it cannot be removed")
	require.NoError(t, os.Remove(filepath.Join(e.folder, "down")))
	require.NoError(t, s.Stop(t.Context()), "so a later Stop tries again")
}

func TestTheClientIsNamedByConfigAlone(t *testing.T) {
	e := newEngine(t, "exit 0")
	t.Setenv("MSWEA_DOCKER_EXECUTABLE", "/no/such/client")
	_, err := sandbox.NewDocker(sandbox.DockerConfig{Command: []string{e.program}})
	require.NoError(t, err)
	_, err = sandbox.NewDocker(sandbox.DockerConfig{Command: []string{e.program}, CommandFromEnv: true})
	require.ErrorContains(t, err, "/no/such/client")
	t.Setenv("MSWEA_DOCKER_EXECUTABLE", e.program)
	d, err := sandbox.NewDocker(sandbox.DockerConfig{Command: []string{"/no/such/client"}, CommandFromEnv: true})
	require.NoError(t, err)
	require.NoError(t, d.Prepare(t.Context(), "a"))
}
