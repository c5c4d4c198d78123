package runner_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
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
	"github.com/homing-go/homing/swebench/sandbox/sandboxtest"
	"github.com/stretchr/testify/require"
)

// A ground is where hostile models are let loose: one kind of sandbox.
type ground struct {
	name, root, image string
	command           time.Duration // limit of one command
}

// open returns a runtime that shares nothing with other tests.
func (g ground) open(t *testing.T, dir string) *runner.Workspace {
	t.Helper()
	w := &runner.Workspace{Cache: filepath.Join(dir, "cache")}
	var err error
	switch folder := filepath.Join(dir, "boxes"); g.name {
	case "local":
		w.Local, w.Runtime = true, sandbox.NewLocal(sandbox.LocalConfig{Folder: folder})
	case "bwrap":
		w.Runtime, err = sandbox.NewBubblewrap(sandbox.BubblewrapConfig{Root: g.root, Folder: folder})
	default:
		w.Runtime, err = sandbox.NewDocker(sandbox.DockerConfig{Command: []string{g.name}})
	}
	require.NoError(t, err)
	return w
}

// A model that is hostile in one instance ends there, in a state that is documented and within
// the limits, and changes nothing in the others: their predictions and verdicts are those of a
// run without it. Nothing is left of its sandbox, and preds.json can be read.
func TestHostileModels(t *testing.T) {
	t.Parallel()
	need.Programs(t, "git", "bash", "sh", "cp", "tar", "setsid")
	for _, name := range []string{"local", "docker", "bwrap"} {
		t.Run(name, func(t *testing.T) {
			g := ground{name: name, command: time.Minute}
			if name != "local" {
				if !need.Listed(name) || !need.Listed("debootstrap") {
					t.Skipf("HOMING_REQUIRE does not name both %s and debootstrap: no minute is spent on a root folder of Debian", name)
				}
				sandboxtest.Require(t, name, "debootstrap")
				g.root = sandboxtest.Debian(t, "git", "python3")
				if name != "bwrap" {
					g.image = sandboxtest.Image(t, name, g.root)
				}
			}
			calm := g.run(t, hostility{answer: script(fix, finish), ends: agent.Submitted})
			require.True(t, calm.Complete, "%+v", calm.Reasons)
			require.Equal(t, []string{calm.hostile, calm.set.Tasks[1].ID}, calm.Report.ResolvedIDs)
			for _, h := range hostilities {
				if h.isolated && name == "local" || h.words && name != "local" {
					continue
				}
				t.Run(h.name, func(t *testing.T) {
					t.Parallel()
					o := g.run(t, h)
					for _, task := range o.set.Tasks[1:] {
						require.Equal(t, calm.predictions[task.ID], o.predictions[task.ID])
						require.Equal(t, task.Solved, slices.Contains(o.Report.ResolvedIDs, task.ID))
						require.Equal(t, !task.Solved, slices.Contains(o.Report.UnresolvedIDs, task.ID))
					}
					if h.check != nil {
						h.check(t, o)
					}
				})
			}
		})
	}
}

// An aftermath is what is there after a run with a hostile model.
type aftermath struct {
	runner.Result
	set         runnertest.Set
	hostile     string // the instance
	predictions map[string]harness.Prediction
	steps       []agent.Step
	asked       int // by the hostile instance
	ground      ground
}

// patch is what the hostile model handed in.
func (a aftermath) patch() string { return a.predictions[a.hostile].Patch }

// told reports whether a text is in what the hostile model was told.
func (a aftermath) told(text string) bool {
	return slices.ContainsFunc(a.steps, func(s agent.Step) bool {
		return s.Result != nil && strings.Contains(s.Result.Message, text) || s.Answer != nil && strings.Contains(s.Answer.Fault, text)
	})
}

const hostileSteps = 10

