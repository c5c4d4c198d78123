package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// maxTemplateFile bounds one file of a template.
const maxTemplateFile = 4 << 20

// Load reads configuration files of mini-swe-agent 2 as they are. Several merge: mappings
// member by member, of all else the later file counts. Where no file has a prompt, that of
// [Default] is used. The tool is bash, and work is handed in as [Default] says.
//
// Of the section model the sampling parameters of model_kwargs are taken, the rest of it
// goes into [Template.Extra] and [Template.Headers]; keys and addresses are left out, since
// both belong to the client. With a text-based model class, or an action_regex, no tool is offered, and the one
// match of its action_regex in the text of an answer is the command.
func Load(files ...string) (Template, error) {
	if len(files) == 0 {
		return Template{}, &ConfigError{Field: "template", Reason: "no file is named; name at least one, or use Default"}
	}
	merged := map[string]any{}
	var names []string
	for _, file := range files {
		tree, err := readYAML(file)
		if err != nil {
			return Template{}, err
		}
		merge(merged, tree)
		names = append(names, strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)))
	}
	return fromTree(strings.Join(names, "+"), merged)
}

func readYAML(file string) (map[string]any, error) {
	refuse := func(err error) (map[string]any, error) {
		return nil, &ConfigError{Field: "template " + file, Reason: err.Error()}
	}
	f, err := os.Open(file) //nolint:gosec // it is the caller's file
	if err != nil {
		return refuse(err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(f, maxTemplateFile+1))
	switch {
	case err != nil:
		return refuse(err)
	case len(text) > maxTemplateFile:
		return refuse(fmt.Errorf("it is larger than %d bytes", maxTemplateFile))
	}
	var tree map[string]any
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&tree); err != nil && !errors.Is(err, io.EOF) {
		return refuse(fmt.Errorf("it is no YAML mapping: %w", err))
	}
	return tree, nil
}

// merge lays src over dst.
func merge(dst, src map[string]any) {
	for name, value := range src {
		below, ok := value.(map[string]any)
		own, both := dst[name].(map[string]any)
		switch {
		case ok && both:
			merge(own, below)
		case ok:
			copied := map[string]any{}
			merge(copied, below)
			dst[name] = copied
		default:
			dst[name] = value
		}
	}
}

// fromTree makes a template of a merged configuration.
func fromTree(name string, tree map[string]any) (Template, error) {
	t := Default()
	t.Name = name
	agent, environment, mod := section{"agent", nil}, section{"environment", nil}, section{"model", nil}
	for _, s := range []*section{&agent, &environment, &mod} {
		if err := s.from(tree); err != nil {
			return Template{}, err
		}
	}
	if agent.values["action_observation_template"] != nil {
		return Template{}, &ConfigError{Field: "agent.action_observation_template", Reason: "this is a configuration of mini-swe-agent 1; use one of version 2"}
	}
	r := reader{}
	if class, _ := mod.values["model_class"].(string); strings.Contains(class, "textbased") || mod.values["action_regex"] != nil {
		t.action = r.pattern(mod, "action_regex", "```mswea_bash_command\\s*\\n(.*?)\\n```")
	}
	t.texts(&r, agent, mod)
	t.Limits.Steps = int(r.number(agent, "step_limit", 0))
	t.Limits.Cost = r.number(agent, "cost_limit", 3)
	t.Limits.Wall = r.seconds(agent, "wall_time_limit_seconds", 0)
	t.Limits.FormatErrors = int(r.number(agent, "max_consecutive_format_errors", 3))
	t.Limits.Command = r.seconds(environment, "timeout", 30*time.Second)
	if dir := r.text(environment, "cwd"); dir != "" {
		t.Dir = dir
	}
	if env, ok := environment.values["env"]; ok {
		t.Env = r.texts(env, "environment.env")
	}
	if list, ok := environment.values["interpreter"].([]any); ok {
		t.Interpreter = nil
		for _, word := range list {
			t.Interpreter = append(t.Interpreter, fmt.Sprint(word))
		}
	}
	if kwargs, ok := mod.values["model_kwargs"].(map[string]any); ok {
		t.kwargs(&r, kwargs)
	}
	return t, r.err
}

// texts compiles the prompts.
func (t *Template) texts(r *reader, agent, mod section) {
	var sources []string
	for _, text := range []struct {
		from   section
		name   string
		own    string
		target **jinja
	}{
		{agent, "system_template", prompt("default.system"), &t.system},
		{agent, "instance_template", prompt("default.instance"), &t.instance},
		{mod, "observation_template", "", &t.observation},
		{mod, "format_error_template", "", &t.formatError},
	} {
		source := text.own
		if _, given := text.from.values[text.name]; given {
			source = r.text(text.from, text.name)
		}
		sources = append(sources, source)
		if source == "" || r.err != nil {
			continue
		}
		*text.target, r.err = compile(text.from.name+"."+text.name, source)
	}
	t.hash = hashOf(sources...)
}

