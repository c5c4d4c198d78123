// Package runner runs an agent on the instances of a SWE-bench dataset and has the patches
// graded: from rows to a score.
//
//	cfg, endpoint, err := runner.Setup{
//		Dataset: "rows.jsonl", BaseURL: "http://localhost:8000/v1", Model: "qwen3-coder",
//		Templates: []string{"qwen_tools"}, Sandbox: "docker", Harness: "native", Workers: 4, Out: "out",
//	}.Open(ctx)
//	...
//	result, err := runner.Run(ctx, cfg)
//
// A [Setup] is a run in the words of a command line; the [Config] that it opens can be changed,
// such as its NewClient, or be made by hand: see the example. As a command:
// examples/swebench-run. The README has a guide from two replicas behind nginx to a score.
//
// Each execution of a trajectory has a client and a session of its own, derived from the
// run's name, the instance and the number of the attempt. A resumed trajectory keeps it, and
// one that is executed anew gets another.
//
// # The folder
//
// Dir is what the Python agent calls its output: preds.json, exit_statuses_<time>.yaml, and
// <id>/<id>.traj.json. Beside the trajectory is its journal, a line a step, each on disk
// before the next step begins, and state.json. run.json keeps the run's name. Files are
// replaced as a whole, so that what reads them never sees a half.
//
// A run that was interrupted, by a kill -9 too, goes on when it is run again with its folder:
// finished instances stay, trajectories that were under way continue with their last finished
// step if their sandbox is still there, and start anew under another session if not.
//
// # Failures
//
// What is not the model's fault is no result: an endpoint that is down, an image that is
// missing, a sandbox that is lost. Such an instance gets no prediction, the score is
// incomplete and says why, and the next run with the folder executes it anew. Within a run an
// instance is tried again only where a [sandbox.StartError] proves that its commands never
// began. For an endpoint that is restarted requests wait, see [Endpoint].
//
// Whatever a model does in its instance, it ends in one of the statuses of [agent.ExitStatus]
// or of the constants here, within [agent.Limits], and the other instances are what they would
// be without it. Its patch has a limit, and preds.json has one: an instance whose prediction
// has no room there ends as [PredictionsFull]. A model that destroys the shell of its sandbox
// is told from a dead sandbox by nobody, and so gets another try with the next run.
package runner
