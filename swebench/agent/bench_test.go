package agent_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/qwen"
	"github.com/homing-go/homing/swebench/agent"
)

// timed notes when answers are written down.
type timed struct {
	*agent.FileJournal
	at []time.Time
}

func (j *timed) Append(s agent.Step) error {
	if s.Answer != nil {
		j.at = append(j.at, time.Now())
	}
	return j.FileJournal.Append(s)
}

// BenchmarkSteps runs 16 trajectories of 200 steps at once, with a model that takes 20 ms,
// real processes and a journal on disk, and reports what a step costs beyond the model: its
// median, its 99th percentile, the last quarter of the steps relative to the first, and the
// memory in use for a trajectory near its end, connections and server included.
func BenchmarkSteps(b *testing.B) {
	const trajectories, steps, thinks = 16, 200, 20 * time.Millisecond
	for _, sandbox := range []string{"none", "local"} {
		b.Run("sandbox="+sandbox, func(b *testing.B) {
			answer := []byte(answerOf(1))
			var asked atomic.Int64
			var live atomic.Uint64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if asked.Add(1)%(trajectories*steps) == trajectories*(steps-1) {
					live.Store(heap())
				}
				time.Sleep(thinks)
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write(answer)
			}))
			defer server.Close()
			client, err := model.New(model.Config{BaseURL: server.URL + "/v1", Model: "m"})
			if err != nil {
				b.Fatal(err)
			}
			defer client.CloseIdleConnections()
			before := heap()
			for b.Loop() {
				overheads(b, client, sandbox, trajectories, steps, thinks)
			}
			b.ReportMetric(float64(live.Load()-before)/trajectories/1024, "KiB/trajectory")
		})
	}
}

// heap is what is in use.
func heap() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func overheads(b *testing.B, client model.Client, sandbox string, trajectories, steps int, thinks time.Duration) {
	b.Helper()
	dir, r := b.TempDir(), newRepo(b)
	journals := make([]*timed, trajectories)
	var all sync.WaitGroup
	for i := range journals {
		file, err := agent.OpenJournal(filepath.Join(dir, fmt.Sprint(i)))
		if err != nil {
			b.Fatal(err)
		}
		journals[i] = &timed{FileJournal: file}
		var box qwen.Sandbox = &toy{}
		if sandbox == "local" {
			box = qwen.Local{Env: environment()}
		}
		all.Go(func() {
			_, _ = agent.Run(context.Background(), agent.Config{
				Client: client, Sandbox: box, Journal: journals[i], Limits: agent.Limits{Steps: steps},
			}, agent.Task{InstanceID: fmt.Sprint(i), Problem: "p", Dir: r.dir})
			_ = file.Close()
		})
	}
	all.Wait()
	var costs, first, last []time.Duration
	for _, j := range journals {
		for n := 1; n < len(j.at); n++ {
			cost := j.at[n].Sub(j.at[n-1]) - thinks
			costs = append(costs, cost)
			switch {
			case n <= steps/4:
				first = append(first, cost)
			case n > steps*3/4:
				last = append(last, cost)
			}
		}
	}
	for _, list := range [][]time.Duration{costs, first, last} {
		slices.Sort(list)
	}
	if len(costs) == 0 {
		b.Fatal("no step was made")
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
	b.ReportMetric(ms(costs[len(costs)/2]), "ms/step-p50")
	b.ReportMetric(ms(costs[len(costs)*99/100]), "ms/step-p99")
	b.ReportMetric(float64(last[len(last)/2])/float64(first[len(first)/2]), "last/first")
}
