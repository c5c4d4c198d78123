package sandbox_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if job := os.Getenv("HOMING_TEST_CHILD"); job != "" { // this is a process that a test kills
		fmt.Fprintln(os.Stderr, child(job))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}