// A section is one part of the configuration.
type section struct {
	name   string
	values map[string]any
}

func (s *section) from(tree map[string]any) error {
	switch value := tree[s.name].(type) {
	case nil:
	case map[string]any:
		s.values = value
	default:
		return &ConfigError{Field: s.name, Reason: "it is no mapping"}
	}
	return nil
}

// A reader takes values out of sections and keeps the first error.
type reader struct{ err error }

func (r *reader) fail(field, format string, args ...any) {
	if r.err == nil {
		r.err = &ConfigError{Field: field, Reason: fmt.Sprintf(format, args...)}
	}
}

func (r *reader) number(s section, name string, otherwise float64) float64 {
	value, given := s.values[name]
	if !given || value == nil {
		return otherwise
	}
	n := math.NaN()
	switch v := value.(type) {
	case int:
		n = float64(v)
	case float64:
		n = v
	}
	if math.IsNaN(n) || n < 0 || n > 1e15 {
		r.fail(s.name+"."+name, "%s is no number from 0 on", shown(value))
		return otherwise
	}
	return n
}

// pattern compiles a regular expression of Python's, whose dot matches line ends.
func (r *reader) pattern(s section, name, otherwise string) *regexp.Regexp {
	source := r.text(s, name)
	if source == "" {
		source = otherwise
	}
	pattern, err := regexp.Compile("(?s)" + source)
	if err != nil {
		r.fail(s.name+"."+name, "%v", err)
	}
	if err == nil && pattern.NumSubexp() > 1 {
		r.fail(s.name+"."+name, "it has %d groups; one is the command", pattern.NumSubexp())
	}
	return pattern
}

// shown is a value of a file as an error shows it.
func shown(value any) string { return fmt.Sprintf("%.60s", fmt.Sprint(value)) }

func (r *reader) seconds(s section, name string, otherwise time.Duration) time.Duration {
	n := r.number(s, name, otherwise.Seconds())
	return time.Duration(min(n, 1e9) * float64(time.Second))
}

func (r *reader) text(s section, name string) string {
	value, given := s.values[name]
	if !given || value == nil {
		return ""
	}
	text, ok := value.(string)
	if !ok {
		r.fail(s.name+"."+name, "want a text, got %s", shown(value))
	}
	return text
}

func (r *reader) texts(value any, field string) map[string]string {
	members, ok := value.(map[string]any)
	if !ok && value != nil {
		r.fail(field, "it is no mapping")
	}
	out := map[string]string{}
	for name, v := range members {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			r.fail(field, "%q is no name of a variable", name)
		}
		out[name] = fmt.Sprint(v)
	}
	return out
}

// kwargs sorts what upstream hands to its client library.
func (t *Template) kwargs(r *reader, kwargs map[string]any) {
	params := map[string]any{
		"temperature": &t.Params.Temperature, "top_p": &t.Params.TopP, "top_k": &t.Params.TopK, "min_p": &t.Params.MinP,
		"seed": &t.Params.Seed, "max_tokens": &t.Params.MaxTokens, "presence_penalty": &t.Params.PresencePenalty,
		"frequency_penalty": &t.Params.FrequencyPenalty, "repetition_penalty": &t.Params.RepetitionPenalty, "stop": &t.Params.Stop,
	}
	for name, value := range kwargs {
		field := "model.model_kwargs." + name
		text, err := json.Marshal(value)
		if err != nil {
			r.fail(field, "it cannot be sent: %v", err)
			continue
		}
		target, known := params[name]
		switch {
		case known:
			if err := json.Unmarshal(text, target); err != nil {
				r.fail(field, "%.60s does not fit", text)
			}
		case name == "stream", name == "stream_options":
			r.fail(field, "whether answers are streamed is the caller's choice; take it out")
		case name == "extra_headers":
			t.Headers = r.texts(value, field)
		case name == "extra_body":
			if members, ok := value.(map[string]any); ok {
				t.kwargs(r, members)
			}
		case name == "drop_params", name == "timeout", name == "custom_llm_provider", name == "num_retries",
			strings.HasPrefix(name, "api_"), name == "base_url", name == "model", name == "messages", name == "tools":
			// how upstream's own client works, or what the caller's client has
		default:
			if t.Extra == nil {
				t.Extra = map[string]json.RawMessage{}
			}
			t.Extra[name] = text
		}
	}
}
