package model

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/homing-go/homing/internal/rawjson"
)

// OpenAI is the plain chat-completions dialect: tools, [Params] and Extra go out
// as they are, answers are taken as they come. The received message is replayed
// byte for byte. It is what a nil Dialect means.
type OpenAI struct{}

var _ Dialect = OpenAI{}

// AppendMember appends one member to an object that is not closed yet. value must
// be valid JSON.
func AppendMember(dst []byte, name string, value []byte) []byte {
	if n := len(dst); n > 0 && dst[n-1] != '{' && dst[n-1] != ',' {
		dst = append(dst, ',')
	}
	dst = rawjson.AppendQuoted(dst, name)
	dst = append(dst, ':')
	return append(dst, value...)
}

// AppendTail writes tools, parameters and extras, the last in the order of their
// names so that equal requests have equal bytes.
func (OpenAI) AppendTail(dst []byte, req *Request) ([]byte, error) {
	if tools := req.Tools.JSON(); tools != nil {
		dst = AppendMember(dst, "tools", tools)
	}
	dst, err := appendParams(dst, &req.Params)
	if err != nil || len(req.Extra) == 0 {
		return dst, err
	}
	sent := memberNames(dst)
	for _, name := range slices.Sorted(maps.Keys(req.Extra)) {
		value := req.Extra[name]
		if err := rawjson.Valid(value); err != nil {
			return dst, &RequestError{Field: fmt.Sprintf("Extra[%q]", name), Reason: err.Error()}
		}
		if name == "messages" || name == "stream" || slices.Contains(sent, name) {
			return dst, &RequestError{Field: fmt.Sprintf("Extra[%q]", name), Reason: "it is sent already; use " + sourceOf(name)}
		}
		dst = AppendMember(dst, name, value)
	}
	return dst, nil
}

// memberNames returns the names in an object that is not closed yet.
func memberNames(open []byte) []string {
	var names []string
	o := rawjson.Members(append(open[:len(open):len(open)], '}'))
	for o.Next() {
		names = append(names, string(o.Key))
	}
	return names
}

// sourceOf tells where a member comes from that may not come from Extra as well.
func sourceOf(member string) string {
	switch member {
	case "messages", "tools":
		return "the request's field for it"
	case "model":
		return "Config.Model"
	case "stream":
		return "Stream instead of Generate"
	default:
		return "its field of Params, or the dialect's own setting"
	}
}

func appendParams(dst []byte, p *Params) ([]byte, error) {
	for _, f := range [...]struct {
		field, name string
		value       *float64
	}{
		{"Temperature", "temperature", p.Temperature},
		{"TopP", "top_p", p.TopP},
		{"MinP", "min_p", p.MinP},
		{"PresencePenalty", "presence_penalty", p.PresencePenalty},
		{"FrequencyPenalty", "frequency_penalty", p.FrequencyPenalty},
		{"RepetitionPenalty", "repetition_penalty", p.RepetitionPenalty},
	} {
		if f.value == nil {
			continue
		}
		if math.IsNaN(*f.value) || math.IsInf(*f.value, 0) {
			return dst, &RequestError{Field: "Params." + f.field, Reason: fmt.Sprintf("%v is no JSON number", *f.value)}
		}
		dst = AppendMember(dst, f.name, nil)
		dst = strconv.AppendFloat(dst, *f.value, 'g', -1, 64)
	}
	if p.TopK != nil {
		dst = appendInt(dst, "top_k", int64(*p.TopK))
	}
	if p.Seed != nil {
		dst = appendInt(dst, "seed", *p.Seed)
	}
	if p.MaxTokens != nil {
		dst = appendInt(dst, "max_tokens", int64(*p.MaxTokens))
	}
	if p.Stop != nil {
		dst = AppendMember(dst, "stop", []byte{'['})
		for i, s := range p.Stop {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = rawjson.AppendQuoted(dst, s)
		}
		dst = append(dst, ']')
	}
	return dst, nil
}

func appendInt(dst []byte, name string, v int64) []byte {
	return strconv.AppendInt(AppendMember(dst, name, nil), v, 10)
}

// NewReader returns a reader that takes answers as they come.
func (OpenAI) NewReader(*Request) Reader { return new(reader) }
