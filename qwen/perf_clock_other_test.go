//go:build !linux

package qwen_test

import "time"

var started = time.Now()

// processor stands in for processor time where that is not to be had.
func processor() time.Duration { return time.Since(started) }
