package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/routing"
)

// BenchmarkTurn is one turn, with a history of n messages of 1 KB.
func BenchmarkTurn(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		for _, p := range peers() {
			b.Run(fmt.Sprintf("n=%d/%s", n, p.name), func(b *testing.B) { measure(b, p.turn(b, "", n)) })
		}
	}
}

// BenchmarkStream is one answer of 2,000 chunks, of text and of a tool's arguments.
func BenchmarkStream(b *testing.B) {
	for _, kind := range []string{"content", "arguments"} {
		for _, p := range peers() {
			b.Run(kind+"/"+p.name, func(b *testing.B) { measure(b, p.stream(b, kind)) })
		}
	}
}

// BenchmarkEncode is what it takes to encode turn 1,000, which adds two messages.
func BenchmarkEncode(b *testing.B) {
	b.Run("homing", func(b *testing.B) {
		history := model.NewTranscript()
		for i := range 998 {
			history.Append(homingMessage(i))
		}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if i%1000 == 999 {
				history = history.Fork() // else it would fill the memory
			}
			history.Append(model.ToolResult("call_1", text), model.User(text))
			_ = history.Snapshot()
		}
	})
	b.Run("openai-go", func(b *testing.B) {
		params := openaiParams(1000)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := params.MarshalJSON(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("go-openai", func(b *testing.B) {
		req := goopenaiRequest(1000)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := json.Marshal(req); err != nil {
				b.Fatal(err)
			}
		}
	})
}

type stub struct{ res *http.Response }

func (s stub) RoundTrip(*http.Request) (*http.Response, error) { return s.res, nil }

// BenchmarkTransport is routing.Transport over a base that does nothing, and that base.
func BenchmarkTransport(b *testing.B) {
	base := stub{&http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody}}
	ctx := routing.NewContext(context.Background(), routing.NewSession(routing.NewID()))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost:8000/v1/chat/completions", http.NoBody)
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"Accept", "Content-Type", "User-Agent", "Authorization", "X-A", "X-B"} {
		req.Header.Set(name, "value")
	}
	for name, rt := range map[string]http.RoundTripper{"homing": &routing.Transport{Base: base}, "floor": base} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := rt.RoundTrip(req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkConnections counts the connections of 640 requests with 64 in flight, each
// client as it is made by default.
func BenchmarkConnections(b *testing.B) {
	for _, p := range peers() {
		if p.name == "floor" {
			continue
		}
		b.Run(p.name, func(b *testing.B) {
			for b.Loop() {
				once := p.turn(b, "/slow", 2)
				before := acceptedSoFar(b)
				if err := side(64, 640, once); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(acceptedSoFar(b)-before), "conns")
			}
		})
	}
}

// BenchmarkLoad is 200 trajectories at once, each with a history of 100 messages.
func BenchmarkLoad(b *testing.B) {
	for _, p := range peers() {
		b.Run(p.name, func(b *testing.B) {
			once := p.turn(b, "", 100)
			for b.Loop() {
				const turns = 2000
				begin, cpu := time.Now(), cpuTime()
				if err := side(200, turns, once); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(turns/time.Since(begin).Seconds(), "turns/s")
				b.ReportMetric(float64((cpuTime()-cpu).Microseconds())/turns, "cpu-us/turn")
			}
		})
	}
}

// BenchmarkGrowth is one turn for histories of up to 5,000 messages.
func BenchmarkGrowth(b *testing.B) {
	for _, n := range []int{1000, 2000, 3000, 4000, 5000} {
		for _, p := range peers() {
			if p.name == "homing" || p.name == "floor" {
				b.Run(fmt.Sprintf("n=%d/%s", n, p.name), func(b *testing.B) { measure(b, p.turn(b, "", n)) })
			}
		}
	}
}

// BenchmarkIdleSession is what a session costs while nothing is sent: its ID, its
// context, and what the audit keeps.
func BenchmarkIdleSession(b *testing.B) {
	const sessions = 100_000
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		audit := new(routing.Audit)
		contexts := make([]context.Context, sessions)
		for i := range contexts {
			s := routing.NewSession(routing.NewID())
			contexts[i] = routing.NewContext(context.Background(), s)
			audit.Tokens(s, 1, 100, 0)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/sessions, "B/session")
		runtime.KeepAlive(contexts)
		runtime.KeepAlive(audit)
	}
}

func measure(b *testing.B, once func() error) {
	if err := once(); err != nil { // opens the connection
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := once(); err != nil {
			b.Fatal(err)
		}
	}
}

// side calls once n times, by so many goroutines side by side.
func side(goroutines, n int, once func() error) error {
	var group sync.WaitGroup
	work := make(chan struct{})
	errs := make(chan error, goroutines)
	for range goroutines {
		group.Go(func() {
			for range work {
				if err := once(); err != nil {
					select {
					case errs <- err:
					default:
					}
				}
			}
		})
	}
	for range n {
		work <- struct{}{}
	}
	close(work)
	group.Wait()
	close(errs)
	return <-errs
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func acceptedSoFar(b *testing.B) int {
	res, err := http.Get(strings.TrimSuffix(serverURL, "/v1") + "/accepted")
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		b.Fatal(err)
	}
	n, err := strconv.Atoi(string(text))
	if err != nil {
		b.Fatal(err)
	}
	return n
}
