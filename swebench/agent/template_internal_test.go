package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/qwen"
	"github.com/stretchr/testify/require"
)

// Templates render as Python's Jinja2 3.1.6 does, byte for byte: observations below, at and
// above 10,000 characters, with braces, quotes, white space and characters of several bytes.
func TestRecordedRenderings(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/rendered.json")
	require.NoError(t, err)
	var cases []struct {
		Kind, Name, Unit, Exception, Finish, Text, SHA256 string
		Times, Returncode, Length                         int
		Has                                               bool
		Calls                                             int
		Elapsed                                           float64
	}
	require.NoError(t, json.Unmarshal(text, &cases))
	require.Len(t, cases, 68)
	template, err := Load("testdata/base.yaml")
	require.NoError(t, err)
	limits, err := Load("testdata/limits.yaml")
	require.NoError(t, err)
	for _, c := range cases {
		input := strings.Repeat(c.Unit, c.Times)
		var got string
		switch c.Kind {
		case "observation":
			got, err = template.observe(qwen.Result{Output: []byte(input), ExitCode: c.Returncode, Note: c.Exception}, nil)
		case "left":
			vars := limits.vars(Task{}, limits.Limits.over(Limits{}), "m", [4]string{})
			vars["n_model_calls"], vars["elapsed_seconds"] = c.Calls, c.Elapsed
			got, err = limits.observe(qwen.Result{Output: []byte("{x}\n")}, vars)
		case "left_error":
			got, err = limits.guidance(errors.New("bad"), &model.Response{Finish: model.Finish(c.Finish)}, nil)
		case "instance":
			got, err = template.instance.render(template.vars(Task{Problem: input, Dir: "/testbed"}, template.Limits, "m", [4]string{}))
		case "format_error":
			res := &model.Response{Finish: model.Finish(c.Finish)}
			if c.Has {
				res.ToolCalls = make([]model.ToolCall, 1)
			}
			got, err = template.guidance(errors.New("bad {{ e }} 'q'"), res, nil)
		}
		require.NoError(t, err, "%s %s", c.Kind, c.Name)
		if c.Text != "" {
			require.Equal(t, c.Text, got, "%s %s", c.Kind, c.Name)
			continue
		}
		require.Equal(t, c.Length, utf8.RuneCountInString(got), "%s %s", c.Kind, c.Name)
		sum := sha256.Sum256([]byte(got))
		require.Equal(t, c.SHA256, hex.EncodeToString(sum[:]), "%s %s", c.Kind, c.Name)
	}
}

// The library's own observation has the shape of the official one: head and tail from 10,000
// characters on, which are counted, and no bytes.
func TestOwnObservation(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"a", "é", "🙂"} {
		for n, elided := range map[int]string{9_999: "", 10_000: "\n0 characters", 10_001: "\n1 characters"} {
			text, err := Default().observe(qwen.Result{Output: []byte(strings.Repeat(unit, n))}, nil)
			require.NoError(t, err)
			if elided == "" {
				require.Equal(t, "<returncode>0</returncode>\n<output>\n"+strings.Repeat(unit, n)+"</output>", text)
				continue
			}
			require.Contains(t, text, elided)
			require.Contains(t, text, "</warning><output_head>\n"+strings.Repeat(unit, 5_000)+"\n</output_head>")
			require.True(t, strings.HasSuffix(text, "<output_tail>\n"+strings.Repeat(unit, 5_000)+"\n</output_tail>"))
		}
	}
}

