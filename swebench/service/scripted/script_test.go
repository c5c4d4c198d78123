package scripted_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/homing-go/homing/swebench/service/scripted"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ptr(s string) *string { return &s }

// Every member is read as what it is.
func TestParse(t *testing.T) {
	t.Parallel()
	s, err := scripted.Parse([]byte(` {"runs": {"org/model": {"delay_s": 1.5, "outcome": "fail", "error": "e", "patch": "p", "counters": {"a": 1.0, "b": [1]},
		"instances": {"x": {"delay_s": 2, "outcome": "hang", "patch": ""}, "y": {}}, "agent_log": "a\u00e9", "eval_log": "v", "cancel_lag_s": 0.25,
		"predictions": {"x": "d", "z": null}, "agent_command": ["sh", "-c", ""], "eval_command": ["true"]}, "*": {}}} `))
	require.NoError(t, err)
	require.Equal(t, &scripted.Script{Runs: map[string]scripted.Entry{
		"*": {},
		"org/model": {
			Delay: 1500 * time.Millisecond, Outcome: scripted.Fail, Error: "e", Patch: ptr("p"), Counters: []byte(`{"a": 1.0, "b": [1]}`),
			Instances: map[string]scripted.Instance{"x": {Delay: 2 * time.Second, Outcome: scripted.Hang, Patch: ptr("")}, "y": {}},
			AgentLog:  "aé", EvalLog: "v", CancelLag: 250 * time.Millisecond, Predictions: map[string]*string{"x": ptr("d"), "z": nil},
			AgentCommand: []string{"sh", "-c", ""}, EvalCommand: []string{"true"},
		},
	}}, s)
}

// What a script may not have is refused and named.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	entry := func(members string) string { return `{"runs":{"m":{` + members + `}}}` }
	for text, want := range map[string]string{
		``:                                     "end of JSON",
		`[]`:                                   "a list",
		`null`:                                 "null",
		`{}`:                                   "runs",
		`{"runs":{}} x`:                        "byte 12",
		`{"runs":{},"more":1}`:                 "more",
		`{"Runs":{}}`:                          "Runs",
		`{"runs":[]}`:                          "runs: it is a list",
		`{"runs":{},"runs":{}}`:                "runs: it is there twice",
		`{"runs":{"m":null}}`:                  "runs.m: it is null",
		`{"runs":{"m":{},"m":{}}}`:             "runs.m: it is there twice",
		entry(`"delay":1`):                     "runs.m.delay",
		entry(`"Delay_s":1`):                   "runs.m.Delay_s",
		entry(`"delay_s":"1"`):                 "runs.m.delay_s: it is a string",
		entry(`"delay_s":true`):                "runs.m.delay_s: it is a boolean",
		entry(`"delay_s":null`):                "runs.m.delay_s: it is null",
		entry(`"delay_s":-1`):                  "runs.m.delay_s: it is -1",
		entry(`"delay_s":1e400`):               "runs.m.delay_s: it is 1e400",
		entry(`"delay_s":1e18`):                "runs.m.delay_s",
		entry(`"cancel_lag_s":[]`):             "runs.m.cancel_lag_s",
		entry(`"outcome":"Succeed"`):           `runs.m.outcome: it is "Succeed"`,
		entry(`"outcome":""`):                  "runs.m.outcome",
		entry(`"outcome":1`):                   "runs.m.outcome: it is a number",
		entry(`"error":1`):                     "runs.m.error",
		entry(`"patch":null`):                  "runs.m.patch: it is null",
		entry(`"instances":[]`):                "runs.m.instances",
		entry(`"instances":{"i":1}`):           "runs.m.instances.i",
		entry(`"instances":{"i":{"x":1}}`):     "runs.m.instances.i.x",
		entry(`"instances":{"i":{"patch":1}}`): "runs.m.instances.i.patch",
		entry(`"counters":[]`):                 "runs.m.counters",
		entry(`"agent_log":{}`):                "runs.m.agent_log",
		entry(`"eval_log":0`):                  "runs.m.eval_log",
		entry(`"predictions":{"i":1}`):         "runs.m.predictions.i",
		entry(`"predictions":"x"`):             "runs.m.predictions",
		entry(`"agent_command":"sh"`):          "runs.m.agent_command: it is a string",
		entry(`"agent_command":[]`):            "runs.m.agent_command: it names no program",
		entry(`"eval_command":["sh",1]`):       "runs.m.eval_command[1]",
		"{\"runs\":{\"\xff\":{}}}":             "UTF-8",
	} {
		_, err := scripted.Parse([]byte(text))
		require.ErrorContains(t, err, want, text)
		var scriptErr *scripted.ScriptError
		require.ErrorAs(t, err, &scriptErr)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "script.json")
	_, err := scripted.Read(name)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(name, []byte(`{"runs":{"*":{}}}`), 0o644))
	require.NoError(t, os.Symlink(name, name+"2"))
	s, err := scripted.Read(name + "2")
	require.NoError(t, err)
	require.Len(t, s.Runs, 1)
}

func FuzzParse(f *testing.F) {
	f.Add(`{"runs":{"*":{"delay_s":1,"instances":{"a":{}},"predictions":{"a":null},"agent_command":["x"]}}}`)
	f.Add(`{"runs":{"*":{"counters":{"a":[{}]}}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := scripted.Parse([]byte(text))
		if err == nil {
			require.NotNil(t, s.Runs)
			for _, e := range s.Runs {
				require.GreaterOrEqual(t, e.Delay, time.Duration(0))
			}
		}
	})
}

func ExampleParse() {
	_, err := scripted.Parse([]byte(`{"runs": {"*": {"delay": 3}}}`))
	fmt.Println(err)
	s, err := scripted.Parse([]byte(strings.ReplaceAll(`{"runs": {"*": {"delay": 3}}}`, "delay", "delay_s")))
	fmt.Println(s.Runs["*"].Delay, err)
	// Output:
	// script: runs.*.delay: there is no such member
	// 3s <nil>
}
