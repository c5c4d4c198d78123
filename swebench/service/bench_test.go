package service_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/service"
	"github.com/stretchr/testify/require"
)

// BenchmarkPolls polls a run of 500 instances, all of which have a trajectory, from many
// clients at a time. It reports how long an answer takes at the median and at the 99th
// percentile, and how many of them there are a second; 1,000 are asked for.
func BenchmarkPolls(b *testing.B) {
	g := newGate()
	s, err := service.New(service.Config{ArtifactRoot: b.TempDir(), AllowUnauthenticated: true, Runner: g})
	require.NoError(b, err)
	defer s.Close(b.Context())
	ids := make([]string, 500)
	for i := range ids {
		ids[i] = fmt.Sprintf("project__instance-%d", i)
	}
	w := &handlerWorld{b, s}
	id := w.submit(body("", ids...)).RunID
	job := <-g.started
	for _, instance := range ids {
		name := job.Path(swebench.DirOutput, instance, instance+".traj.json")
		require.NoError(b, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(b, os.WriteFile(name, []byte("{}"), 0o644))
	}
	req, err := http.NewRequest("GET", "http://h/v1/runs/"+id, nil)
	require.NoError(b, err)
	times := make([]time.Duration, 0, b.N)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b.ReportAllocs()
	begin := time.Now()
	for b.Loop() {
		t := time.Now()
		s.ServeHTTP(&recorder{header: http.Header{}}, req)
		times = append(times, time.Since(t))
	}
	took := time.Since(begin)
	runtime.GC()
	runtime.ReadMemStats(&after)
	slices.Sort(times)
	b.ReportMetric(float64(len(times))/took.Seconds(), "polls/s")
	b.ReportMetric(float64(times[len(times)/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(times[len(times)*99/100].Nanoseconds()), "p99-ns")
	b.ReportMetric(float64(times[len(times)-1].Microseconds()), "max-µs")
	b.ReportMetric(float64(s.Reads(id))/max(1, took.Seconds()), "reads/s")
	b.ReportMetric(max(0, float64(after.HeapAlloc)-float64(before.HeapAlloc)-float64(8*cap(times)))/1024, "held-KiB")
}
