package scripted_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/homing-go/homing/internal/need"
	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/internal/program"
	"github.com/homing-go/homing/swebench/phase"
	"github.com/homing-go/homing/swebench/redact"
	"github.com/homing-go/homing/swebench/service"
	"github.com/homing-go/homing/swebench/service/scripted"
	"github.com/stretchr/testify/require"
)

// A play runs one script.
type play struct {
	*testing.T
	job service.Job
	log bytes.Buffer
}

func newPlay(t *testing.T, ids ...string) *play {
	t.Helper()
	p := &play{T: t}
	p.job = service.Job{
		RunID: "run1", Dir: t.TempDir(), EndpointAPIKey: "sk-secret", Redact: redact.New("sk-secret"), Logger: slog.New(slog.NewTextHandler(&p.log, nil)),
		Request: swebench.RunRequest{ModelName: "m", EndpointURLs: []string{"http://127.0.0.1:1"}, EvaluatedInstanceIDs: ids},
	}
	return p
}

func (p *play) run(ctx context.Context, entry string) (json.RawMessage, error) {
	p.Helper()
	script, err := scripted.Parse([]byte(`{"runs":{"m":` + entry + `}}`))
	require.NoError(p, err)
	return (&scripted.Runner{Script: script, Hide: []string{"HIDDEN"}}).Run(ctx, p.job)
}

func (p *play) file(elem ...string) string {
	p.Helper()
	data, err := os.ReadFile(p.job.Path(elem...))
	require.NoError(p, err)
	return string(data)
}

func (p *play) patches(elem ...string) map[string]string {
	p.Helper()
	var preds map[string]struct {
		Model string  `json:"model_name_or_path"`
		ID    string  `json:"instance_id"`
		Patch *string `json:"model_patch"`
	}
	require.NoError(p, json.Unmarshal([]byte(p.file(elem...)), &preds))
	patches := map[string]string{}
	for id, pred := range preds {
		require.Equal(p, id, pred.ID)
		require.Equal(p, "m", pred.Model)
		patches[id] = "null"
		if pred.Patch != nil {
			patches[id] = *pred.Patch
		}
	}
	return patches
}

func TestRunSucceeds(t *testing.T) {
	t.Parallel()
	p := newPlay(t, "a", "b", "c")
	result, err := p.run(t.Context(), `{"patch":"all <&>","instances":{"b":{"patch":"own","outcome":"fail"}},"agent_log":"key sk-secret\n","eval_log":"fine"}`)
	require.NoError(t, err)
	require.JSONEq(t, `{"submitted_instances":3,"resolved_instances":2}`, string(result))
	require.Equal(t, string(result), p.file(swebench.FileResults))
	require.Equal(t, "key <redacted>\n", p.file(swebench.FileAgentLog))
	require.Equal(t, "fine", p.file(swebench.FileEvalLog))
	require.Equal(t, map[string]string{"a": "all <&>", "b": "own", "c": "all <&>"}, p.patches(swebench.FilePreds))
	require.Equal(t, p.file(swebench.FilePreds), p.file(swebench.DirOutput, swebench.FilePreds))
	require.Regexp(t, `^endpoints_[0-9a-f]{8}$`, p.file(swebench.FileEvalRunID))
	require.Empty(t, p.log.String())

	p = newPlay(t, "a")
	result, err = p.run(t.Context(), `{"counters":{"submitted_instances": "1", "x": 1.0}}`)
	require.NoError(t, err)
	require.Equal(t, `{"submitted_instances": "1", "x": 1.0}`, string(result))
	require.Equal(t, map[string]string{"a": "diff"}, p.patches(swebench.FilePreds))
	p.job.Request.ModelName = "other"
	_, err = p.run(t.Context(), `{}`)
	require.ErrorContains(t, err, `"other"`)
}

