package agent_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if journal := os.Getenv("AGENT_TEST_JOURNAL"); journal != "" {
		os.Exit(beKilled(journal)) // this process is the one that a test kills
	}
	goleak.VerifyTestMain(m)
}
