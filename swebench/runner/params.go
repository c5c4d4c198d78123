package runner

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/model"
)

// ParseParams reads the generation parameters of a submission: those that agents know, under
// the names that the benchmark has for them. What is null is not sent, so that the server's
// own default holds; what is unknown is ignored.
func ParseParams(data json.RawMessage) (model.Params, map[string]json.RawMessage, error) {
	var p model.Params
	extra := map[string]json.RawMessage{}
	if len(data) == 0 {
		return p, extra, nil
	}
	if rawjson.Valid(data) != nil || rawjson.Kind(data) != '{' {
		return p, extra, &ConfigError{Field: "generation_params", Reason: "it is not an object"}
	}
	for o := rawjson.Members(data); o.Next(); {
		name := string(o.Key)
		if rawjson.Kind(o.Value) == 'n' {
			continue
		}
		var err error
		switch name {
		case "temperature":
			p.Temperature, err = float(o.Value)
		case "top_p":
			p.TopP, err = float(o.Value)
		case "presence_penalty":
			p.PresencePenalty, err = float(o.Value)
		case "frequency_penalty":
			p.FrequencyPenalty, err = float(o.Value)
		case "repetition_penalty":
			p.RepetitionPenalty, err = float(o.Value)
		case "top_k":
			p.TopK, err = integer[int](o.Value)
		case "seed":
			p.Seed, err = integer[int64](o.Value)
		case "max_new_tokens":
			p.MaxTokens, err = integer[int](o.Value)
		case "chat_template_kwargs":
			extra[name] = append(json.RawMessage(nil), o.Value...)
		}
		if err != nil {
			return p, extra, &ConfigError{Field: "generation_params." + name, Reason: err.Error()}
		}
	}
	return p, extra, nil
}

func float(value []byte) (*float64, error) {
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) || rawjson.Kind(value) == '"' {
		return nil, fmt.Errorf("it is %.40s, want a number", value)
	}
	return &f, nil
}

func integer[T int | int64](value []byte) (*T, error) {
	if exact, err := strconv.ParseInt(string(value), 10, 64); err == nil && int64(T(exact)) == exact {
		n := T(exact)
		return &n, nil
	}
	f, err := float(value)
	if err != nil || *f != math.Trunc(*f) || math.Abs(*f) > 1<<53 {
		return nil, fmt.Errorf("it is %.40s, want an integer", value)
	}
	n := T(*f)
	return &n, nil
}