// The time a run takes: each instance in turn, then the pause.
func TestDelays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlay(t, "a", "b")
		begin := time.Now()
		done := make(chan error, 1)
		go func() {
			_, err := p.run(t.Context(), `{"delay_s":10,"instances":{"a":{"delay_s":1},"b":{"delay_s":2.5}}}`)
			done <- err
		}()
		time.Sleep(1100 * time.Millisecond)
		synctest.Wait()
		require.Len(t, p.patches(swebench.DirOutput, swebench.FilePreds), 1)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		require.Len(t, p.patches(swebench.DirOutput, swebench.FilePreds), 2)
		require.NoFileExists(t, p.job.Path(swebench.FilePreds))
		require.NoError(t, <-done)
		require.Equal(t, 13500*time.Millisecond, time.Since(begin))
	})
}

// A run that fails, at once or in its evaluation, keeps its logs and its predictions.
func TestRunFails(t *testing.T) {
	t.Parallel()
	p := newPlay(t, "a")
	_, err := p.run(t.Context(), `{"outcome":"fail","error":"because","agent_log":"l"}`)
	require.EqualError(t, err, "because")
	require.Equal(t, "l", p.file(swebench.FileAgentLog))
	require.Len(t, p.patches(swebench.FilePreds), 1)
	require.NoFileExists(t, p.job.Path(swebench.FileEvalRunID))
	require.NoFileExists(t, p.job.Path(swebench.FileResults))
}

// A hanging run writes its agent log and nothing else, and ends when it is cancelled.
func TestRunHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlay(t, "a")
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		begin := time.Now()
		_, err := p.run(ctx, `{"outcome":"hang","agent_log":"l"}`)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Hour, time.Since(begin))
		require.Equal(t, "l", p.file(swebench.FileAgentLog))
		entries, err := os.ReadDir(p.job.Dir)
		require.NoError(t, err)
		require.Len(t, entries, 2, "the log and an empty output folder")
	})
}

// A cancel is heeded only after the lag; a run that ends before it has ended normally.
func TestCancelLag(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]time.Duration{
		`{"cancel_lag_s":3,"outcome":"hang"}`:            4 * time.Second,
		`{"cancel_lag_s":3,"delay_s":2}`:                 2 * time.Second,
		`{"cancel_lag_s":3,"delay_s":100}`:               4 * time.Second,
		`{"delay_s":100}`:                                time.Second,
		`{"instances":{"a":{"delay_s":9}}}`:              time.Second,
		`{"instances":{"a":{"outcome":"hang"}}}`:         time.Second,
		`{"cancel_lag_s":3,"outcome":"fail","error":""}`: 0,
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPlay(t, "a")
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			begin := time.Now()
			_, err := p.run(ctx, entry)
			require.Equal(t, want, time.Since(begin), entry)
			switch {
			case strings.Contains(entry, "fail"):
				require.Error(t, err)
			case want == 2*time.Second:
				require.NoError(t, err, entry)
			default:
				require.True(t, errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded), "%s: %v", entry, err)
			}
		})
	}
}

// Predictions of the script stand in place of the computed ones: one that is missing is a
// warning that names it, one that nobody asked for an error.
func TestPredictions(t *testing.T) {
	t.Parallel()
	p := newPlay(t, "a", "b", "c")
	_, err := p.run(t.Context(), `{"predictions":{"b":"x","a":null}}`)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "null", "b": "x"}, p.patches(swebench.FilePreds))
	require.Contains(t, p.log.String(), "WARN")
	require.Contains(t, p.log.String(), "1 of 3 instances have no prediction: c")
	require.Equal(t, 1, strings.Count(p.log.String(), "\n"))

	var ids []string
	preds := map[string]string{"a": "x"}
	for i := range 12 {
		ids = append(ids, fmt.Sprintf("id%02d", i))
		preds[fmt.Sprintf("strange%02d", i)] = "x"
	}
	list, err := json.Marshal(preds)
	require.NoError(t, err)
	p = newPlay(t, append(ids, "a")...)
	_, err = p.run(t.Context(), `{"predictions":`+string(list)+`}`)
	require.ErrorContains(t, err, "IDs that were not asked for, 12 of them")
	require.Equal(t, 10, strings.Count(err.Error(), "strange"))
	require.Contains(t, err.Error(), "2 more")
	require.FileExists(t, p.job.Path(swebench.FilePreds))
	p = newPlay(t, ids...)
	_, err = p.run(t.Context(), `{"predictions":{}}`)
	require.NoError(t, err)
	require.Contains(t, p.log.String(), "id09 and 2 more")
	require.NotContains(t, p.log.String(), "id10")
	require.Equal(t, "{}", p.file(swebench.FilePreds))
}

