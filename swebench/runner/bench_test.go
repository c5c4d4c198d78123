package runner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/homing-go/homing/routing/routingtest"
	"github.com/homing-go/homing/swebench/agent"
	"github.com/homing-go/homing/swebench/dataset"
	"github.com/homing-go/homing/swebench/runner"
	"github.com/homing-go/homing/swebench/sandbox"
	"github.com/stretchr/testify/require"
)

// 16 trajectories at a time, of 50 steps each, with a model that takes 20 ms and the local
// sandbox. A step's overhead is what it takes beside the model: agent, client, journal, and a
// command that does nothing. early and late are the medians of the first and of the last ten
// steps, which tell whether a step gets slower with the length of its history.
func BenchmarkRun16(b *testing.B) {
	const trajectories, steps, pause = 16, 50, 20 * time.Millisecond
	w := newWorld(b, 1, func(c *routingtest.ClusterConfig) {
		c.Backend.Record = 0
		c.Backend.Reply = func(req *routingtest.Request) routingtest.Answer {
			time.Sleep(pause)
			turn := req.Answered()
			name, arguments := "bash", map[string]any{"command": ":"}
			switch turn {
			case 0:
				arguments["command"] = "echo '#' >> lib.sh"
			case steps - 1:
				name, arguments = "finish", map[string]any{"files_modified": []string{"lib.sh"}}
			}
			text, _ := json.Marshal(arguments)
			return routingtest.Answer{ToolCalls: []routingtest.ToolCall{{ID: fmt.Sprint("c", turn), Name: name, Arguments: string(text)}}}
		}
	})
	var rows []dataset.Row
	for n := range trajectories {
		row := w.rows[0]
		row.InstanceID = fmt.Sprintf("tiny__bench-%d", n)
		rows = append(rows, row)
	}
	for n := 0; b.Loop(); n++ {
		cfg := w.config()
		place := &runner.Workspace{
			Runtime: sandbox.NewLocal(sandbox.LocalConfig{Folder: filepath.Join(w.dir, "local")}), Local: true, Cache: filepath.Join(w.dir, "cache"),
		}
		cfg.Rows, cfg.Workers, cfg.Dir = rows, trajectories, filepath.Join(w.dir, fmt.Sprint("out", n))
		cfg.Runtime, cfg.Spec = place, place.Spec
		heap := peak(func() {
			_, err := runner.Run(context.Background(), cfg)
			require.NoError(b, err)
		})
		var all, early, late []time.Duration
		for _, row := range rows {
			journal, err := agent.ReadJournal(filepath.Join(cfg.Dir, row.InstanceID, row.InstanceID+".attempt-1.jsonl"))
			require.NoError(b, err)
			var last time.Duration
			step := 0
			for _, s := range journal {
				if s.Answer == nil {
					continue
				}
				if took := s.Elapsed - last - pause; step > 0 {
					all = append(all, took)
					if step <= 10 {
						early = append(early, took)
					} else if step >= steps-10 {
						late = append(late, took)
					}
				}
				last = s.Elapsed
				step++
			}
			require.Equal(b, steps, step)
		}
		b.ReportMetric(quantile(all, 0.5), "p50-ms/step")
		b.ReportMetric(quantile(all, 0.99), "p99-ms/step")
		b.ReportMetric(quantile(early, 0.5), "early-ms/step")
		b.ReportMetric(quantile(late, 0.5), "late-ms/step")
		b.ReportMetric(float64(heap)/trajectories/1024, "KB/trajectory")
	}
}

func quantile(list []time.Duration, q float64) float64 {
	slices.Sort(list)
	return float64(list[int(q*float64(len(list)-1))].Microseconds()) / 1000
}

// peak returns by how much the heap grows at most while do runs, servers of the benchmark in
// this process included.
func peak(do func()) uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before, top := m.HeapAlloc, m.HeapAlloc
	stop := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
			runtime.ReadMemStats(&m)
			top = max(top, m.HeapAlloc)
		}
	})
	do()
	close(stop)
	wait.Wait()
	return top - before
}
