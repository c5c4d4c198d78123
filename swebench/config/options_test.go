package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/homing-go/homing/swebench/config"
	"github.com/stretchr/testify/require"
)

// options reads the scorer's options with extras as given, one "key: value" each.
func options(t *testing.T, extras ...string) (config.Options, error) {
	t.Helper()
	return optionsOf(t, "", append([]string{"swebench_service_url: http://service"}, extras...)...)
}

func optionsOf(t *testing.T, more string, extras ...string) (config.Options, error) {
	t.Helper()
	c := parse(t, with("        swebench_service_url: http://service\n", "        "+strings.Join(extras, "\n        ")+"\n")+more)
	return c.Options(c.Scored(config.ModeAcc)[0])
}

func badOption(t *testing.T, key string, extras ...string) *config.Error {
	t.Helper()
	_, err := options(t, extras...)
	var e *config.Error
	require.ErrorAs(t, err, &e, "%v", extras)
	require.Equal(t, "swe_bench", e.Dataset)
	require.Equal(t, "accuracy_config.extras."+key, e.Key)
	require.Contains(t, e.Reason, "swe_bench_scorer")
	require.NotContains(t, err.Error(), "s3cret")
	return e
}

// The accuracy dataset swe_bench needs no eval_method; another dataset does.
func TestScorerOfSWEBench(t *testing.T) {
	t.Parallel()
	require.Len(t, parse(t, with("      eval_method: swe_bench_scorer\n", "")).Scored(config.ModeAcc), 1)
	require.Empty(t, parse(t, strings.Replace(with("      eval_method: swe_bench_scorer\n", ""), "name: swe_bench", "name: other", 1)).Scored(config.ModeAcc))
	require.Empty(t, parse(t, with("swe_bench_scorer", "rouge")).Scored(config.ModeAcc))
	c := parse(t, "datasets: [{name: swe_bench, type: accuracy}]\nendpoint_config: {endpoints: ['http://h']}")
	_, err := c.Options(c.Scored(config.ModeAcc)[0])
	require.ErrorContains(t, err, "swebench_service_url", "without accuracy_config, too")
}

func TestOptionDefaults(t *testing.T) {
	t.Parallel()
	o, err := options(t)
	require.NoError(t, err)
	require.Equal(t, config.Options{
		ServiceURL: "http://service/", Subset: "verified", Split: "test", NumInstances: 100, Workers: 10, MaxEvalWorkers: 10, Template: "default",
		Timeout: 24 * time.Hour, PollInterval: 5 * time.Second,
	}, o)
}

// Without swebench_service_url, or with a blank or null one, the error names that key.
func TestCase001_ServiceURLRequired(t *testing.T) {
	t.Parallel()
	for _, extras := range []string{"workers: 1", "swebench_service_url: null", `swebench_service_url: "  "`} {
		_, err := optionsOf(t, "", extras)
		var e *config.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, "accuracy_config.extras.swebench_service_url", e.Key)
	}
	c := parse(t, strings.Replace(sound, "extras:\n        swebench_service_url: http://service", "num_repeats: 1", 1))
	_, err := c.Options(c.Datasets[1])
	require.ErrorContains(t, err, "swebench_service_url")
}

// A service URL with a path is refused.
func TestCase002_ServiceURLPath(t *testing.T) {
	t.Parallel()
	_, err := optionsOf(t, "", "swebench_service_url: http://service/v1")
	require.ErrorContains(t, err, "it has a path")
}

// poll_interval_s null means 5 seconds.
func TestCase007_PollIntervalNull(t *testing.T) {
	t.Parallel()
	o, err := options(t, "poll_interval_s: null")
	require.NoError(t, err)
	require.Equal(t, 5*time.Second, o.PollInterval)
	for text, want := range map[string]time.Duration{"0.25": 250 * time.Millisecond, `" 2 "`: 2 * time.Second, "true": time.Second, "1e-9": time.Millisecond, "3": 3 * time.Second} {
		o, err := options(t, "poll_interval_s: "+text)
		require.NoError(t, err, text)
		require.Equal(t, want, o.PollInterval, text)
	}
}

// A poll_interval_s of 0, below 0, NaN or infinity is refused.
func TestCase008_PollIntervalRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"0", "0.0", "-1", ".nan", ".inf", "-.inf", "nan", "inf", `"Infinity"`, "x", "[]", "1e10", "false", `""`, `"1_"`, `"0x1p4"`, `"."`} {
		badOption(t, "poll_interval_s", "poll_interval_s: "+text)
	}
}