// run runs some instances, the first of which has the hostile model.
func (g ground) run(t *testing.T, h hostility) aftermath {
	t.Helper()
	all := runnertest.Tasks()
	tasks := []runnertest.Task{all[0], all[1], all[4]}
	if g.name != "local" {
		tasks = tasks[:2] // containers take their time
	}
	var asked atomic.Int64
	w := &world{TB: t, dir: t.TempDir()}
	var err error
	w.set, err = runnertest.Write(filepath.Join(w.dir, "data"), tasks...)
	require.NoError(t, err)
	w.rows, err = dataset.Load(t.Context(), dataset.Source{Path: w.set.Dataset})
	require.NoError(t, err)
	tame := runnertest.Model(tasks...)
	w.cluster, err = routingtest.NewCluster(routingtest.ClusterConfig{Backend: routingtest.BackendConfig{Reply: func(req *routingtest.Request) routingtest.Answer {
		if task, ok := runnertest.TaskOf(req, tasks[0]); ok {
			return h.answer(task, int(asked.Add(1))-1)
		}
		return tame(req)
	}}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.cluster.Close()) })
	for i := range w.rows {
		w.rows[i].ImageName = g.image
	}
	place := g.open(t, w.dir)
	mark := rand.Text()
	cfg := w.config()
	cfg.Runtime, cfg.Evaluator = place, harness.Native{Runtime: place, Spec: place.Spec, Workers: 2}
	cfg.Limits = agent.Limits{Steps: hostileSteps, Command: g.command, FormatErrors: 3, Wall: 5 * time.Minute}
	if h.command > 0 {
		cfg.Limits.Command = h.command
	}
	if h.change != nil {
		h.change(&cfg)
	}
	if e := w.endpoint(cfg.Template); cfg.Template.Name != agent.QwenTools().Name {
		cfg.NewClient = e.NewClient
	}
	cfg.Spec = func(ctx context.Context, row dataset.Row) (sandbox.Spec, error) {
		spec, err := place.Spec(ctx, row)
		env := map[string]string{"HOSTILE": mark}
		maps.Copy(env, spec.Env)
		spec.Env, spec.FileBytes = env, h.fileBytes
		return spec, err
	}
	begin := time.Now()
	o := aftermath{Result: w.run(cfg), set: w.set, hostile: tasks[0].ID, asked: int(asked.Load()), ground: g}
	t.Logf("%s, %d requests, %v", statusOf(o.Result, o.hostile), o.asked, time.Since(begin).Round(time.Millisecond))
	want := h.ends
	if h.endsIn[g.name] != "" {
		want = h.endsIn[g.name]
	}
	require.Equal(t, want, statusOf(o.Result, o.hostile), "%+v", o.Reasons)
	require.LessOrEqual(t, o.asked, hostileSteps)
	o.predictions = w.predictions(cfg.Dir)
	require.Equal(t, !want.Infrastructure(), slices.Contains(slices.Collect(maps.Keys(o.predictions)), o.hostile))
	o.steps, err = agent.ReadJournal(filepath.Join(cfg.Dir, o.hostile, o.hostile+".attempt-1.jsonl"))
	require.NoError(t, err)
	nothingLeft(t, place, cfg.Dir, filepath.Join(w.dir, "boxes"), mark)
	return o
}

func statusOf(res runner.Result, id string) agent.ExitStatus {
	for status, ids := range res.Statuses {
		if slices.Contains(ids, id) {
			return agent.ExitStatus(status)
		}
	}
	return ""
}

// nothingLeft checks that no sandbox, no process of one and no half-written file is left of a
// run.
func nothingLeft(t *testing.T, runtime sandbox.Runtime, out, boxes, mark string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(out, "run.json"))
	require.NoError(t, err)
	var record struct {
		Owner string `json:"owner"`
		Eval  string `json:"eval_run_id"`
	}
	require.NoError(t, json.Unmarshal(data, &record))
	require.NotEmpty(t, record.Owner)
	for label, value := range map[string]string{runner.LabelOwner: record.Owner, harness.RunLabel: record.Eval} {
		left, err := runtime.List(context.Background(), map[string]string{label: value})
		require.NoError(t, err)
		require.Empty(t, left)
	}
	if boxes != "" {
		left, err := filepath.Glob(filepath.Join(boxes, "*"))
		require.NoError(t, err)
		require.Empty(t, left)
	}
	require.Eventually(t, func() bool { return len(marked(mark)) == 0 }, 10*time.Second, 10*time.Millisecond, "a process is left")
	require.NoError(t, filepath.WalkDir(out, func(name string, _ os.DirEntry, err error) error {
		require.False(t, strings.HasSuffix(name, ".tmp"), name)
		return err
	}))
}

// marked are the files in /proc of the processes of this machine, in containers too, that have a text in their
// environment or among their arguments.
func marked(text string) (found []string) {
	for _, name := range []string{"environ", "cmdline"} {
		files, _ := filepath.Glob("/proc/[0-9]*/" + name)
		for _, file := range files {
			if data, err := os.ReadFile(file); err == nil && bytes.Contains(data, []byte(text)) {
				found = append(found, file)
			}
		}
	}
	return found
}