// A resumed run skips what has a prediction; a new one begins anew.
func TestResumeSkips(t *testing.T) {
	t.Parallel()
	p := newPlay(t, "a", "b")
	require.NoError(t, os.MkdirAll(p.job.Path(swebench.DirOutput), 0o755))
	old := func() {
		require.NoError(t, os.WriteFile(p.job.Path(swebench.DirOutput, swebench.FilePreds), []byte(`{"a":{"model_name_or_path":"m","instance_id":"a","model_patch":"old"}}`), 0o644))
	}
	old()
	p.job.Resume = true
	result, err := p.run(t.Context(), `{"instances":{"a":{"outcome":"hang"}}}`)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "old", "b": "diff"}, p.patches(swebench.FilePreds))
	require.JSONEq(t, `{"submitted_instances":2,"resolved_instances":1}`, string(result))
	old()
	p.job.Resume = false
	_, err = p.run(t.Context(), `{}`)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "diff", "b": "diff"}, p.patches(swebench.FilePreds))
	for _, broken := range []string{"{", "[]", "null"} {
		require.NoError(t, os.WriteFile(p.job.Path(swebench.DirOutput, swebench.FilePreds), []byte(broken), 0o644))
		p.job.Resume = true
		_, err = p.run(t.Context(), `{}`)
		require.ErrorContains(t, err, "preds.json", broken)
	}
}

// Commands are the phases: their output is the log, their environment that of the phase.
func TestCommands(t *testing.T) {
	need.Programs(t, "sh")
	t.Setenv("OPENAI_API_KEY", "ambient")
	t.Setenv("HIDDEN", "hidden")
	t.Setenv("MSWEA_DOCKER_EXECUTABLE", "true")
	p := newPlay(t, "a", "b")
	_, err := p.run(t.Context(), `{"agent_log":"not this","agent_command":["sh","-c","pwd; env; echo {} > preds.json"],"eval_command":["sh","-c","env; cat ../preds.json"]}`)
	require.NoError(t, err)
	agent, eval := p.file(swebench.FileAgentLog), p.file(swebench.FileEvalLog)
	dir, err := filepath.EvalSymlinks(p.job.Path(swebench.DirOutput))
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(agent, dir+"\n"), agent)
	require.Contains(t, agent, "OPENAI_API_KEY=<redacted>\n")
	require.Contains(t, agent, "SWEBENCH_API_BASE=http://127.0.0.1:1/v1\n")
	require.Contains(t, agent, "SWEBENCH_RUN_ID=run1\n")
	require.NotContains(t, eval, "OPENAI_API_KEY")
	require.Contains(t, eval, `"model_patch": "diff"`)
	for _, log := range []string{agent, eval} {
		require.NotContains(t, log, "ambient")
		require.NotContains(t, log, "HIDDEN")
	}
	require.Empty(t, p.log.String())
}

