package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/homing-go/homing/swebench/config"
	"github.com/stretchr/testify/require"
)

const sound = `
model_params: {name: m}
datasets:
  - {name: replay, path: a.jsonl}
  - name: swe_bench
    type: accuracy
    accuracy_config:
      eval_method: swe_bench_scorer
      extras:
        swebench_service_url: http://service
endpoint_config: {endpoints: ["http://endpoint"]}
`

func parse(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := config.Parse([]byte(text), nil)
	require.NoError(t, err, text)
	return c
}

func refused(t *testing.T, text string) *config.Error {
	t.Helper()
	c, err := config.Parse([]byte(text), nil)
	require.Nil(t, c, text)
	var e *config.Error
	require.ErrorAs(t, err, &e, text)
	require.NotContains(t, err.Error(), "s3cret")
	return e
}

// keys are n members of a mapping.
func keys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%d: 1,", i)
	}
	return b.String()
}

// with replaces a piece of the sound configuration.
func with(old, now string) string {
	if !strings.Contains(sound, old) {
		panic(old)
	}
	return strings.Replace(sound, old, now, 1)
}

func TestExampleFileLoads(t *testing.T) {
	t.Parallel()
	c, err := config.Load(filepath.Join("..", "..", "examples", "swebench-score", "config.yaml"))
	require.NoError(t, err)
	require.Equal(t, []string{"X-Session-ID"}, c.RoutingHeaders)
	require.Equal(t, []string{"http://127.0.0.1:8000"}, c.Endpoint.URLs)
	scored := c.Scored(config.ModeAcc)
	require.Len(t, scored, 1)
	o, err := c.Options(scored[0])
	require.NoError(t, err)
	require.Equal(t, 8, o.Workers)
	require.Equal(t, 50, o.NumInstances)
	require.Equal(t, `{"temperature":1.0,"top_p":0.95,"top_k":20,"max_new_tokens":8192,"chat_template_kwargs":{"preserve_thinking":true}}`,
		string(scored[0].Model.GenerationParams()))
}

