package qwen

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/homing-go/homing/model"
)

// sampling is what the model cards give: temperature, top_p and top_k always, the rest
// where they name it.
type sampling struct {
	temperature, topP             float64
	topK                          int
	minP, presence, repetition    *float64
	maxTokens                     int
	preserveThinking, thinkingOff bool
}

// Profile returns the options of a named sampling profile: those of the model cards, by
// generation and use, and the fixed ones of the agentic benchmark. Every card warns
// against greedy decoding. Limits on the output are the caller's to set, except in the
// benchmark's profile. The names are those of [Profiles].
func Profile(name string) (Options, error) {
	s, ok := profiles()[name]
	if !ok {
		return Options{}, &model.ConfigError{Field: "Profile", Reason: fmt.Sprintf("%q is unknown; use one of %s", name, strings.Join(Profiles(), ", "))}
	}
	o := Options{Params: model.Params{
		Temperature: &s.temperature, TopP: &s.topP, TopK: &s.topK,
		MinP: s.minP, PresencePenalty: s.presence, RepetitionPenalty: s.repetition,
	}}
	if s.maxTokens > 0 {
		o.Params.MaxTokens = &s.maxTokens
	}
	if s.preserveThinking {
		o.PreserveThinking = &s.preserveThinking
	}
	if s.thinkingOff {
		o.EnableThinking = new(bool)
	}
	return o, nil
}

// Profiles returns the names of the profiles, in order.
func Profiles() []string { return slices.Sorted(maps.Keys(profiles())) }

func profiles() map[string]sampling {
	at := func(v float64) *float64 { return &v }
	return map[string]sampling{
		"qwen2.5": {temperature: 0.7, topP: 0.8, topK: 20, repetition: at(1.05)},

		"qwen3-thinking":      {temperature: 0.6, topP: 0.95, topK: 20, minP: at(0)},
		"qwen3-instruct":      {temperature: 0.7, topP: 0.8, topK: 20, thinkingOff: true},
		"qwen3-2507-thinking": {temperature: 0.6, topP: 0.95, topK: 20},
		"qwen3-2507-instruct": {temperature: 0.7, topP: 0.8, topK: 20},

		"qwen3-coder":      {temperature: 0.7, topP: 0.8, topK: 20, repetition: at(1.05)},
		"qwen3-coder-next": {temperature: 1, topP: 0.95, topK: 40},

		"qwen3.5-thinking": {temperature: 1, topP: 0.95, topK: 20, presence: at(1.5)},
		"qwen3.5-code":     {temperature: 0.6, topP: 0.95, topK: 20, presence: at(0)},
		"qwen3.5-instruct": {temperature: 0.7, topP: 0.8, topK: 20, presence: at(1.5), thinkingOff: true},

		"qwen3.6-thinking": {temperature: 1, topP: 0.95, topK: 20, presence: at(0)},
		"qwen3.6-code":     {temperature: 0.6, topP: 0.95, topK: 20, presence: at(0)},
		"qwen3.6-instruct": {temperature: 0.7, topP: 0.8, topK: 20, presence: at(1.5), thinkingOff: true},

		"qwen3.8-thinking": {temperature: 1, topP: 0.95, topK: 20, presence: at(0)},
		"qwen3.8-instruct": {temperature: 0.7, topP: 0.8, topK: 20, presence: at(1.5), thinkingOff: true},

		// The benchmark's figures differ from the card of the model that it runs, and it
		// allows no other parameter.
		"mlperf-agentic": {
			temperature: 1, topP: 0.95, topK: 20, presence: at(1.5), repetition: at(1),
			maxTokens: 8192, preserveThinking: true,
		},
	}
}
