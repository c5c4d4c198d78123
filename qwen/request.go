package qwen

import (
	"encoding/json"
	"maps"
	"strconv"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/model"
)

// AppendTail implements [model.Dialect]. It writes what the plain dialect writes, with
// the options of the client where the request leaves its own out.
func (d *dialect) AppendTail(dst []byte, req *model.Request) ([]byte, error) {
	sent := *req
	sent.Params = orDefault(req.Params, d.options.Params)
	sent.Tools = soundTools(req.Tools)
	var err error
	if sent.Extra, err = d.withSwitches(req.Extra); err != nil {
		return dst, err
	}
	return d.OpenAI.AppendTail(dst, &sent)
}

const (
	enableThinking   = "enable_thinking"
	preserveThinking = "preserve_thinking"
	thinkingBudget   = "thinking_budget"
	reasoningEffort  = "reasoning_effort"
	templateKwargs   = "chat_template_kwargs"
)

// encodeSwitches returns the thinking switches as the members of an object.
func encodeSwitches(o *Options) []byte {
	members := []byte{'{'}
	if o.EnableThinking != nil {
		members = model.AppendMember(members, enableThinking, strconv.AppendBool(nil, *o.EnableThinking))
	}
	if o.PreserveThinking != nil {
		members = model.AppendMember(members, preserveThinking, strconv.AppendBool(nil, *o.PreserveThinking))
	}
	if o.ThinkingBudget != nil {
		members = model.AppendMember(members, thinkingBudget, strconv.AppendInt(nil, int64(*o.ThinkingBudget), 10))
	}
	if o.ReasoningEffort != "" {
		members = model.AppendMember(members, reasoningEffort, rawjson.AppendQuoted(nil, o.ReasoningEffort))
	}
	return append(members, '}')
}

// withSwitches returns the extras with the thinking switches in the place that the server
// reads. A switch that the request sets itself wins.
func (d *dialect) withSwitches(extra map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	members := d.switches
	switch server := d.options.Server; server {
	case DashScope:
		extra = withMembers(extra, members)
		if extra[thinkingBudget] != nil && extra[reasoningEffort] != nil {
			return nil, &model.RequestError{Field: "ThinkingBudget", Reason: "the server takes a thinking budget or a reasoning effort, not both; leave one out"}
		}
		return extra, nil
	case OpenAICompatible, "":
	default:
		return nil, &model.RequestError{Field: "Server", Reason: strconv.Quote(string(server)) + ` is unknown; use "openai-compatible" or "dashscope"`}
	}
	if len(members) == len("{}") {
		return extra, nil
	}
	own := extra[templateKwargs]
	if own == nil {
		return withMembers(extra, append(append([]byte(`{"`+templateKwargs+`":`), members...), '}')), nil
	}
	if rawjson.Kind(own) != '{' || rawjson.Valid(own) != nil {
		return nil, &model.RequestError{Field: "Extra[" + strconv.Quote(templateKwargs) + "]", Reason: "it must be a JSON object"}
	}
	merged := own
	for m := rawjson.Members(members); m.Next(); {
		if name := string(m.Key); rawjson.Get(own, name) == nil {
			merged = setMember(merged, name, m.Value)
		}
	}
	extra = maps.Clone(extra)
	extra[templateKwargs] = merged
	return extra, nil
}

// withMembers returns a map with the members that it does not have yet. The caller's map
// is not changed.
func withMembers(extra map[string]json.RawMessage, members []byte) map[string]json.RawMessage {
	cloned := false
	for m := rawjson.Members(members); m.Next(); {
		if extra[string(m.Key)] != nil {
			continue
		}
		if !cloned {
			cloned = true
			if extra = maps.Clone(extra); extra == nil {
				extra = make(map[string]json.RawMessage)
			}
		}
		extra[string(m.Key)] = m.Value
	}
	return extra
}

// setMember returns the object with a member replaced or added at its end.
func setMember(object []byte, name string, value []byte) []byte {
	for o := rawjson.Members(object); o.Next(); {
		if string(o.Key) == name {
			return splice(object, []valueEdit{{from: o.To - len(o.Value), to: o.To, value: value}})
		}
	}
	end := len(object)
	for object[end-1] != '}' {
		end--
	}
	end--
	for isBlank(object[end-1]) {
		end--
	}
	out := append(make([]byte, 0, len(object)+len(name)+len(value)+4), object[:end]...)
	return append(model.AppendMember(out, name, value), '}')
}

// orDefault fills in what the request leaves nil.
func orDefault(p, d model.Params) model.Params {
	fill(&p.Temperature, d.Temperature)
	fill(&p.TopP, d.TopP)
	fill(&p.TopK, d.TopK)
	fill(&p.MinP, d.MinP)
	fill(&p.Seed, d.Seed)
	fill(&p.MaxTokens, d.MaxTokens)
	fill(&p.PresencePenalty, d.PresencePenalty)
	fill(&p.FrequencyPenalty, d.FrequencyPenalty)
	fill(&p.RepetitionPenalty, d.RepetitionPenalty)
	if p.Stop == nil {
		p.Stop = d.Stop
	}
	return p
}

func fill[T any](value **T, standard *T) {
	if *value == nil {
		*value = standard
	}
}
