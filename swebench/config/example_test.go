package config_test

import (
	"fmt"

	"github.com/homing-go/homing/swebench/config"
)

func Example() {
	c, err := config.Parse([]byte(`
model_params: {name: qwen3-coder, temperature: 1.0}
datasets:
  - name: replay
    agentic_inference: {routing_headers: [X-Session-ID, X-Router-Key]}
  - name: swe_bench
    type: accuracy
    accuracy_config:
      eval_method: swe_bench_scorer
      extras: {swebench_service_url: "http://10.0.0.9:18080", num_instances: "20"}
settings:
  load_pattern: {type: agentic_inference, target_concurrency: 16}
endpoint_config: {endpoints: ["http://10.0.0.5:8000"]}
`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range c.Scored(config.ModeAcc) {
		o, err := c.Options(d)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(o.ServiceURL, o.NumInstances, o.Workers, string(d.Model.GenerationParams()))
	}
	fmt.Println(c.RoutingHeaders)
	// Output:
	// http://10.0.0.9:18080/ 20 16 {"temperature":1.0,"max_new_tokens":1024}
	// [X-Session-ID X-Router-Key]
}
