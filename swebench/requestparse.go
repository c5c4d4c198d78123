package swebench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/homing-go/homing/internal/rawjson"
)

// requestKeys are the keys of a request.
func requestKeys() []string {
	return []string{
		"model_name", "endpoint_urls", "endpoint_api_key", "routing_headers", "generation_params", "subset", "split",
		"num_instances", "workers", "max_eval_workers", "evaluated_instance_ids", "template",
	}
}

// ParseRunRequest reads the body of POST /v1/runs as strictly as the package comment says
// and fills in the defaults; RoutingHeaders is never nil afterwards. The request keeps
// no part of body. The error is a *[RequestError].
func ParseRunRequest(body []byte) (*RunRequest, error) {
	if len(body) > MaxRequestBytes {
		return nil, refuse("", fmt.Sprintf("the body has %d bytes, the limit is %d", len(body), MaxRequestBytes))
	}
	value, err := object(body)
	if err != nil {
		return nil, refuse("", err.Error())
	}
	if name := duplicate(value); name != "" {
		return nil, refuse(name, "it is there twice; leave one out")
	}
	p := &parser{values: map[string][]byte{}}
	for o := rawjson.Members(value); o.Next(); {
		p.values[string(o.Key)] = o.Value
	}
	if err := p.unknown(value); err != nil {
		return nil, err
	}
	r := &RunRequest{
		ModelName:            p.text("model_name", nil),
		EndpointURLs:         p.texts("endpoint_urls", nil, true),
		EndpointAPIKey:       p.nullable("endpoint_api_key"),
		RoutingHeaders:       p.texts("routing_headers", DefaultHeaderNames(), false),
		GenerationParams:     p.object("generation_params"),
		Subset:               p.text("subset", []byte(`"verified"`)),
		Split:                p.text("split", []byte(`"test"`)),
		NumInstances:         p.integer("num_instances"),
		Workers:              p.integer("workers"),
		MaxEvalWorkers:       p.integer("max_eval_workers"),
		EvaluatedInstanceIDs: p.texts("evaluated_instance_ids", nil, false),
		Template:             p.text("template", []byte(`"default"`)),
	}
	if p.err != nil {
		return nil, p.err
	}
	if err := r.Validate(); err != nil {
		return nil, err
	}
	r.RoutingHeaders, _ = HeaderNames(r.RoutingHeaders) // Validate has seen them
	return r, nil
}

// parser reads the values of a request and keeps the first fault.
type parser struct {
	values map[string][]byte
	err    error
}

func (p *parser) refuse(field, format string, args ...any) {
	if p.err == nil {
		p.err = refuse(field, fmt.Sprintf(format, args...))
	}
}

func (p *parser) unknown(value []byte) error {
next:
	for o := rawjson.Members(value); o.Next(); {
		name := string(o.Key)
		remedy := "leave it out"
		for _, key := range requestKeys() {
			if key == name {
				continue next
			}
			if strings.EqualFold(key, name) {
				remedy = "write it as " + key
			}
		}
		return refuse(short(name), "this service does not know the key; "+remedy)
	}
	return nil
}

// get returns the field's value; the default if it is absent; nil, with a fault noted, if
// it has neither or is null.
func (p *parser) get(field string, absent []byte) []byte {
	value, ok := p.values[field]
	switch {
	case !ok && absent == nil:
		p.refuse(field, "it is missing; send it")
	case !ok:
		return absent
	case rawjson.Kind(value) == 'n':
		p.refuse(field, "it is null; send a value")
	default:
		return value
	}
	return nil
}

func (p *parser) text(field string, absent []byte) string {
	value := p.get(field, absent)
	switch {
	case value == nil:
		return ""
	case rawjson.Kind(value) != '"':
		p.refuse(field, "it is %s; send a string", shown(value))
	case halfSurrogate(value):
		p.refuse(field, "it has half of a surrogate pair; send whole characters")
	}
	return rawjson.Text(value)
}

// texts reads a list of strings. The texts of a secret field are not shown.
func (p *parser) texts(field string, absent []string, secret bool) []string {
	if _, ok := p.values[field]; !ok && absent != nil {
		return absent
	}
	value := p.get(field, nil)
	if value == nil {
		return nil
	}
	if rawjson.Kind(value) != '[' {
		p.refuse(field, "it is %s; send a list of strings", rawjson.KindName(value))
		return nil
	}
	list := []string{}
	for a := rawjson.Elements(value); a.Next(); {
		n := len(list) + 1
		switch {
		case rawjson.Kind(a.Value) != '"' && secret:
			p.refuse(field, "element %d is %s; send strings", n, rawjson.KindName(a.Value))
		case rawjson.Kind(a.Value) != '"':
			p.refuse(field, "element %d is %s; send strings", n, shown(a.Value))
		case halfSurrogate(a.Value):
			p.refuse(field, "element %d has half of a surrogate pair; send whole characters", n)
		}
		list = append(list, rawjson.Text(a.Value))
	}
	return list
}

func (p *parser) nullable(field string) *string {
	value, ok := p.values[field]
	if !ok || rawjson.Kind(value) == 'n' {
		return nil
	}
	if rawjson.Kind(value) != '"' {
		p.refuse(field, "it is %s; send a string or null", rawjson.KindName(value))
		return nil
	}
	if halfSurrogate(value) {
		p.refuse(field, "it has half of a surrogate pair; send whole characters")
	}
	s := rawjson.Text(value)
	return &s
}

func (p *parser) object(field string) json.RawMessage {
	value := p.get(field, []byte("{}"))
	if value != nil && rawjson.Kind(value) != '{' {
		p.refuse(field, "it is %s; send an object", shown(value))
	}
	return bytes.Clone(value)
}

func (p *parser) integer(field string) int {
	value := p.get(field, nil)
	if value == nil {
		return 0
	}
	n, ok := laxInteger(value)
	if !ok {
		p.refuse(field, "it is %s; send an integer from 1 to %d", shown(value), maxInteger)
	}
	return n
}

// laxInteger takes an integer, a float without a fraction, or a string of digits.
func laxInteger(value []byte) (int, bool) {
	text := string(value)
	switch kind := rawjson.Kind(value); {
	case kind == '"':
		text = rawjson.Text(value)
		if !digits(text) {
			return 0, false
		}
	case kind != '-' && (kind < '0' || kind > '9'):
		return 0, false
	}
	// Python reads a number with a fraction or an exponent as a float, too.
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > maxInteger {
		return 0, false
	}
	return int(f), true
}

// digits reports whether s is one or more ASCII digits.
func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
