// Package sandbox is where the commands of a task run: in a container of Docker or Podman, with
// bubblewrap over a root folder, or as processes of this machine.
//
// A [Runtime] starts sandboxes from a [Spec], finds them again by label or ID, also those of a
// process that was killed, and removes them. A [Sandbox] runs commands: it is what the executor
// of the qwen package needs, and more. [Exec] runs a [Command] with a timeout, an environment
// or a writer that sees the output as it comes. [Sweep] removes what an earlier process left
// behind.
//
// What a caller may rely on, whatever the runtime:
//
//   - A command that has to end ends with all its processes: those that ignore signals, those
//     in sessions of their own, and in a container also those that have cleared their
//     environment and lost their parents. What earlier commands left in the background lives
//     on, except with bubblewrap, until another process attaches.
//   - Output is read as it comes and kept in bounded memory, as head and tail. A command that
//     prints more than 1 GiB is ended.
//   - An exit code is the command's, also when it is 127 because an earlier command has removed
//     the shell. A place that failed is an error: [ErrGone] when it is dead,
//     [*EngineError] when its engine does not do as told, [*StartError] when no command began.
//   - Arguments, paths and input are bytes, and none is ever taken for a flag of an engine.
//   - Images are fetched by Prepare, a few at once, after a look at the disk, and never removed.
//
// Every command begins with a small shell script that prints a first line of its own, which is
// the proof that it began. Image and root folder need a POSIX shell at /bin/sh with mkdir, and
// sleep in a container; copies need cat, chmod, mv and rm.
package sandbox
