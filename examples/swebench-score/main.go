// Swebench-score scores the SWE-bench datasets of a benchmark's configuration through a
// SWE-bench service: it submits a run, follows it, fetches its artifacts and reports.
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

	"github.com/homing-go/homing/swebench/config"
	"github.com/homing-go/homing/swebench/scorer"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	var terminal io.Writer
	if info, err := os.Stderr.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		terminal = os.Stderr
	}
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr, terminal))
}

func run(ctx context.Context, args []string, stdout, stderr, terminal io.Writer) int {
	flags := flag.NewFlagSet("swebench-score", flag.ContinueOnError)
	flags.SetOutput(stderr)
	file := flags.String("config", "", "the benchmark's YAML `file`")
	dataset := flags.String("dataset", "", "`file` with the rows, JSON, JSON Lines or Parquet; {subset} and {split} in its name are filled in (default: the path in the configuration)")
	dir := flags.String("report-dir", "", "`folder` for the results, the artifacts and the report")
	mode := flags.String("mode", "acc", "perf, acc or both; perf has nothing to score")
	limit := flags.Int64("max-artifact-bytes", 1<<30, "the largest artifact that is downloaded, in `bytes`")
	asJSON := flags.Bool("json", false, "print the report entry as one JSON object")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if flags.NArg() > 0 || *file == "" || *dir == "" || *limit < 1 || *mode != "perf" && *mode != "acc" && *mode != "both" {
		fmt.Fprintln(stderr, "swebench-score: want -config, -report-dir, a -mode of perf, acc or both, a positive -max-artifact-bytes, and no arguments besides; see -h")
		return 2
	}
	cfg, err := config.Load(*file)
	if err != nil {
		fmt.Fprintln(stderr, "swebench-score:", err)
		return 1
	}
	b := scorer.Benchmark{
		Config: cfg, Mode: config.Mode(*mode), Dataset: *dataset, ReportDir: *dir, MaxArtifactBytes: *limit,
		Logger: slog.New(slog.NewTextHandler(stderr, nil)),
	}
	if terminal != nil {
		b.Progress = (&bars{w: terminal}).show
	}
	entries, err := b.Run(ctx)
	code := 0
	for _, e := range entries {
		if !e.Complete {
			code = 1
		}
		if *asJSON {
			err = errors.Join(err, json.NewEncoder(stdout).Encode(e))
			continue
		}
		fmt.Fprint(stdout, e.Text())
	}
	if err != nil {
		fmt.Fprintln(stderr, "swebench-score:", err)
		return 1
	}
	return code
}
