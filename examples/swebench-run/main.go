// Swebench-run runs an agent on the instances of a SWE-bench dataset and grades its patches:
// from a dataset to a score, in one process. Run again with its -out folder it goes on.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/homing-go/homing/swebench/runner"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	setup := runner.Setup{Logger: slog.New(slog.NewTextHandler(stderr, nil))}
	flags := flag.NewFlagSet("swebench-run", flag.ContinueOnError)
	flags.SetOutput(stderr)
	list := func(to *[]string) func(string) error {
		return func(value string) error {
			*to = append(*to, value)
			return nil
		}
	}
	flags.StringVar(&setup.Dataset, "dataset", "", "file or folder with the rows, or https://HUB/datasets/OWNER/NAME")
	flags.StringVar(&setup.Split, "split", "test", "split of a dataset that has several")
	flags.StringVar(&setup.Filter, "filter", "", "regular expression for the beginning of instance IDs")
	flags.StringVar(&setup.Slice, "slice", "", "rows by a slice as in Python, such as 0:5")
	flags.StringVar(&setup.BaseURL, "base-url", "", "root of an OpenAI-compatible API, such as http://localhost:8000/v1")
	flags.StringVar(&setup.Model, "model", "", "model, as the endpoint knows it")
	flags.StringVar(&setup.APIKeyEnv, "api-key-env", "", "environment variable that has the endpoint's key")
	flags.Func("template", "default, qwen_tools, or a configuration file of mini-swe-agent; may be repeated, files merge", list(&setup.Templates))
	flags.StringVar(&setup.Params, "params", "", "sampling parameters as a JSON object, such as {\"temperature\": 0.7, \"max_new_tokens\": 8192}")
	flags.Func("header", "header that carries the session, X-Session-ID if there is none; may be repeated, '' sends none", list(&setup.Headers))
	flags.StringVar(&setup.Preset, "preset", "", "router by its name, in the place of -header")
	flags.StringVar(&setup.Sandbox, "sandbox", "docker", runner.SandboxNames)
	flags.DurationVar(&setup.Outage, "outage", 0, "how long requests wait for an endpoint that was there and is away; 0 means 10m, below 0 not at all")
	flags.IntVar(&setup.MemoryMB, "memory-mb", 0, "memory of a sandbox, in MiB; 0 means no limit")
	flags.IntVar(&setup.PIDs, "pids", 0, "processes of a sandbox; 0 means no limit, and 4096 with docker")
	flags.StringVar(&setup.Harness, "harness", "native", runner.HarnessNames)
	flags.IntVar(&setup.Workers, "workers", 4, "instances at a time")
	flags.StringVar(&setup.Run, "run", "", "name of the run, random if there is none; a name is for one -out")
	flags.StringVar(&setup.Shard, "shard", "", "part i/n of the run, such as 1/4")
	flags.StringVar(&setup.Out, "out", "swebench_run", "output folder; one that has a run goes on with it")
	flags.BoolVar(&setup.KeepSandboxes, "keep-sandboxes", false, "when interrupted, leave the sandboxes of unfinished instances, so that the next run with -out goes on in them")
	asJSON := flags.Bool("json", false, "print the result as one JSON object")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "swebench-run: unexpected argument %q; see -h\n", flags.Arg(0))
		return 2
	}
	if setup.Workers < 1 {
		fmt.Fprintf(stderr, "swebench-run: -workers %d: want at least 1\n", setup.Workers)
		return 2
	}
	refuse := func(err error) int {
		fmt.Fprintln(stderr, "swebench-run:", err)
		return runner.ExitCode(err)
	}
	cfg, endpoint, err := setup.Open(ctx)
	if err != nil {
		return refuse(err)
	}
	defer endpoint.CloseIdleConnections()
	cfg.Progress = func(p runner.Progress) { fmt.Fprintln(stderr, p) }
	result, err := runner.Run(ctx, cfg)
	if err != nil && (runner.IsUsage(err) || result.Evaluated == 0) {
		return refuse(err)
	}
	if *asJSON {
		err = json.NewEncoder(stdout).Encode(result)
	} else {
		_, err = io.WriteString(stdout, result.Text())
	}
	if err != nil {
		return refuse(err)
	}
	if !result.Complete {
		return 1
	}
	return 0
}
