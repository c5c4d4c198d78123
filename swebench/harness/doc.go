// Package harness grades predictions: it says which patches resolve their instances.
//
// There are two kinds of [Evaluator]. [Official] runs the Python harness of SWE-bench as a
// child process and reads what it leaves, from versions 4 and 5. [Native] grades rows that
// say themselves how their tests run, in sandboxes of package sandbox, without Python. Both
// leave the same files in the same places and return a [Report] with the same fields.
//
// What the counters of a report mean:
//
//   - submitted: instances with a prediction. An empty patch counts, no sandbox starts for it.
//   - completed: instances that were graded; each is resolved or unresolved.
//   - error: instances that have a patch and no verdict. The patch did not apply, the tests
//     took too long, or the evaluation itself failed.
//   - infra_failure: instances for which the evaluation, or the agent before it, failed for
//     reasons that are not the patch's: an image is missing, a sandbox was lost, the endpoint
//     was down. They are not failures of the model, and the score is incomplete.
//   - ambiguous_failure: unresolved instances whose tests gave no result at all. It is a hint;
//     verdict and score stand.
//
// Version 4 of the Python harness counts all of the errors as one. Their logs tell them
// apart: without a trace of a patch that did not apply, or of tests that took too long, an
// error is an infrastructure failure. [Report.Reasons] tells what is missing for a score to
// be taken at its word.
//
// An instance that has a report of the same run and of the same patch is not graded again.
package harness
