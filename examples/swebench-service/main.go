// Swebench-service is a SWE-bench service that scorers of this project and of the Python
// one can use. See the runbook in swebench/service.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/homing-go/homing/swebench/runner"
	"github.com/homing-go/homing/swebench/service"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stderr))
}

func run(ctx context.Context, args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("swebench-service", flag.ContinueOnError)
	flags.SetOutput(stderr)
	host := flags.String("host", "127.0.0.1", "address to listen on")
	port := flags.Uint("port", 18080, "port to listen on; 0 chooses one")
	cfg := service.Config{Logger: slog.New(slog.NewTextHandler(stderr, nil))}
	flags.StringVar(&cfg.ArtifactRoot, "artifact-root", "swebench_service_artifacts", "folder of the runs")
	flags.IntVar(&cfg.MaxConcurrentRuns, "max-concurrent-runs", 1, "runs that are queued or running at a time")
	timeout := flags.Float64("subprocess-timeout-s", 86400, "limit of each phase's child process, in seconds")
	flags.StringVar(&cfg.AuthToken, "auth-token", "", "token that clients must send; others can see it in the process list")
	tokenEnv := flags.String("auth-token-env", "", "environment variable that has the token")
	flags.BoolVar(&cfg.AllowUnauthenticated, "allow-unauthenticated", false, "ask for no token")
	flags.IntVar(&cfg.MaxStoredRuns, "max-stored-runs", 100, "finished runs to keep; 0 keeps all")
	resume := flags.Bool("resume", true, "resume runs that a restart has interrupted; else they are reported as failed")
	keyEnv := flags.String("endpoint-api-key-env", "", "environment variable that has the endpoint key of interrupted runs")
	keyWait := flags.Float64("endpoint-key-wait-s", 3600, "how long an interrupted run waits for its endpoint key, in seconds")
	var choice runner.Choice
	flags.StringVar(&choice.Runner, "runner", "", "what does the work, if not agents: scripted=FILE plays the script in FILE")
	flags.StringVar(&choice.Dataset, "dataset", "", "file or folder with the rows, or HUB/datasets/OWNER/NAME; {subset} and {split} stand for a run's own")
	flags.StringVar(&choice.Sandbox, "sandbox", "docker", runner.SandboxNames)
	flags.StringVar(&choice.Harness, "harness", "official", runner.HarnessNames)
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	refuse := func(code int, err error) int {
		fmt.Fprintln(stderr, "swebench-service:", err)
		return code
	}
	const longest = 1e9 // seconds
	switch {
	case flags.NArg() > 0:
		return refuse(2, fmt.Errorf("unexpected argument %q; see -h", flags.Arg(0)))
	case *port > 65535:
		return refuse(2, fmt.Errorf("-port %d is above 65535", *port))
	case cfg.MaxConcurrentRuns < 1:
		return refuse(2, fmt.Errorf("-max-concurrent-runs %d: want at least 1", cfg.MaxConcurrentRuns))
	case !(*timeout > 0 && *timeout <= longest && *keyWait > 0 && *keyWait <= longest):
		return refuse(2, errors.New("-subprocess-timeout-s and -endpoint-key-wait-s: want more than 0 seconds"))
	case *tokenEnv != "" && (cfg.AuthToken != "" || os.Getenv(*tokenEnv) == ""):
		return refuse(2, fmt.Errorf("-auth-token-env: %s is empty, or there is -auth-token too", *tokenEnv))
	case *keyEnv != "" && os.Getenv(*keyEnv) == "":
		return refuse(2, fmt.Errorf("-endpoint-api-key-env: %s is empty", *keyEnv))
	}
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	choice.Timeout, choice.Hide = seconds(*timeout), []string{*tokenEnv, *keyEnv}
	var err error
	if cfg.Runner, err = choice.Open(); err != nil {
		return refuse(runner.ExitCode(err), err)
	}
	cfg.AuthToken = cmp.Or(os.Getenv(*tokenEnv), cfg.AuthToken)
	cfg.NoResume, cfg.EndpointAPIKey, cfg.EndpointKeyWait = !*resume, os.Getenv(*keyEnv), seconds(*keyWait)
	if err := cfg.Validate(); err != nil {
		return refuse(2, err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(*host, strconv.FormatUint(uint64(*port), 10)))
	if err != nil {
		return refuse(1, err)
	}
	s, err := service.New(cfg) //nolint:contextcheck // runs end by Serve, which cancels them first
	if err != nil {
		return refuse(1, errors.Join(err, listener.Close()))
	}
	fmt.Fprintf(stderr, "swebench-service: listening on http://%s\n", listener.Addr())
	if err := service.Serve(ctx, listener, s); err != nil {
		return refuse(1, err)
	}
	return 0
}
