package config

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/homing-go/homing/internal/rawjson"
	"go.yaml.in/yaml/v3"
)

const defaultMaxNewTokens = 1024

// ModelParams are the model and how it generates. Numbers keep the text that they have in
// the file; "" means that the server's default applies.
type ModelParams struct {
	Name               string
	Temperature        json.Number
	Seed               json.Number
	TopP               json.Number
	TopK               json.Number
	RepetitionPenalty  json.Number
	PresencePenalty    json.Number
	FrequencyPenalty   json.Number
	MaxNewTokens       int
	ChatTemplateKwargs json.RawMessage // an object; nil if there is none
}

// GenerationParams returns the object that a run request carries: what is set, and
// max_new_tokens always.
func (m ModelParams) GenerationParams() json.RawMessage {
	b := []byte{'{'}
	add := func(name string, value []byte) {
		if len(value) == 0 {
			return
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(rawjson.AppendQuoted(b, name), ':'), value...)
	}
	for _, n := range []struct {
		name  string
		value json.Number
	}{
		{"temperature", m.Temperature},
		{"seed", m.Seed},
		{"top_p", m.TopP},
		{"top_k", m.TopK},
		{"repetition_penalty", m.RepetitionPenalty},
		{"presence_penalty", m.PresencePenalty},
		{"frequency_penalty", m.FrequencyPenalty},
		{"max_new_tokens", json.Number(strconv.Itoa(m.MaxNewTokens))},
	} {
		add(n.name, []byte(n.value))
	}
	add("chat_template_kwargs", m.ChatTemplateKwargs)
	return append(b, '}')
}

// Keys of model_params. Those that only the performance side uses pass unread.
const (
	identityKeys   = "name streaming tokenizer_name"
	generationKeys = "temperature seed top_k top_p repetition_penalty presence_penalty frequency_penalty chat_template_kwargs max_new_tokens" +
		" min_new_tokens skip_special_tokens osl_distribution"
)

func (r *reader) model(key string, pairs []pair) (ModelParams, error) {
	m := ModelParams{MaxNewTokens: defaultMaxNewTokens}
	err := known(key, pairs, identityKeys+" "+generationKeys)
	if err != nil {
		return m, err
	}
	if m.Name, err = r.optional(join(key, "name"), find(pairs, "name")); err != nil {
		return m, err
	}
	m.Name = strings.TrimSpace(m.Name) // as the Python benchmark does
	for _, n := range []struct {
		name  string
		whole bool
		into  *json.Number
	}{
		{"temperature", false, &m.Temperature},
		{"seed", true, &m.Seed},
		{"top_p", false, &m.TopP},
		{"top_k", true, &m.TopK},
		{"repetition_penalty", false, &m.RepetitionPenalty},
		{"presence_penalty", false, &m.PresencePenalty},
		{"frequency_penalty", false, &m.FrequencyPenalty},
	} {
		if value := find(pairs, n.name); !isNull(value) {
			if *n.into, err = r.number(join(key, n.name), value, n.whole); err != nil {
				return m, err
			}
		}
	}
	if value := find(pairs, "max_new_tokens"); !isNull(value) {
		number, err := r.number(join(key, "max_new_tokens"), value, true)
		if err != nil {
			return m, err
		}
		if m.MaxNewTokens, err = strconv.Atoi(string(number)); err != nil {
			return m, fault(join(key, "max_new_tokens"), "it is %s; want a smaller integer", short(string(number)))
		}
	}
	if value := find(pairs, "chat_template_kwargs"); !isNull(value) {
		key := join(key, "chat_template_kwargs")
		if _, err := r.mapping(key, value); err != nil {
			return m, err
		}
		m.ChatTemplateKwargs, err = r.appendJSON(nil, key, value, 0)
	}
	return m, err
}

// override lays the members of over on those of base; mappings in both are laid on each
// other in the same way.
func (r *reader) override(key string, base, over []pair) ([]pair, error) {
	merged := append([]pair{}, base...)
	places := make(map[string]int, len(merged))
	for i, b := range merged {
		places[b.name] = i
	}
	for _, o := range over {
		i, ok := places[o.name]
		if !ok {
			merged = append(merged, o)
			continue
		}
		below, err := r.follow(merged[i].value)
		if err != nil {
			return nil, err
		}
		above, err := r.follow(o.value)
		if err != nil {
			return nil, err
		}
		merged[i].value = above
		if below.Kind == yaml.MappingNode && above.Kind == yaml.MappingNode {
			if merged[i].value, err = r.lay(join(key, o.name), below, above); err != nil {
				return nil, err
			}
		}
	}
	return merged, nil
}

func (r *reader) lay(key string, below, above *yaml.Node) (*yaml.Node, error) {
	base, err := r.mapping(key, below)
	if err != nil {
		return nil, err
	}
	over, err := r.mapping(key, above)
	if err != nil {
		return nil, err
	}
	pairs, err := r.override(key, base, over)
	if err != nil {
		return nil, err
	}
	out := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, p := range pairs {
		out.Content = append(out.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: p.name}, p.value)
	}
	return out, nil
}
