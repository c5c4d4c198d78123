package qwen

import "context"

// A Sandbox runs processes in the place where the repository is. It is all that a
// [SandboxExecutor] needs: files travel over standard input and output, because one
// argument of a process holds 131,071 bytes at most.
type Sandbox interface {
	// Run runs a command to its end. A command that ran is no error, whatever its exit
	// code. When ctx is done Run ends the command with all its children and returns what
	// it printed so far together with the context's error.
	Run(ctx context.Context, cmd Command) (Output, error)
}

// A Command is one process: its arguments, the first of which is the program, what it
// reads, and where it starts.
type Command struct {
	Args  []string
	Stdin []byte
	Dir   string
	// Merge sends standard error to the same place as standard output.
	Merge bool
}

// An Output is what a process printed. Cut tells that there was more than the sandbox
// keeps.
type Output struct {
	Stdout, Stderr []byte
	ExitCode       int
	Cut            bool
}
