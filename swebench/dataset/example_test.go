package dataset_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/homing-go/homing/swebench/dataset"
)

func Example() {
	dir, err := os.MkdirTemp("", "dataset")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "test.jsonl")
	rows := `{"instance_id": "own__calc-1", "FAIL_TO_PASS": "[\"test_add\"]"}
{"instance_id": "own__calc-2", "docker_image": "calc:2"}
{"instance_id": "other__x-1"}`
	if err := os.WriteFile(file, []byte(rows), 0o600); err != nil {
		panic(err)
	}
	loaded, err := dataset.Load(context.Background(), dataset.Source{Path: file, Filter: "own__"})
	if err != nil {
		panic(err)
	}
	for _, row := range loaded {
		fmt.Println(row.InstanceID, row.FailToPass, dataset.ImageFor(row, "arm64"))
	}
	// Output:
	// own__calc-1 [test_add] docker.io/swebench/sweb.eval.arm64.own_1776_calc-1:latest
	// own__calc-2 [] calc:2
}
