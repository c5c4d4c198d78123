package phase_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/homing-go/homing/internal/need"
	"github.com/homing-go/homing/swebench/internal/program"
	"github.com/homing-go/homing/swebench/phase"
	"github.com/stretchr/testify/require"
)

func value(t *testing.T, env []string, name string) (string, bool) {
	t.Helper()
	i := slices.IndexFunc(env, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
	if i < 0 {
		return "", false
	}
	v := strings.TrimPrefix(env[i], name+"=")
	for _, entry := range env[i+1:] {
		require.False(t, strings.HasPrefix(entry, name+"="), "%s is there twice", name)
	}
	return v, true
}

// An endpoint on localhost is used as 127.0.0.1, and its agents get the key EMPTY if they
// have none.
func TestCase109_Localhost(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"http://localhost:8000":                "http://127.0.0.1:8000/v1",
		"HTTP://LocalHost:8000/v1/":            "http://127.0.0.1:8000/v1",
		"http://u:p@Host.Example/a/v1?q=1#f":   "http://host.example/a/v1",
		"https://[2001:DB8::1]:443/a;p/":       "https://[2001:db8::1]:443/a/v1",
		"http://h/v1/v1":                       "http://h/v1/v1",
		"http://h/v1beta":                      "http://h/v1beta/v1",
		"http://localhost.example:1/localhost": "http://localhost.example:1/localhost/v1",
	} {
		got, err := phase.EndpointBase(in)
		require.NoError(t, err)
		require.Equal(t, want, got, in)
	}
	got, err := phase.EndpointBase(" http://h/p// ")
	require.NoError(t, err)
	require.Equal(t, "http://h/p/v1", got)
	_, err = phase.EndpointBase("http://user:pa ss@h:x/")
	require.Error(t, err)
	require.NotContains(t, err.Error(), "ss@")
	for _, host := range []string{"localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:2"} {
		key, _ := value(t, phase.AgentEnv(nil, "http://"+host, ""), "OPENAI_API_KEY")
		require.Equal(t, "EMPTY", key, host)
		key, _ = value(t, phase.AgentEnv([]string{"OPENAI_API_KEY=ambient"}, "http://"+host, "mine"), "OPENAI_API_KEY")
		require.Equal(t, "mine", key, host)
	}
}

// Agents of a remote endpoint without a key get none, whatever the service has.
func TestCase110_NoAmbientKey(t *testing.T) {
	t.Parallel()
	env := phase.AgentEnv([]string{"A=1", "OPENAI_API_KEY=ambient", "SERVICE_TOKEN=t", "SPARE_KEY=k"}, "https://api.example", "", "SERVICE_TOKEN", "SPARE_KEY", "")
	_, ok := value(t, env, "OPENAI_API_KEY")
	require.False(t, ok)
	require.NotContains(t, strings.Join(env, " "), "SERVICE_TOKEN")
	require.NotContains(t, strings.Join(env, " "), "SPARE_KEY")
	require.Contains(t, env, "A=1")
	require.Equal(t, []string{"A=1"}, phase.EvalEnv([]string{"A=1", "OPENAI_API_KEY=ambient", "T=t"}, "T"))
}

// Proxies stay as they are, and both spellings of the exceptions hold the sorted union of
// the loopback, the endpoint's host and what was there.
func TestCase112_Proxies(t *testing.T) {
	t.Parallel()
	env := phase.AgentEnv([]string{"HTTP_PROXY=http://p:1", "https_proxy=http://p:2", "NO_PROXY=z.example, localhost,", "no_proxy=ignored"}, "http://Model.Example:8000/v1", "")
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		got, _ := value(t, env, name)
		require.Equal(t, "127.0.0.1,localhost,model.example,z.example", got)
	}
	require.Contains(t, env, "HTTP_PROXY=http://p:1")
	require.Contains(t, env, "https_proxy=http://p:2")
	got, _ := value(t, phase.AgentEnv([]string{"no_proxy=other"}, "http://h", ""), "NO_PROXY")
	require.Equal(t, "127.0.0.1,h,localhost,other", got)
}

// The filter matches exactly the IDs with dots, plus and dashes, and no longer one.
func TestCase113_Filter(t *testing.T) {
	t.Parallel()
	require.Equal(t, `^(?:a__b\-1\.2|c\+\+\-3|d/e_f)$`, phase.Filter([]string{"a__b-1.2", "c++-3", "d/e_f"}))
}

// The result is taken from the expected name, else from the one file that can be meant;
// two candidates are refused.
func TestCase119_Result(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte("{}"), 0o644))
		return path
	}
	_, err := phase.FindResult(dir, "org/model", "endpoints_01234567")
	require.ErrorContains(t, err, "no org__model.endpoints_01234567.json")
	nested := write("deep/er/other.endpoints_01234567.json")
	write("deep/other.endpoints_76543210.json")
	got, err := phase.FindResult(dir, "org/model", "endpoints_01234567")
	require.NoError(t, err)
	require.Equal(t, nested, got)
	write("x-endpoints_01234567-y.json")
	_, err = phase.FindResult(dir, "org/model", "endpoints_01234567")
	require.ErrorContains(t, err, "2 files")
	expected := write("org__model.endpoints_01234567.json")
	got, err = phase.FindResult(dir, "org/model", "endpoints_01234567")
	require.NoError(t, err)
	require.Equal(t, expected, got)
}

// Removing what one run started leaves the containers of another one alone: the label must
// be its own, the name exact.
func TestCase122_OtherRunsContainers(t *testing.T) {
	t.Parallel()
	need.Programs(t, "sh")
	dir := t.TempDir()
	tool := filepath.Join(dir, "docker")
	program.Write(t, tool, `#!/bin/sh
echo "$@" >> `+dir+`/calls
case "$*" in
*label=com.mlcommons.endpoints.swebench-run=run1*) echo id1 minisweagent-1; echo id2 minisweagent-2;;
*name=endpoints_01234567*) echo id3 sweb.eval.a__b-1.endpoints_01234567; echo id4 sweb.eval.a__b-11.endpoints_01234567; echo id1 x;;
esac
`)
	c := phase.Containers{Executable: tool, RunID: "run1", EvalRunID: "endpoints_01234567", InstanceIDs: []string{"A__b-1"}}
	require.NoError(t, c.Remove(t.Context()))
	calls := strings.Split(strings.TrimSpace(read(t, filepath.Join(dir, "calls"))), "\n")
	require.Len(t, calls, 3)
	require.Equal(t, "rm -f id1 id2 id3", calls[2])

	c = phase.Containers{Executable: tool, RunID: "run2"}
	require.NoError(t, c.Remove(t.Context()))
	calls = strings.Split(strings.TrimSpace(read(t, filepath.Join(dir, "calls"))), "\n")
	require.Len(t, calls, 4, "nothing to remove: no call")
	c.Executable = filepath.Join(dir, "missing")
	require.Error(t, c.Remove(t.Context()))
}
