package routingtest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/homing-go/homing/routing/routingtest"
)

// BenchmarkBackend is one request with a history of 100 KB, without a socket.
func BenchmarkBackend(b *testing.B) {
	for _, kind := range []string{"plain", "stream"} {
		b.Run(kind, func(b *testing.B) {
			h := newHistory("task")
			for i := range 100 {
				h.messages = append(h.messages, message("assistant", "ok"), message("tool", fmt.Sprint(i, strings.Repeat("line \"x\"\n", 100))))
			}
			h.messages = append(h.messages, message("user", "go on, please"))
			body := h.body(fmt.Sprintf(`"stream":%t,`, kind == "stream"))
			backend := routingtest.NewBackend(routingtest.BackendConfig{})
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				backend.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/v1/chat/completions", strings.NewReader(body)))
			}
		})
	}
}

// BenchmarkRun is the shape of the quickstart: 100 trajectories of 10 turns with
// growing histories over loopback sockets.
func BenchmarkRun(b *testing.B) {
	_, w := cluster(b, routingtest.ClusterConfig{Backends: 8})
	for b.Loop() {
		if err := together(100, func(i int) error {
			h := newHistory(fmt.Sprint("task ", i))
			for range 10 {
				if err := w.try(h.body(), "X-Session-ID", fmt.Sprint(i)); err != nil {
					return err
				}
				h.grow([]byte(message("assistant", "ok")), strings.Repeat("0123456789", 1000))
			}
			return nil
		}); err != nil {
			b.Fatal(err)
		}
	}
}
