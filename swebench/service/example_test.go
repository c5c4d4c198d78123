package service_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/homing-go/homing/swebench/service"
)

func Example() {
	root, err := os.MkdirTemp("", "runs")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(root)
	done := make(chan struct{})
	s, err := service.New(service.Config{
		ArtifactRoot: root,
		AuthToken:    "token",
		Runner: service.RunnerFunc(func(_ context.Context, job service.Job) (json.RawMessage, error) {
			defer close(done)
			fmt.Println(job.Request.ModelName, job.Request.EvaluatedInstanceIDs, job.Request.RoutingHeaders)
			return json.RawMessage(`{"submitted_instances": 1, "resolved_instances": 1}`), nil
		}),
	})
	if err != nil {
		panic(err)
	}
	server := httptest.NewServer(s)
	defer server.Close()

	req, err := http.NewRequest(http.MethodPost, server.URL+"/v1/runs", strings.NewReader(`{"model_name": "qwen3-coder",
		"endpoint_urls": ["http://localhost:8000"], "num_instances": 1, "workers": 1, "max_eval_workers": 1, "evaluated_instance_ids": ["a__b-1"]}`))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Authorization", "Bearer token")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		panic(err)
	}
	defer res.Body.Close()
	<-done
	fmt.Println(res.Status, s.Close(context.Background()))
	// Output:
	// qwen3-coder [a__b-1] [X-Session-ID]
	// 202 Accepted <nil>
}
