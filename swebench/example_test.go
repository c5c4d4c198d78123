package swebench_test

import (
	"fmt"

	"github.com/homing-go/homing/swebench"
)

// A service reads a submission of an older client: what is not there has its default.
func Example() {
	request, err := swebench.ParseRunRequest([]byte(`{"model_name": "qwen3-coder", "endpoint_urls": ["http://10.0.0.5:8000"],
		"num_instances": 1, "workers": "4", "max_eval_workers": 4.0, "evaluated_instance_ids": ["django__django-16899"]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(request.Workers, request.MaxEvalWorkers, request.RoutingHeaders)

	_, err = swebench.ParseRunRequest([]byte(`{"Model_Name": "qwen3-coder"}`))
	fmt.Println(err)
	// Output:
	// 4 4 [X-Session-ID]
	// swebench: run request: Model_Name: this service does not know the key; write it as model_name
}
