// Package scripted is a runner that does what a file tells, for tests, for trying the
// service out, and for everyone who integrates a client. It needs no dataset and calls no
// endpoint.
//
// The file is {"runs": {"<model_name>": ENTRY, "*": ENTRY}}. A run takes the entry of its
// model, else that of "*"; without one it fails. All members of an entry may be left out:
//
//	delay_s       pause after the instances, in seconds
//	outcome       "succeed", "fail" or "hang"; a run that hangs writes its agent log and then nothing until it is cancelled
//	error         the text of a failure
//	patch         of every instance; "diff" if it is left out
//	instances     ID -> {delay_s, outcome, patch}; one that hangs keeps the run from going on
//	counters      the result, handed on as it is; else submitted_instances is the number of
//	              instances asked for and resolved_instances that of those whose outcome is "succeed"
//	agent_log     output of the agents
//	eval_log      output of the evaluation
//	cancel_lag_s  a cancel is heeded only so much later; a run that ends before has ended normally
//	predictions   ID -> patch or null, in place of the computed ones
//	agent_command argv of a child process that is the agent phase; its output is the log, instead of agent_log
//	eval_command  the same for the evaluation
//
// The order is: agent log or command; each instance waits and joins
// swe_bench_output/preds.json, unless it is there already; delay_s; the outcome; the check
// of the predictions; preds.json; swe_bench_eval_run_id.txt; evaluation log or command;
// swe_bench_results.json. A run that fails or is cancelled keeps its logs and predictions.
//
// Commands run in swe_bench_output, in the environment of package phase and with
// SWEBENCH_RUN_ID, SWEBENCH_RUN_DIR and SWEBENCH_API_BASE; after them the containers of the run are removed.
//
// A member that is not listed here, a wrong type, or a name given twice is an error that
// names it.
package scripted
