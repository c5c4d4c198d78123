package runner_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/homing-go/homing/internal/need"
	"github.com/homing-go/homing/swebench/dataset"
	"github.com/homing-go/homing/swebench/runner"
	"github.com/homing-go/homing/swebench/sandbox"
	"github.com/stretchr/testify/require"
)

// The parts of a run are all of its rows, whether they are counted from 0 or from 1.
func TestShards(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"x", "1", "1/0", "-1/2", "3/2", "1/2/3", "/", "1/1000000"} {
		_, err := runner.ParseShard(text)
		require.Error(t, err, text)
		require.True(t, runner.IsUsage(err), text)
	}
	none, err := runner.ParseShard("")
	require.NoError(t, err)
	require.Empty(t, none.String())
	two, err := runner.ParseShard("2/2")
	require.NoError(t, err)
	zero, err := runner.ParseShard("0/2")
	require.NoError(t, err)
	require.Equal(t, zero.String(), two.String())
}

func TestSchedulerRun(t *testing.T) {
	t.Parallel()
	env := map[string]string{"SLURM_JOB_ID": "12", "SLURM_ARRAY_JOB_ID": "10"}
	get := func(name string) string { return env[name] }
	require.Equal(t, "slurm-10", runner.SchedulerRun(get))
	delete(env, "SLURM_ARRAY_JOB_ID")
	require.Equal(t, "slurm-12", runner.SchedulerRun(get))
	delete(env, "SLURM_JOB_ID")
	require.Empty(t, runner.SchedulerRun(get))
}

// What is asked for is checked before anything starts.
func TestRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	good := w.config()
	good.Names = filepath.Join(w.dir, "names")
	for _, c := range []struct {
		want   string
		change func(*runner.Config)
	}{
		{"Dir: it is empty", func(c *runner.Config) { c.Dir = "" }},
		{"Model: it is empty", func(c *runner.Config) { c.Model = " " }},
		{`Model: "." cannot be the name of a folder`, func(c *runner.Config) { c.Model = "." }},
		{`Model: "a\\b" cannot be the name of a folder`, func(c *runner.Config) { c.Model = `a\b` }},
		{"NewClient: it is nil", func(c *runner.Config) { c.NewClient = nil }},
		{"Runtime: it is nil", func(c *runner.Config) { c.Runtime = nil }},
		{"Rows: there are none", func(c *runner.Config) { c.Rows = nil }},
		{"is there twice", func(c *runner.Config) { c.Rows = append(c.Rows[:2:2], c.Rows[0]) }},
		{"tiny__greet-2 (x.jsonl, line 7) has no problem_statement", func(c *runner.Config) {
			c.Rows = slices.Clone(c.Rows)
			c.Rows[1].ProblemStatement, c.Rows[1].Where = "\n", "x.jsonl, line 7"
		}},
		{"Rows: the instance's ID", func(c *runner.Config) { c.Rows = []dataset.Row{{InstanceID: "../x"}} }},
		{"a shard needs the name", func(c *runner.Config) { c.Shard = runner.Shard{Index: 1, Of: 2} }},
		{"Shard: it is 3/2", func(c *runner.Config) { c.Shard, c.Run = runner.Shard{Index: 3, Of: 2}, "r" }},
		{`Run: "a b"`, func(c *runner.Config) { c.Run = "a b" }},
	} {
		cfg := good
		c.change(&cfg)
		_, err := runner.Run(t.Context(), cfg)
		require.ErrorContains(t, err, c.want)
		require.True(t, runner.IsUsage(err))
	}
	require.NoDirExists(t, good.Dir)
}

