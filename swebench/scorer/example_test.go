package scorer_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"time"

	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/scorer"
)

// A run on a service that does not know session headers yet.
func Example() {
	service := httptest.NewServer(&pyService{capabilities: oldCapabilities(), statuses: []string{status("running"), succeeded(2, 1)}})
	defer service.Close()
	dir, err := os.MkdirTemp("", "report")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	s, err := scorer.New(scorer.Config{
		ServiceURL: service.URL, DatasetName: "swe_bench", ReportDir: dir, PollInterval: time.Millisecond,
		Request: swebench.RunRequest{
			ModelName: "qwen3-coder", EndpointURLs: []string{"http://10.0.0.5:8000"}, Subset: "verified", Split: "test", Template: "default",
			NumInstances: 2, Workers: 10, MaxEvalWorkers: 10, EvaluatedInstanceIDs: []string{"django__django-16899", "sympy__sympy-24066"},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	entry, err := s.Score(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(*entry.Score, entry.Complete)
	fmt.Println(entry.Routing.Text)
	// Output:
	// 0.5 true
	// the service lacks swebench.routing_headers: its agents send no X-Session-ID, so routing by session does not work in this run
}
