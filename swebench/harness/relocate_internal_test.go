package harness

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The folder of a row's script becomes that of the sandbox, and no other path does.
func TestRelocated(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"cd /testbed && make\n/testbed/run '/testbed' \"/testbed/a b\" X=/testbed:/testbed": "cd /w/1 && make\n/w/1/run '/w/1' \"/w/1/a b\" X=/w/1:/w/1",
		"/testbed": "/w/1",
		"/opt/testbed /testbed2 /testbed.old ./testbed envs/testbed ~/testbed $X/testbed ${X}/testbed //testbed": "/opt/testbed /testbed2 /testbed.old ./testbed envs/testbed ~/testbed $X/testbed ${X}/testbed //testbed",
		"": "",
	} {
		require.Equal(t, want, relocated(script, "", "/w/1"), script)
	}
	require.Equal(t, "cd /testbed", relocated("cd /testbed", "", "/testbed"))
	require.Equal(t, "cd /testbed", relocated("cd /testbed", "", ""))
	require.Equal(t, "cd /testbed", relocated("cd /testbed", "", "/with a space"), "it would be two words")
	require.Equal(t, "cd /w /testbed", relocated("cd /repo /testbed", "/repo", "/w"))
}
