package harness_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/homing-go/homing/swebench/internal/program"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if plan := os.Getenv(stubPlan); plan != "" { // this process stands in for the Python harness
		os.Exit(stub(plan, os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

func read(t *testing.T, elem ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elem...))
	require.NoError(t, err)
	return string(data)
}

func put(t *testing.T, text string, elem ...string) string {
	t.Helper()
	name := filepath.Join(elem...)
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	program.Write(t, name, text)
	return name
}
