package service_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/homing-go/homing/internal/memhttp"
	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/service"
	"github.com/stretchr/testify/require"
)

// reading starts a service whose one run, of four instances, is at work; its files are
// what arrange writes.
func reading(t *testing.T, arrange func(w *world, output string)) (*world, string) {
	t.Helper()
	g := newGate()
	w := start(t, g)
	id := w.submit(body("", "a", "b", "c", "d")).RunID
	job := <-g.started
	arrange(w, job.Path(swebench.DirOutput))
	return w, id
}

func counters(v swebench.StatusView) []int {
	p := v.Progress
	return []int{*p.AgentTotal, *p.AgentCompleted, *p.EvalTotal, *p.EvalCompleted}
}

const exitStatuses = "instances_by_exit_status:\n  Submitted:\n  - a\n  - b\n  LimitsExceeded: [b, c]\n  Empty: []\nmore: 1\n"

// The newest file of exit statuses tells which instances are done: each counts once, and
// nothing is evaluated yet.
func TestCase094_ExitStatuses(t *testing.T) {
	t.Parallel()
	w, id := reading(t, func(w *world, output string) {
		w.write(filepath.Join(output, "exit_statuses_1.yaml"), exitStatuses)
		w.write(filepath.Join(output, "exit_statuses_2.yaml"), "instances_by_exit_status: {Submitted: [x]}")
		old := time.Now().Add(-time.Hour)
		require.NoError(w, os.Chtimes(filepath.Join(output, "exit_statuses_2.yaml"), old, old))
		w.write(filepath.Join(output, "preds.json"), `{"a":1}`)
	})
	v := w.status(id)
	require.Equal(t, []int{4, 3, 0, 0}, counters(v))
	require.Equal(t, swebench.PhaseAgent, v.Progress.Phase)
	require.Equal(t, "agent", v.Message)
}

// Without exit statuses the trajectory files count, without those the predictions, and
// never more than there are instances.
func TestCase095_OtherSources(t *testing.T) {
	t.Parallel()
	w, id := reading(t, func(w *world, output string) {
		w.write(filepath.Join(output, "a", "a.traj.json"), "")
		w.write(filepath.Join(output, "b", "b.traj.json"), "")
		w.write(filepath.Join(output, "c", "log.txt"), "")
		w.write(filepath.Join(output, "preds.json"), `{"a":1}`)
	})
	require.Equal(t, []int{4, 2, 0, 0}, counters(w.status(id)))
	w, id = reading(t, func(w *world, output string) {
		w.write(filepath.Join(output, "preds.json"), `{"a":1,"b":2,"a":3}`)
	})
	require.Equal(t, []int{4, 2, 0, 0}, counters(w.status(id)))
	w, id = reading(t, func(w *world, output string) {
		w.write(filepath.Join(output, "preds.json"), `{"a":1,"b":`)
	})
	require.Equal(t, []int{4, 0, 0, 0}, counters(w.status(id)), "half a file tells nothing")
	w, id = reading(t, func(w *world, output string) {
		w.write(filepath.Join(output, "preds.json"), `{"1":1,"2":1,"3":1,"4":1,"5":1,"6":1}`)
		w.write(filepath.Join(filepath.Dir(output), swebench.FileEvalRunID), "endpoints_01234567\n")
		for i := range 9 {
			w.write(filepath.Join(output, "logs", "run_evaluation", "endpoints_01234567", "m", fmt.Sprint(i), "report.json"), "{}")
		}
		w.write(filepath.Join(output, "logs", "run_evaluation", "endpoints_other", "m", "x", "report.json"), "{}")
	})
	v := w.status(id)
	require.Equal(t, []int{4, 4, 6, 6}, counters(v))
	require.Equal(t, swebench.PhaseEval, v.Progress.Phase)
	require.Equal(t, "eval", v.Message)
	w, id = reading(t, func(w *world, output string) {
		w.write(filepath.Join(filepath.Dir(output), swebench.FileEvalRunID), "../../..")
	})
	require.Equal(t, []int{4, 0, 4, 0}, counters(w.status(id)), "the evaluation has begun; no predictions: all count")
}

