//go:build unix

package atomicfile

import "syscall"

// nonblock keeps the opening of a pipe that took the file's place from blocking.
const nonblock = syscall.O_NONBLOCK
