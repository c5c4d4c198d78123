package runner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/homing-go/homing/internal/need"
	"github.com/homing-go/homing/routing/routingtest"
	"github.com/homing-go/homing/swebench/agent"
	"github.com/homing-go/homing/swebench/dataset"
	"github.com/homing-go/homing/swebench/harness"
	"github.com/homing-go/homing/swebench/runner"
	"github.com/homing-go/homing/swebench/runner/runnertest"
	"github.com/homing-go/homing/swebench/sandbox"
	"github.com/stretchr/testify/require"
)

// helperVariable makes the test binary be a process that runs the instances.
const helperVariable = "HOMING_TEST_RUNNER_HELPER"

// An order is what the helper is to do.
type order struct{ Dataset, Out, URL, Places string }

func (o order) config(ctx context.Context) (runner.Config, error) {
	rows, err := dataset.Load(ctx, dataset.Source{Path: o.Dataset})
	if err != nil {
		return runner.Config{}, err
	}
	w := &runner.Workspace{Runtime: sandbox.NewLocal(sandbox.LocalConfig{Folder: o.Places}), Local: true, Cache: filepath.Join(o.Out, ".repos")}
	e := &runner.Endpoint{BaseURL: o.URL, Model: "tiny", Template: agent.QwenTools()}
	return runner.Config{
		Rows: rows, Dir: o.Out, Model: "tiny", NewClient: e.NewClient, Headers: e.Names(), Template: e.Template,
		Runtime: w, Spec: w.Spec, Workers: 3, Stagger: -1, Evaluator: judge{runnertest.Tasks()},
	}, nil
}

func helper() int {
	var o order
	if err := json.Unmarshal([]byte(os.Getenv(helperVariable)), &o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	cfg, err := o.config(context.Background())
	if err == nil {
		var res runner.Result
		if res, err = runner.Run(context.Background(), cfg); err == nil && !res.Complete {
			err = fmt.Errorf("incomplete: %+v", res.Reasons)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// 142. After a kill -9 at any step each trajectory that was begun is on disk up to its last
// finished step, and preds.json parses at every moment. The next process goes on: every step
// is kept, sessions on the wire stay the same, and no instance ends twice.
func Test142Kill(t *testing.T) {
	t.Parallel()
	need.Programs(t, "git", "bash", "sh", "cp")
	kills := 12
	if text := os.Getenv("HOMING_KILLS"); text != "" {
		var err error
		kills, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	var (
		mu     sync.Mutex
		seen   int
		target int
		victim *os.Process
	)
	script := runnertest.Model(runnertest.Tasks()...)
	w := newWorld(t, 6, func(c *routingtest.ClusterConfig) {
		c.Backend.Reply = func(req *routingtest.Request) routingtest.Answer {
			mu.Lock()
			defer mu.Unlock()
			if seen++; seen == target {
				p := victim
				time.AfterFunc(time.Duration(rand.IntN(60))*time.Millisecond, func() { _ = p.Kill() })
			}
			return script(req)
		}
	})
	o := order{w.set.Dataset, filepath.Join(w.dir, "out"), w.cluster.URL(), filepath.Join(w.dir, "local")}
	text, err := json.Marshal(o)
	require.NoError(t, err)

	watched := make(chan error, 1)
	stop := make(chan struct{})
	go func() { watched <- watch(filepath.Join(o.Out, "preds.json"), stop) }()
	kept := map[string][]byte{} // the journals after each kill
	died := 0
	for n := 0; ; n++ {
		require.Less(t, n, kills+3, "it does not come to an end")
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), helperVariable+"="+string(text))
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		mu.Lock()
		require.NoError(t, cmd.Start())
		victim, target = cmd.Process, 0
		if n < kills {
			target = seen + 1 + rand.IntN(max(1, 24/kills))
		}
		mu.Unlock()
		err := cmd.Wait()
		journals(t, o.Out, kept)
		if err == nil {
			break
		}
		require.Equal(t, -1, cmd.ProcessState.ExitCode(), stderr.String())
		died++
	}
	close(stop)
	require.NoError(t, <-watched)
	require.Positive(t, died)
	t.Logf("killed %d times", died)

	for _, task := range w.set.Tasks {
		files, err := filepath.Glob(filepath.Join(o.Out, task.ID, "*.attempt-*.jsonl"))
		require.NoError(t, err)
		state, err := os.ReadFile(filepath.Join(o.Out, task.ID, "state.json"))
		require.NoError(t, err)
		require.Len(t, files, 1, "the sandboxes survive, so there is one attempt: %s", state)
		steps, err := agent.ReadJournal(files[0])
		require.NoError(t, err)
		exits := 0
		for _, s := range steps {
			if s.Exit != nil {
				exits++
			}
		}
		require.Equal(t, 1, exits)
		for _, v := range w.sessions("X-Session-ID")[task.ID] {
			require.Equal(t, string(steps[0].Start.Session.ID), v)
		}
	}
	predictions := w.predictions(o.Out)
	require.Len(t, predictions, 6)
	for id, p := range predictions {
		require.Contains(t, p.Patch, "lib.sh", id)
	}
	entries, err := filepath.Glob(filepath.Join(o.Places, "*", "*"))
	require.NoError(t, err)
	require.Empty(t, entries, "a sandbox is left")
}

// watch reads predictions until it is told to stop.
func watch(file string, stop <-chan struct{}) error {
	for {
		if _, err := harness.ReadPredictions(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		select {
		case <-stop:
			return nil
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// journals checks that journals have only grown since the last time.
func journals(t *testing.T, out string, kept map[string][]byte) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(out, "*", "*.jsonl"))
	require.NoError(t, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		data = data[:bytes.LastIndexByte(data, '\n')+1]
		require.True(t, bytes.HasPrefix(data, kept[file]), "%s has lost a step", file)
		kept[file] = data
	}
}

// A half-written last line is dropped, which a warning says, and the trajectory goes on.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	cfg := w.config()
	cfg.KeepSandboxes = true
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	turns := 0
	client := cfg.NewClient
	script := runnertest.Model(w.set.Tasks...)
	cut := newWorld(t, 1, func(c *routingtest.ClusterConfig) {
		c.Backends = 1
		c.Backend.Reply = func(req *routingtest.Request) routingtest.Answer {
			if turns++; turns == 3 {
				cancel()
			}
			return script(req)
		}
	})
	cfg.NewClient = cut.endpoint(agent.QwenTools()).NewClient
	_, err := runner.Run(ctx, cfg)
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, w.places.left(), 1)
	id := w.set.Tasks[0].ID
	journal := filepath.Join(cfg.Dir, id, id+".attempt-1.jsonl")
	f, err := os.OpenFile(journal, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	const half = `{"time":"2026-01-01T00:00:00Z","answer":{"mess`
	_, err = f.WriteString(half)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	before, err := agent.ReadJournal(journal)
	require.NoError(t, err)
	cfg.NewClient = client
	var log bytes.Buffer
	cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	require.True(t, w.run(cfg).Complete)
	require.Contains(t, log.String(), fmt.Sprintf(`level=WARN msg="a half-written last step was dropped" instance=%s bytes=%d`, id, len(half)))
	require.NotContains(t, log.String(), "mess", "and no content")
	after, err := agent.ReadJournal(journal)
	require.NoError(t, err)
	require.Greater(t, len(after), len(before))
	require.Equal(t, before, after[:len(before)])
	for _, v := range w.sessions("X-Session-ID")[id] {
		require.Equal(t, string(after[0].Start.Session.ID), v)
	}
	require.Empty(t, w.places.left())
}
