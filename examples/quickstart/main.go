// Quickstart shows the main job on one machine, with nothing but Go: agent trajectories
// with growing histories go to several backends, once through a consistent-hash router
// and once through round robin, and the program proves which of them keeps its cache.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/homing-go/homing/examples/internal/load"
	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/routing"
	"github.com/homing-go/homing/routing/routingtest"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr, load.Terminal(os.Stderr)))
}

func run(args []string, stdout, stderr io.Writer, progress io.Writer) int {
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.SetOutput(stderr)
	trajectories := flags.Int("trajectories", 100, "number of trajectories")
	turns := flags.Int("turns", 10, "turns of each trajectory")
	backends := flags.Int("backends", 8, "number of backends behind the router")
	asJSON := flags.Bool("json", false, "print one JSON object; all but the ratio of the unrouted pass is of the routed one")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if flags.NArg() > 0 || *trajectories < 1 || *turns < 2 || *backends < 1 {
		fmt.Fprintf(stderr, "quickstart: want -trajectories >= 1 (not %d), -turns >= 2 (not %d), -backends >= 1 (not %d), and no arguments %q; see -h\n", *trajectories, *turns, *backends, flags.Args())
		return 2
	}
	work := load.Config{Trajectories: *trajectories, Turns: *turns, Turn: toolOutput, Progress: progress}
	routed, routedTime, err := pass(work, *backends, routingtest.ConsistentHash{})
	unrouted, unroutedTime, err2 := pass(work, *backends, routingtest.RoundRobin{})
	if err := errors.Join(err, err2); err != nil {
		fmt.Fprintln(stderr, "quickstart:", err)
		return 1
	}
	if *asJSON {
		err = json.NewEncoder(stdout).Encode(map[string]any{
			"requests": routed.Requests, "trajectories": routed.Sessions, "backends": len(routed.Backends), "mismatches": routed.Mismatches,
			"cached_ratio": routed.CachedRatio(), "cached_ratio_unrouted": unrouted.CachedRatio(),
		})
	} else {
		t := tabwriter.NewWriter(stdout, 0, 0, 3, ' ', tabwriter.AlignRight)
		fmt.Fprintf(t, "\tconsistent hash\tround robin\t\nrequests\t%d\t%d\t\n", routed.Requests, unrouted.Requests)
		fmt.Fprintf(t, "trajectories\t%d\t%d\t\nbackends used\t%d\t%d\t\n", routed.Sessions, unrouted.Sessions, len(routed.Backends), len(unrouted.Backends))
		fmt.Fprintf(t, "requests served by another backend than the one before (mismatches)\t%d\t%d\t\n", routed.Mismatches, unrouted.Mismatches)
		fmt.Fprintf(t, "tokens of the turn before found in the backend's cache\t%.1f %%\t%.1f %%\t\n", 100*routed.CachedRatio(), 100*unrouted.CachedRatio())
		fmt.Fprintf(t, "median time to first byte\t%v\t%v\t\n", routedTime.Round(100*time.Microsecond), unroutedTime.Round(100*time.Microsecond))
		err = t.Flush()
		fmt.Fprintf(stdout, "\nWhere the router hashes the session, %d of %d requests left their trajectory's backend and %.0f %% of the history was in its cache; where it does not look, %.0f %%.\n",
			routed.Mismatches, routed.Requests, 100*routed.CachedRatio(), 100*unrouted.CachedRatio())
	}
	if err != nil || routed.Mismatches > 0 {
		return 1
	}
	return 0
}

// pass sends all trajectories through a router of the given policy.
func pass(work load.Config, backends int, policy routingtest.Policy) (routing.Report, time.Duration, error) {
	cluster, err := routingtest.NewCluster(routingtest.ClusterConfig{
		Backends: backends, Policy: policy, Backend: routingtest.BackendConfig{PrefillPerToken: 20 * time.Microsecond},
	})
	if err != nil {
		return routing.Report{}, 0, err
	}
	defer cluster.Close() //nolint:errcheck // its work is done
	audit := new(routing.Audit)
	client, err := model.New(model.Config{BaseURL: cluster.URL(), Model: "routingtest", Audit: audit})
	if err != nil {
		return routing.Report{}, 0, err
	}
	defer client.CloseIdleConnections()
	// With a multiple of the backends in flight, round robin would bring equally fast
	// trajectories back to their backends by accident.
	work.Client, work.Concurrency = client, 2*backends+1
	result, err := load.Run(context.Background(), work)
	return audit.Report(), result.Quantile(0.5), err
}

// toolOutput is what an agent sends in each turn.
func toolOutput(trajectory, turn int) []model.Message {
	return []model.Message{model.User(fmt.Sprintf("trajectory %d, turn %d\n%s", trajectory, turn, strings.Repeat("a line that a tool printed\n", 30)))}
}
