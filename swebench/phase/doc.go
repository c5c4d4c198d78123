// Package phase runs one phase of a run, the agents or the evaluation, as a child process:
// in a session of its own, with a limit, with a log that never has a secret in it, and
// with nothing left when it ends.
//
// [Command] is the process, [Log] where its output goes, [AgentEnv] and [EvalEnv] what it
// finds in its environment, and [Containers] removes the containers that it started.
package phase
