package phase

// RunIDVariable is the environment variable by which the processes of a run are found
// again when the service that started them was killed.
const RunIDVariable = "SWEBENCH_RUN_ID"
