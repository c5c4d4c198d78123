package runner_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(helperVariable) != "" {
		os.Exit(helper())
	}
	if text := os.Getenv(checkoutVariable); text != "" {
		os.Exit(checkOut(text))
	}
	if text := os.Getenv(harnessVariable); text != "" {
		os.Exit(standIn(text, os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}