// A file of exit statuses that is half written, of another shape, empty, huge, or no file
// is passed over for the next source, and never an error.
func TestCase097_BrokenStatuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"half": "instances_by_exit_status:\n  Submitted: [a, b", "list": "- a\n- b", "empty": "", "text": "x", "null": "instances_by_exit_status:", "numbers": "instances_by_exit_status: 5",
		"inner list": "instances_by_exit_status: [a]", "inner text": "instances_by_exit_status: {Submitted: a}", "binary": "\x00\xff\x00", "tabs": "\t\ta: b",
		"bomb":    "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\ninstances_by_exit_status: {A: *e}",
		"huge":    "# " + strings.Repeat("x", 17<<20),
		"folder":  "\x01",
		"link":    "\x02",
		"nothing": "instances_by_exit_status: {}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, id := reading(t, func(w *world, output string) {
				file := filepath.Join(output, "exit_statuses_1.yaml")
				switch text {
				case "\x01":
					require.NoError(t, os.MkdirAll(file, 0o755))
				case "\x02":
					require.NoError(t, os.MkdirAll(output, 0o755))
					require.NoError(t, os.Symlink("/dev/zero", file))
				default:
					w.write(file, text)
				}
				w.write(filepath.Join(output, "a", "a.traj.json"), "")
				w.write(filepath.Join(output, "preds.json"), "{broken")
			})
			require.Equal(t, []int{4, 1, 0, 0}, counters(w.status(id)))
		})
	}
}

// However many polls come, the files of a run are read once a second, and the status file
// is left alone.
func TestCase098_ReadOnceASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		s, err := service.New(service.Config{ArtifactRoot: t.TempDir(), AllowUnauthenticated: true, Runner: g})
		require.NoError(t, err)
		server := memhttp.Serve(s)
		b := &bubble{T: t, transport: server}
		ids := make([]string, 500)
		for i := range ids {
			ids[i] = fmt.Sprintf("instance-%d", i)
		}
		id := b.submit(body("", ids...)).RunID
		job := <-g.started
		synctest.Wait()
		stored, err := os.Stat(job.Path(swebench.FileStatus))
		require.NoError(t, err)
		transport := server.Transport()
		for second := 1; second <= 5; second++ {
			name := job.Path(swebench.DirOutput, ids[second], ids[second]+".traj.json")
			require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
			require.NoError(t, os.WriteFile(name, nil, 0o644))
			var group sync.WaitGroup
			for range 100 {
				group.Go(func() {
					time.Sleep(time.Duration(len(ids)) * time.Millisecond) // all within one second
					require.Equal(t, []int{500, second, 0, 0}, counters(b.status(id)))
				})
			}
			group.Wait()
			require.Equal(t, second, s.Reads(id))
			time.Sleep(500 * time.Millisecond)
		}
		after, err := os.Stat(job.Path(swebench.FileStatus))
		require.NoError(t, err)
		require.True(t, os.SameFile(stored, after), "an atomic write would have made a new file")
		transport.CloseIdleConnections()
		close(g.open)
		synctest.Wait()
		require.NoError(t, s.Close(t.Context()))
		server.Close()
	})
}

// What cannot be read leaves the counters as they were.
func TestProgressKeepsItsValues(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		s, err := service.New(service.Config{ArtifactRoot: t.TempDir(), AllowUnauthenticated: true, Runner: g})
		require.NoError(t, err)
		server := memhttp.Serve(s)
		b := &bubble{T: t, transport: server}
		id := b.submit(body("", "a", "b")).RunID
		job := <-g.started
		require.NoError(t, os.MkdirAll(job.Path(swebench.DirOutput, "a"), 0o755))
		require.NoError(t, os.WriteFile(job.Path(swebench.DirOutput, "a", "a.traj.json"), nil, 0o644))
		require.Equal(t, []int{2, 1, 0, 0}, counters(b.status(id)))
		require.NoError(t, os.RemoveAll(job.Dir))
		time.Sleep(2 * time.Second)
		require.Equal(t, []int{2, 1, 0, 0}, counters(b.status(id)))
		require.NoError(t, s.Close(t.Context()))
		server.Close()
	})
}

// A run that fails keeps the counters that it had; one that succeeds has full ones, its
// predictions being those that were evaluated.
func TestFinalCounters(t *testing.T) {
	t.Parallel()
	w := start(t, script(t, `{"runs":{"fails":{"instances":{"c":{"outcome":"fail"}},"outcome":"fail"},"misses":{"predictions":{"a":"x"}},"none":{"predictions":{}}}}`))
	id := w.submit(body(`"model_name":"fails"`, "a", "b", "c")).RunID
	require.Equal(t, []int{3, 3, 0, 0}, counters(w.until(id, swebench.StateFailed)))
	id = w.submit(body(`"model_name":"misses"`, "a", "b", "c")).RunID
	require.Equal(t, []int{3, 3, 1, 1}, counters(w.until(id, swebench.StateSucceeded)))
	id = w.submit(body(`"model_name":"none"`, "a", "b", "c")).RunID
	require.Equal(t, []int{3, 3, 3, 3}, counters(w.until(id, swebench.StateSucceeded)))
}