func TestParts(t *testing.T) {
	t.Parallel()
	c := parse(t, `
ruleset: {anything: [1]}
model_params: &m {name: " m ", temperature: 1, seed: 0x10, top_k: 2.0, presence_penalty: .5, max_new_tokens: 1_000, chat_template_kwargs: {a: {b: 1, c: yes}}}
datasets:
  - path: dir/agents.v2.jsonl
    agentic_inference: {num_trajectories_to_issue: 3, enable_salt: on, inject_tool_delay: false}
    generation_config_override: {temperature: null, chat_template_kwargs: {a: {b: 1.50, d: [x, ~, true]}}}
  - {name: other, type: accuracy, accuracy_config: {eval_method: rouge, anything: 1, extras: {a: b}}}
settings: {client: {x: 1}, load_pattern: {type: concurrency, target_concurrency: "16"}}
endpoint_config: {endpoints: [" HTTP://a ", "https://b"], api_key: null, api_type: openai}
`)
	d := c.Datasets[0]
	require.Equal(t, "agents.v2", d.Name)
	require.Equal(t, config.Performance, d.Type)
	require.Equal(t, &config.Agentic{RoutingHeaders: []string{"X-Session-ID"}, EnableSalt: true, Trajectories: 3}, d.Agentic)
	require.Equal(t, `{"seed":16,"top_k":2,"presence_penalty":0.5,"max_new_tokens":1000,"chat_template_kwargs":{"a":{"b":1.50,"c":true,"d":["x",null,true]}}}`, string(d.Model.GenerationParams()))
	require.Equal(t, `{"temperature":1,"seed":16,"top_k":2,"presence_penalty":0.5,"max_new_tokens":1000,"chat_template_kwargs":{"a":{"b":1,"c":true}}}`, string(c.Model.GenerationParams()))
	require.Equal(t, config.LoadPattern{Type: "concurrency", TargetConcurrency: 16}, c.LoadPattern)
	require.Equal(t, []string{"HTTP://a", "https://b"}, c.Endpoint.URLs)
	require.Empty(t, c.Endpoint.APIKey)
	require.Empty(t, c.Scored(config.ModeBoth))
	require.Equal(t, `{"max_new_tokens":1024}`, string(parse(t, "a: 1").Model.GenerationParams()))
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, dataset, key string }{
		{"", "", ""},
		{"- a", "", ""},
		{"a: [", "", ""},
		{"a: 1\n---\nb: 2", "", ""},
		{"a: 1\nb: {c: 1, c: 2}", "", "c"},
		{"[a]: 1", "", ""},
		{"model_params: 5", "", "model_params"},
		{"model_params: {name: 5}", "", "model_params.name"},
		{"model_params: {temprature: 1}", "", "model_params.temprature"},
		{"model_params: {temperature: hot}", "", "model_params.temperature"},
		{"model_params: {temperature: .nan}", "", "model_params.temperature"},
		{"model_params: {top_k: 1.5}", "", "model_params.top_k"},
		{"model_params: {max_new_tokens: 1e30}", "", "model_params.max_new_tokens"},
		{"model_params: {chat_template_kwargs: []}", "", "model_params.chat_template_kwargs"},
		{"datasets: {}", "", "datasets"},
		{"datasets: [x]", "", "datasets[0]"},
		{"datasets: [{}]", "", "datasets[0].name"},
		{"datasets: [{name: d, type: Accuracy}]", "d", "datasets[0].type"},
		{"datasets: [{name: d, agentic_inferences: {}}]", "d", "datasets[0].agentic_inferences"},
		{"datasets: [{name: d}, {name: d}]", "d", "name"},
		{"datasets: [{name: swe_bench}]", "swe_bench", "datasets[0].type"},
		{"datasets: [{name: d, type: accuracy, agentic_inference: {}}]", "d", "datasets[0].agentic_inference"},
		{"datasets: [{name: d, agentic_inference: {routing_header: [A]}}]", "d", "datasets[0].agentic_inference.routing_header"},
		{"datasets: [{name: d, agentic_inference: {num_trajectories_to_issue: 0}}]", "d", "datasets[0].agentic_inference.num_trajectories_to_issue"},
		{"datasets: [{name: d, agentic_inference: {enable_salt: maybe}}]", "d", "datasets[0].agentic_inference.enable_salt"},
		{"datasets: [{name: d, generation_config_override: {name: x}}]", "d", "datasets[0].generation_config_override.name"},
		{"datasets: [{name: d, generation_config_override: {foo: x}}]", "d", "datasets[0].generation_config_override.foo"},
		{"datasets: [{name: d, generation_config_override: {temperature: x}}]", "d", "datasets[0].generation_config_override.temperature"},
		{with("extras:", "extra: 1\n      extras:"), "swe_bench", "datasets[1].accuracy_config.extra"},
		{with(`["http://endpoint"]`, `[]`), "swe_bench", "endpoint_config.endpoints"},
		{with(`["http://endpoint"]`, `["http://a", "http://b"]`), "swe_bench", "endpoint_config.endpoints"},
		{with(`["http://endpoint"]`, `[s3cret]`), "", "endpoint_config.endpoints"},
		{with(`["http://endpoint"]`, `["http://u:s3cret@"]`), "", "endpoint_config.endpoints"},
		{with(`["http://endpoint"]`, `"http://endpoint"`), "", "endpoint_config.endpoints"},
		{with(`["http://endpoint"]`, `["http://endpoint:65536"]`), "", "endpoint_config.endpoints"},
		{"datasets: [{name: d, agentic_inference: {num_trajectories_to_issue: 1.5}}]", "d", "datasets[0].agentic_inference.num_trajectories_to_issue"},
		{"settings: {load_pattern: {target_concurrency: 16.5}}", "", "settings.load_pattern.target_concurrency"},
		{"settings: {load_pattern: {target_concurrency: true}}", "", "settings.load_pattern.target_concurrency"},
		{"model_params: {name: no}", "", "model_params.name"},
		{"endpoint_config: {api_key: *s3cret}", "", ""},
		{with(`{endpoints:`, `{urls: 1, endpoints:`), "", "endpoint_config.urls"},
		{"settings: {load_pattern: {type: x, qps: 1}}", "", "settings.load_pattern.qps"},
		{"settings: {load_pattern: {target_concurrency: 0}}", "", "settings.load_pattern.target_concurrency"},
		{"model_params: {name: $UNSET}", "", "model_params.name"},
		{"a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\nmodel_params: {chat_template_kwargs: {e: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]}}", "", ""},
		{"x: &x {" + keys(20_000) + "}\nmodel_params: {<<: [" + strings.Repeat("*x,", 1000) + "*x]}", "", ""},
		{"model_params: {chat_template_kwargs: &x {" + keys(40_000) + "}}\ndatasets: [{name: d, generation_config_override: {chat_template_kwargs: *x}}]", "d", ""},
		{"a: " + strings.Repeat("[", 200) + strings.Repeat("]", 200), "", ""},
	} {
		e := refused(t, c.text)
		require.Equal(t, c.dataset, e.Dataset, c.text)
		require.Equal(t, c.key, e.Key, c.text)
	}
	require.Contains(t, refused(t, strings.Repeat("#", 1<<20+1)).Reason, "limit is 1048576")
	_, err := config.Load(filepath.Join(t.TempDir(), "none.yaml"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	lookup := func(name string) (string, bool) {
		return map[string]string{"NAME": "m", "EMPTY": "", "N": "7"}[name], name != "UNSET"
	}
	text := "model_params: {name: '%s', top_k: '${N}', chat_template_kwargs: {a: '${NAME}'}}"
	for in, want := range map[string]string{"${NAME}x$NAME": "mxm", "$$NAME": "$NAME", "${UNSET:-d}": "d", "a$": "a$", "$1": "$1", "${EMPTY:-d}": "", "${UNSET:-}": ""} {
		c, err := config.Parse(fmt.Appendf(nil, text, in), lookup)
		require.NoError(t, err)
		require.Equal(t, want, c.Model.Name, in)
		require.Equal(t, "7", string(c.Model.TopK))
		require.Equal(t, `{"a":"m"}`, string(c.Model.ChatTemplateKwargs))
	}
	_, err := config.Parse(fmt.Appendf(nil, text, "${UNSET}"), lookup)
	require.ErrorContains(t, err, "UNSET is not set")
}

func TestMergeKeysAndAliases(t *testing.T) {
	t.Parallel()
	c := parse(t, "x: &x {name: a, top_k: 1}\ny: &y {top_p: 0.5, name: y}\nmodel_params: {<<: [*x, *y], top_k: 2}")
	require.Equal(t, "a", c.Model.Name)
	require.Equal(t, `{"top_p":0.5,"top_k":2,"max_new_tokens":1024}`, string(c.Model.GenerationParams()))
}

// The file that a report keeps has neither the endpoint's key nor the service's token in it,
// wherever they stand; the configuration itself keeps them.
func TestRedacted(t *testing.T) {
	t.Parallel()
	text := `# s3cret-key in a comment
x: &t s3cret-token
datasets:
  - name: swe_bench
    type: accuracy
    path: "http://u:s3cret-pw@h/x?api_key=s3cret-q&a=1"
    accuracy_config:
      eval_method: swe_bench_scorer
      extras: {swebench_service_url: "http://h", swebench_service_auth_token: *t, workers: 3} # s3cret-token
  - {name: "a s3cret-key", type: accuracy}
endpoint_config: {endpoints: ["http://user:s3cret-pw@h/v1"], api_key: s3cret-key}
other: {My-API-Key: s3cret-other, nothing_key: null, secret: [s3cret-list], max_new_tokens: 5}
`
	c := parse(t, text)
	got, err := c.Redacted()
	require.NoError(t, err)
	require.NotContains(t, string(got), "s3cret")
	for _, kept := range []string{"workers: 3", "max_new_tokens: 5", "nothing_key: null", "&a=1", "api_key: <redacted>", "swebench_service_auth_token: <redacted>"} {
		require.Contains(t, string(got), kept)
	}
	parse(t, string(got))
	require.Equal(t, "s3cret-key", c.Endpoint.APIKey)
	o, err := c.Options(c.Datasets[0])
	require.NoError(t, err)
	require.Equal(t, "s3cret-token", o.AuthToken)
	require.NotContains(t, fmt.Sprintf("%v %+v %#v %v", o, o, o, c.Endpoint), "s3cret")
}

// Words that YAML 1.1 takes for booleans are booleans without quotes, and texts with them.
func TestBooleanWords(t *testing.T) {
	t.Parallel()
	c := parse(t, `model_params: {chat_template_kwargs: {a: no, b: On, c: "no", d: 'yes', e: !!str off, f: y, g: FALSE}}`)
	require.Equal(t, `{"a":false,"b":true,"c":"no","d":"yes","e":"off","f":"y","g":false}`, string(c.Model.ChatTemplateKwargs))
}

// A secret that the environment supplies is not in the report's file where it stands literally,
// as a name, or under a tag.
func TestRedactedEverywhere(t *testing.T) {
	t.Parallel()
	text := with("http://service", "http://service\n        swebench_service_auth_token: ${TOKEN}") + `
a: s3cret-token
b: !custom s3cret-token
s3cret-token: 1
`
	c, err := config.Parse([]byte(text), func(string) (string, bool) { return "s3cret-token", true })
	require.NoError(t, err)
	got, err := c.Redacted()
	require.NoError(t, err)
	require.NotContains(t, string(got), "s3cret")
	require.Contains(t, string(got), "swebench_service_auth_token: <redacted>")
	parse(t, string(got))
}