// An empty and a null token mean that there is none.
func TestCase010_NoToken(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"null": "", `""`: "", "abc": "abc", "12345": "12345"} {
		o, err := options(t, "swebench_service_auth_token: "+text)
		require.NoError(t, err)
		require.Equal(t, want, o.AuthToken)
	}
	badOption(t, "swebench_service_auth_token", `swebench_service_auth_token: "s3cret\nX: y"`)
	badOption(t, "swebench_service_auth_token", `swebench_service_auth_token: "s3crét"`)
}

// enable_swebench_toolcall_patch is refused whatever its value, with a pointer to the
// qwen_tools template.
func TestCase011_ToolcallPatch(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"true", "false", "null", "[]"} {
		e := badOption(t, "enable_swebench_toolcall_patch", "enable_swebench_toolcall_patch: "+value)
		require.Contains(t, e.Reason, "swebench_template: qwen_tools")
	}
}

// Without workers, the target of a load pattern with one becomes the number of workers.
func TestCase013_WorkersFromLoadPattern(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]int{
		"type: agentic_inference, target_concurrency: 16": 16, "type: concurrency, target_concurrency: 7": 7,
		"type: poisson, target_qps: 1, target_concurrency: 7": 10, "type: concurrency": 10, "target_concurrency: 7": 10,
	} {
		o, err := optionsOf(t, "settings: {load_pattern: {"+pattern+"}}\n", "swebench_service_url: http://service")
		require.NoError(t, err)
		require.Equal(t, want, o.Workers, pattern)
	}
}

// Explicit workers win over the load pattern; null does not.
func TestCase014_ExplicitWorkers(t *testing.T) {
	t.Parallel()
	for workers, want := range map[string]int{"5": 5, "null": 32} {
		o, err := optionsOf(t, "settings: {load_pattern: {type: concurrency, target_concurrency: 32}}\n", "swebench_service_url: http://service", "workers: "+workers)
		require.NoError(t, err)
		require.Equal(t, want, o.Workers)
	}
}

// More than one repeat is refused, but in perf mode nobody looks.
func TestCase016_Repeats(t *testing.T) {
	t.Parallel()
	c := parse(t, with("      extras:", "      num_repeats: 2\n      extras:"))
	_, err := c.Options(c.Scored(config.ModeAcc)[0])
	require.ErrorContains(t, err, "repeats must be 1")
	require.Empty(t, c.Scored(config.ModePerf))
	require.Len(t, c.Scored(config.ModeBoth), 1)
	for text, sound := range map[string]bool{"1": true, `"1"`: true, "1.0": true, "1.5": false, "true": false, "null": false, "0": false} {
		c := parse(t, with("      extras:", "      num_repeats: "+text+"\n      extras:"))
		_, err := c.Options(c.Scored(config.ModeAcc)[0])
		require.Equal(t, sound, err == nil, text)
	}
}

// An unknown key of extras is refused, naming dataset and scorer; so is an attempt to set
// the header names there.
func TestCase017_UnknownExtra(t *testing.T) {
	t.Parallel()
	badOption(t, "num_instance", "num_instance: 5")
	badOption(t, "Workers", "Workers: 5")
	badOption(t, "routing_headers", "routing_headers: [X-Session-ID]")
}

func TestOptionIntegers(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"num_instances", "workers", "max_eval_workers", "service_timeout_s"} {
		for text, want := range map[string]int{`"10"`: 10, "10.9": 10, "true": 1, `" +1_0 "`: 10, "0x10": 16, "1.0e1": 10} {
			o, err := options(t, key+": "+text)
			require.NoError(t, err, text)
			require.Equal(t, want, map[string]int{"num_instances": o.NumInstances, "workers": o.Workers, "max_eval_workers": o.MaxEvalWorkers, "service_timeout_s": int(o.Timeout.Seconds())}[key], text)
		}
		for _, text := range []string{`"10.5"`, "0", "-1", "false", "x", "[]", "{}", ".nan", ".inf", "1e10", "99999999999999999999", "0.9", `""`} {
			badOption(t, key, key+": "+text)
		}
		_, err := options(t, key+": null")
		require.NoError(t, err)
	}
}

// An explicit null for subset or split becomes the text None, as in Python.
func TestOptionTexts(t *testing.T) {
	t.Parallel()
	o, err := options(t, "split: null", "subset: lite", "swebench_template: null")
	require.NoError(t, err)
	require.Equal(t, "None", o.Split)
	require.Equal(t, "default", o.Template)
	o, err = options(t, "split: true", "swebench_template: qwen_tools")
	require.NoError(t, err)
	require.Equal(t, "True", o.Split)
	require.Contains(t, badOption(t, "subset", "subset: null").Reason, "None")
	badOption(t, "subset", "subset: full")
	badOption(t, "swebench_template", "swebench_template: qwen")
	badOption(t, "swebench_template", `swebench_template: ""`)
	badOption(t, "subset", "subset: []")
}