// The name of a run is for one folder: a fresh one is refused, and parts may share a name.
func TestRunNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	cfg := w.config()
	cfg.Names, cfg.Run = filepath.Join(w.dir, "names"), "nightly"
	cfg.Shard = runner.Shard{Index: 1, Of: 2}
	require.Len(t, w.run(cfg).Statuses["Submitted"], 1)
	cfg.Dir, cfg.Shard.Index = filepath.Join(w.dir, "second"), 2
	require.Len(t, w.run(cfg).Statuses["Submitted"], 1)
	all := w.sessions("X-Session-ID")
	require.Len(t, all, 2, "the parts are the whole")
	refused := func(want string) {
		t.Helper()
		_, err := runner.Run(t.Context(), cfg)
		require.ErrorContains(t, err, want)
		require.True(t, runner.IsUsage(err))
	}
	w.run(cfg) // its own folder
	cfg.Dir = filepath.Join(w.dir, "third")
	refused(`"nightly" was used on`)
	cfg.Shard = runner.Shard{}
	refused(`"nightly" was used on`)
	cfg.Dir = filepath.Join(w.dir, "second")
	refused(`Shard: it is ""`)
	cfg.Shard, cfg.Run = runner.Shard{Index: 2, Of: 2}, "other"
	refused(`Run: it is "other", but`)
	cfg.Run, cfg.Model = "nightly", "m2"
	refused(`Model: it is "m2", but`)
	cfg.Model, cfg.Headers = "org/tiny", []string{"X-Other"}
	refused(`Headers: they are ["X-Other"], but`)
	require.NoError(t, os.RemoveAll(cfg.Dir))
	refused(`"nightly" was used on`) // also when the folder is gone
}

// Generation parameters keep their names or get those of the request; unknown ones are ignored.
func TestParseParams(t *testing.T) {
	t.Parallel()
	p, extra, err := runner.ParseParams([]byte(`{"temperature":0,"top_p":0.9,"top_k":20,"seed":9007199254740993,"repetition_penalty":1.05,
		"presence_penalty":null,"max_new_tokens":1024.0,"chat_template_kwargs":{"enable_thinking":false},"unknown":[1]}`))
	require.NoError(t, err)
	require.Zero(t, *p.Temperature)
	require.InDelta(t, 0.9, *p.TopP, 0)
	require.Equal(t, 20, *p.TopK)
	require.Equal(t, int64(9007199254740993), *p.Seed)
	require.InDelta(t, 1.05, *p.RepetitionPenalty, 0)
	require.Nil(t, p.PresencePenalty)
	require.Equal(t, 1024, *p.MaxTokens)
	require.JSONEq(t, `{"enable_thinking":false}`, string(extra["chat_template_kwargs"]))
	require.Len(t, extra, 1)
	for _, bad := range []string{`{"temperature":"1"}`, `{"top_k":1.5}`, `{"seed":true}`, `[]`, `{"top_p":{}}`} {
		_, _, err := runner.ParseParams([]byte(bad))
		require.ErrorContains(t, err, "generation_params", bad)
	}
}

// A dataset on a hub is asked for with the token of the environment, or not at all.
func TestParseSource(t *testing.T) {
	t.Setenv("HF_TOKEN", "hf_secret")
	t.Setenv("HF_HUB_OFFLINE", "")
	source, err := runner.ParseSource("https://hub.example/datasets/a/b@main")
	require.NoError(t, err)
	require.Equal(t, dataset.Source{Hub: dataset.Hub{Base: "https://hub.example", Token: "hf_secret"}, Repo: "a/b", Revision: "main"}, source)
	t.Setenv("HF_HUB_OFFLINE", "true")
	source, err = runner.ParseSource("https://hub.example/datasets/a/b")
	require.NoError(t, err)
	require.True(t, source.Hub.Offline)
	_, err = runner.ParseSource("")
	require.True(t, runner.IsUsage(err))
}

// A sandbox is bounded as was asked for, and a container of Docker in any case.
func TestPlaceLimits(t *testing.T) {
	t.Parallel()
	row := dataset.Row{InstanceID: "a__b-1"}
	spec := func(p runner.Place) sandbox.Spec {
		w, err := p.Open(t.TempDir())
		require.NoError(t, err)
		s, err := w.Spec(t.Context(), row)
		require.NoError(t, err)
		return s
	}
	local := spec(runner.Place{Name: "local", MemoryBytes: 1 << 30})
	require.Equal(t, []int64{1 << 30, 0}, []int64{local.MemoryBytes, int64(local.PIDs)})
	need.Programs(t, "docker")
	require.Equal(t, 4096, spec(runner.Place{Name: "docker"}).PIDs)
	require.Equal(t, 7, spec(runner.Place{Name: "docker", PIDs: 7}).PIDs)
}
