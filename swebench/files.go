package swebench

// The files of a run's folder, as clients, operators and tools know them.
const (
	FileRequest   = "request.json"
	FileStatus    = "status.json"
	FileAgentLog  = "swe_bench_agent.log"
	FileEvalLog   = "swe_bench_eval.log"
	FilePreds     = "preds.json"
	FileResults   = "swe_bench_results.json"
	FileEvalRunID = "swe_bench_eval_run_id.txt"
	// DirOutput is where the agents and the evaluation work; it has a preds.json of its own.
	DirOutput = "swe_bench_output"
)