// Several files merge member by member. Keys and addresses are left out, since they belong
// to the client.
func TestLoadMerges(t *testing.T) {
	t.Parallel()
	one, err := Load("testdata/base.yaml")
	require.NoError(t, err)
	require.Equal(t, "base", one.Name)
	require.Equal(t, Limits{Steps: 250, Cost: 3, FormatErrors: 3, Command: time.Minute}, one.Limits)
	require.Equal(t, map[string]string{"PAGER": "cat", "LESS": "-R", "PIP_PROGRESS_BAR": "off", "NUMBER": "1"}, one.Env)
	require.Equal(t, []string{"bash", "-c"}, one.Interpreter)
	require.Zero(t, *one.Params.Temperature)
	require.JSONEq(t, `{"parallel_tool_calls":true}`, string(must(json.Marshal(one.Extra))))

	both, err := Load("testdata/base.yaml", "testdata/more.yaml")
	require.NoError(t, err)
	require.Equal(t, "base+more", both.Name)
	require.Equal(t, Limits{Cost: 3, FormatErrors: 3, Command: time.Minute, Wall: 90 * time.Second}, both.Limits)
	require.Equal(t, map[string]string{"PAGER": "cat", "LESS": "-X", "PIP_PROGRESS_BAR": "off", "NUMBER": "1"}, both.Env)
	require.InDelta(t, 0.7, *both.Params.Temperature, 0)
	require.Equal(t, 20, *both.Params.TopK)
	require.Equal(t, 4096, *both.Params.MaxTokens)
	require.Equal(t, map[string]string{"X-Team": "blue"}, both.Headers)
	require.JSONEq(t, `{"parallel_tool_calls":true,"chat_template_kwargs":{"enable_thinking":false}}`, string(must(json.Marshal(both.Extra))))
	require.NotEqual(t, one.Hash(), both.Hash(), "the settings differ")
	again := both
	again.Name = "elsewhere"
	require.Equal(t, both.Hash(), again.Hash())
	again.Limits.Steps++
	require.NotEqual(t, both.Hash(), again.Hash())
	require.NotEqual(t, one.Hash(), Default().Hash())

	// The later file alone has the prompts of Default.
	alone, err := Load("testdata/more.yaml")
	require.NoError(t, err)
	require.Nil(t, alone.observation)
	require.Equal(t, "/testbed", alone.Dir)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// What cannot be used is named, with the file or the member.
func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"[1, 2]":                           "no YAML mapping",
		"a: b: c":                          "no YAML mapping",
		"agent: 7":                         "agent: it is no mapping",
		"agent: {system_template: 7}":      "agent.system_template: want a text, got 7",
		"agent: {step_limit: many}":        "agent.step_limit: many is no number",
		"agent: {step_limit: -1}":          "agent.step_limit: -1 is no number",
		"agent: {system_template: '{{ a'}": "agent.system_template: the template cannot be read",
		"agent: {instance_template: '{% include \"x\" %}'}":               "agent.instance_template",
		"agent: {action_observation_template: x}":                         "mini-swe-agent 1",
		"model: {model_class: litellm_textbased, action_regex: '(?=x)'}":  "model.action_regex",
		"model: {model_class: litellm_textbased, action_regex: '(a)(b)'}": "it has 2 groups",
		"environment: {env: [a]}":                                         "environment.env: it is no mapping",
		"model: {model_kwargs: {temperature: warm}}":                      "model.model_kwargs.temperature",
		"model: {model_kwargs: {extra_body: {stream: true}}}":             "model.model_kwargs.stream: whether",
	} {
		file := filepath.Join(t.TempDir(), "x.yaml")
		require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
		template, err := Load(file)
		if err == nil { // an include is found out when it is rendered
			_, err = template.instance.render(nil)
		}
		var config *ConfigError
		require.ErrorAs(t, err, &config, content)
		require.Contains(t, err.Error(), want, content)
	}
	_, err := Load("testdata/absent.yaml")
	require.ErrorContains(t, err, "testdata/absent.yaml")
	_, err = Load()
	require.ErrorContains(t, err, "no file is named")
}

// Templates see the variables on the list and nothing of this process; what is not there is
// an error, and what is substituted is not rendered again.
func TestVariables(t *testing.T) {
	t.Setenv("AGENT_TEST_SECRET", "sk-secret")
	template := Default()
	vars := template.vars(Task{Problem: "{{ cwd }} {% x", InstanceID: "i", Dir: "/testbed"}, template.Limits, "m", [4]string{"Linux"})
	for _, source := range []string{"{{ AGENT_TEST_SECRET }}", "{{ HOME }}", "{{ env }}", "{{ environ.HOME }}", "{{ gonja.version }}", "{{ PATH }}"} {
		j, err := compile("x", source)
		require.NoError(t, err)
		_, err = j.render(vars)
		require.Error(t, err, source)
		require.NotContains(t, err.Error(), "sk-secret")
	}
	text, err := template.instance.render(vars)
	require.NoError(t, err)
	require.Contains(t, text, "<issue>\n{{ cwd }} {% x\n</issue>")
	j, err := compile("x", "{{ step_limit - n_model_calls }} {{ timeout }} {{ cost_limit }} {{ system }}")
	require.NoError(t, err)
	text, err = j.render(vars)
	require.NoError(t, err)
	require.Equal(t, "250 300 3.0 Linux", text)
}

// A template may be rendered by many trajectories at once.
func TestRenderingAtOnce(t *testing.T) {
	t.Parallel()
	template, err := Load("testdata/base.yaml")
	require.NoError(t, err)
	var all sync.WaitGroup
	texts := make([]string, 8)
	for i := range texts {
		all.Go(func() {
			for range 20 {
				texts[i], _ = template.observe(qwen.Result{Output: []byte(strings.Repeat(strconv.Itoa(i), 10_001))}, nil)
			}
		})
	}
	all.Wait()
	for i, text := range texts {
		require.Contains(t, text, "<output_head>\n"+strings.Repeat(strconv.Itoa(i), 5_000)+"\n</output_head>")
	}
}