// When the agent phase is cut off, by its limit or by its fault, the predictions that it
// has made are kept.
func TestCase118_PredictionsOfACutPhase(t *testing.T) {
	need.Programs(t, "sh")
	t.Setenv("MSWEA_DOCKER_EXECUTABLE", "true")
	for command, want := range map[string]string{"sleep 1000": "limit", "exit 3": "exit status 3"} {
		p := newPlay(t, "a", "b")
		script, err := scripted.Parse([]byte(`{"runs":{"*":{"agent_command":["sh","-c","echo '{\"a\":{}}' > preds.json; echo said; ` + command + `"]}}}`))
		require.NoError(t, err)
		_, err = (&scripted.Runner{Script: script, Timeout: 300 * time.Millisecond}).Run(t.Context(), p.job)
		require.ErrorContains(t, err, want)
		var exit *phase.ExitError
		require.ErrorAs(t, err, &exit)
		require.Equal(t, "said", exit.Tail)
		require.JSONEq(t, `{"a":{}}`, p.file(swebench.FilePreds))
		require.Equal(t, "said\n", p.file(swebench.FileAgentLog))
	}
}

// That the clean-up fails is a warning; result and error stay what they were.
func TestCase121_CleanUpFails(t *testing.T) {
	need.Programs(t, "sh")
	t.Setenv("MSWEA_DOCKER_EXECUTABLE", filepath.Join(t.TempDir(), "missing"))
	p := newPlay(t, "a")
	result, err := p.run(t.Context(), `{"agent_command":["true"]}`)
	require.NoError(t, err)
	require.JSONEq(t, `{"submitted_instances":1,"resolved_instances":1}`, string(result))
	require.Contains(t, p.log.String(), "containers of the run may be left")
	_, err = p.run(t.Context(), `{"agent_command":["true"],"outcome":"fail","error":"mine"}`)
	require.EqualError(t, err, "mine")
}

// The containers of a run are removed after success, failure and cancel alike.
func TestContainersAreRemoved(t *testing.T) {
	need.Programs(t, "sh")
	calls := filepath.Join(t.TempDir(), "calls")
	tool := filepath.Join(t.TempDir(), "docker")
	program.Write(t, tool, "#!/bin/sh\necho \"$@\" >> "+calls+"\ncase \"$*\" in *label=*=run1*) echo id1 x;; esac\n")
	t.Setenv("MSWEA_DOCKER_EXECUTABLE", tool)
	for _, entry := range []string{`{"eval_command":["true"]}`, `{"eval_command":["false"]}`, `{"agent_command":["sleep","1000"]}`} {
		p := newPlay(t, "a")
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, _ = p.run(ctx, entry)
		data, err := os.ReadFile(calls)
		require.NoError(t, err, entry)
		require.Contains(t, string(data), "rm -f id1\n")
		require.Equal(t, strings.Contains(entry, "eval"), strings.Contains(string(data), "name=endpoints_"))
		require.NoError(t, os.Remove(calls))
	}
}

// Thousands of instances without a delay take moments, and all of them have a prediction,
// also when the run is cancelled in the middle.
func TestManyInstances(t *testing.T) {
	t.Parallel()
	ids := make([]string, 10_000)
	for i := range ids {
		ids[i] = fmt.Sprintf("django__django-%d", i)
	}
	p := newPlay(t, ids...)
	begin := time.Now()
	_, err := p.run(t.Context(), `{}`)
	require.NoError(t, err)
	require.Less(t, time.Since(begin), 30*time.Second)
	require.Len(t, p.patches(swebench.FilePreds), len(ids))

	p = newPlay(t, "a", "b", "c", "d")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := p.run(ctx, `{"instances":{"c":{"delay_s":1000}}}`)
		done <- err
	}()
	require.Eventually(t, func() bool {
		data, _ := os.ReadFile(p.job.Path(swebench.DirOutput, swebench.FilePreds))
		return bytes.Contains(data, []byte(`"b"`))
	}, 5*time.Second, time.Millisecond, "they are there before the one that takes long")
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	require.Equal(t, map[string]string{"a": "diff", "b": "diff"}, p.patches(swebench.FilePreds))
}
