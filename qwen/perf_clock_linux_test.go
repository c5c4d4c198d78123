package qwen_test

import (
	"syscall"
	"time"
	"unsafe"
)

// processor is the processor time of this thread, which other processes do not change.
func processor() time.Duration {
	const thread = 3 // CLOCK_THREAD_CPUTIME_ID
	var ts syscall.Timespec
	_, _, _ = syscall.Syscall(syscall.SYS_CLOCK_GETTIME, thread, uintptr(unsafe.Pointer(&ts)), 0)
	return time.Duration(ts.Nano())
}
