package config

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/swebench/internal/pyint"
	"go.yaml.in/yaml/v3"
)

// expand resolves references to the environment.
func (r *reader) expand(key, s string) (string, error) {
	if !strings.Contains(s, "$") {
		return s, nil
	}
	var b strings.Builder
	for {
		at := strings.IndexByte(s, '$')
		if at < 0 {
			return b.String() + s, nil
		}
		b.WriteString(s[:at])
		s = s[at:]
		if strings.HasPrefix(s, "$$") {
			b.WriteByte('$')
			s = s[2:]
			continue
		}
		m := reference.FindStringSubmatch(s)
		if m == nil {
			b.WriteByte('$')
			s = s[1:]
			continue
		}
		value, ok := r.getenv(m[1] + m[4])
		if !ok && m[2] == "" {
			return "", fault(key, "the environment variable %s is not set; set it, or write ${%[1]s:-default}", m[1]+m[4])
		} else if !ok {
			value = m[3]
		}
		b.WriteString(value)
		s = s[len(m[0]):]
	}
}

var reference = regexp.MustCompile(`^\$(?:\{([A-Za-z_]\w*)(:-([^}]*))?\}|([A-Za-z_]\w*))`)

// scalar returns the text of a scalar and its tag.
func (r *reader) scalar(key string, n *yaml.Node) (text, tag string, err error) {
	if n, err = r.follow(n); err != nil {
		return "", "", err
	}
	if n.Kind != yaml.ScalarNode {
		return "", "", fault(key, "it is %s; want one value", kindName(n))
	}
	if word, ok := truth(n); ok {
		return word, "!!bool", nil
	}
	if tag = n.ShortTag(); tag != "!!str" {
		return n.Value, tag, nil
	}
	text, err = r.expand(key, n.Value)
	return text, tag, err
}

// truth reads a boolean as "true" or "false". Without quotes yes, no, on and off are booleans,
// too, as in YAML 1.1, which the Python benchmark reads.
func truth(n *yaml.Node) (word string, ok bool) {
	const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle | yaml.TaggedStyle
	if n.Kind != yaml.ScalarNode || n.Style&quoted != 0 && n.ShortTag() != "!!bool" {
		return "", false
	}
	switch n.Value {
	case "true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON":
		return "true", true
	case "false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF":
		return "false", true
	}
	return "", false
}

// text returns a text; other scalars are refused.
func (r *reader) text(key string, n *yaml.Node) (string, error) {
	s, tag, err := r.scalar(key, n)
	if err == nil && tag != "!!str" {
		err = fault(key, "it is %s; want a text", kindName(&yaml.Node{Kind: yaml.ScalarNode, Tag: tag}))
	}
	return s, err
}

// optional is text, "" for an absent one and for null.
func (r *reader) optional(key string, n *yaml.Node) (string, error) {
	if isNull(n) {
		return "", nil
	}
	return r.text(key, n)
}

// python returns a scalar as Python's str() writes it.
func (r *reader) python(key string, n *yaml.Node) (string, error) {
	s, tag, err := r.scalar(key, n)
	switch tag {
	case "!!null":
		return "None", err
	case "!!bool":
		if value, _ := strconv.ParseBool(s); value {
			return "True", err
		}
		return "False", err
	}
	return s, err
}

// integer reads a scalar as Python's int() does.
func (r *reader) integer(key string, n *yaml.Node) (int, error) {
	s, tag, err := r.scalar(key, n)
	if err != nil {
		return 0, err
	}
	var (
		value int
		ok    bool
	)
	switch tag {
	case "!!bool":
		value, ok = pyint.JSON([]byte(s))
	case "!!int":
		long, parseErr := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 0, 64)
		value, ok = pyint.Text(strconv.FormatInt(long, 10))
		ok = ok && parseErr == nil
	case "!!float":
		value, ok = pyint.Float(float(s))
	case "!!str":
		value, ok = pyint.Text(s)
	}
	if !ok {
		return 0, fault(key, "it is %q; want an integer below 2147483648", short(s))
	}
	return value, nil
}

// count reads a scalar as an integer field of the Python benchmark: 5, 5.0 and "5" are taken,
// 5.5 and true are not.
func (r *reader) count(key string, n *yaml.Node) (int, error) {
	number, err := r.number(key, n, true)
	if err != nil {
		return 0, err
	}
	value, ok := pyint.JSON([]byte(number))
	if !ok {
		return 0, fault(key, "it is %s; want an integer below 2147483648", short(string(number)))
	}
	return value, nil
}

// float reads a YAML float; NaN if it is none.
func float(s string) float64 {
	switch strings.ToLower(strings.TrimLeft(s, "+")) {
	case ".inf":
		return math.Inf(1)
	case "-.inf":
		return math.Inf(-1)
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	if err != nil {
		return math.NaN()
	}
	return f
}

// number returns the JSON text of a number: that of the file, if JSON can have it.
func (r *reader) number(key string, n *yaml.Node, whole bool) (json.Number, error) {
	s, tag, err := r.scalar(key, n)
	if err != nil {
		return "", err
	}
	if tag == "!!int" || tag == "!!float" || tag == "!!str" {
		s = strings.TrimSpace(s)
		f := float(s)
		isJSON := json.Valid([]byte(s)) && !strings.ContainsAny(s, `"tfn[{`)
		switch {
		case tag == "!!int" && !isJSON:
			if long, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 0, 64); err == nil {
				return json.Number(strconv.FormatInt(long, 10)), nil
			}
		case math.IsNaN(f), math.IsInf(f, 0):
		case whole && f != math.Trunc(f):
		case whole && strings.ContainsAny(s, ".eE"):
			return json.Number(strconv.FormatFloat(f, 'f', -1, 64)), nil
		case isJSON:
			return json.Number(s), nil
		default:
			return json.Number(strconv.FormatFloat(f, 'g', -1, 64)), nil
		}
	}
	if whole {
		return "", fault(key, "it is %q; want an integer", short(s))
	}
	return "", fault(key, "it is %q; want a number", short(s))
}

// appendJSON writes any node as JSON.
func (r *reader) appendJSON(dst []byte, key string, n *yaml.Node, depth int) ([]byte, error) {
	n, err := r.follow(n)
	if err != nil {
		return nil, err
	}
	if depth > maxDepth {
		return nil, fault(key, "it is nested more than %d deep", maxDepth)
	}
	switch n.Kind {
	case yaml.MappingNode:
		pairs, err := r.mapping(key, n)
		if err != nil {
			return nil, err
		}
		dst = append(dst, '{')
		for i, p := range pairs {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(rawjson.AppendQuoted(dst, p.name), ':')
			if dst, err = r.appendJSON(dst, join(key, p.name), p.value, depth+1); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	case yaml.SequenceNode:
		dst = append(dst, '[')
		for i, c := range n.Content {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = r.appendJSON(dst, key, c, depth+1); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	}
	if word, ok := truth(n); ok {
		return append(dst, word...), nil
	}
	switch n.ShortTag() {
	case "!!null":
		return append(dst, "null"...), nil
	case "!!int", "!!float":
		number, err := r.number(key, n, false)
		return append(dst, number...), err
	}
	s, err := r.expand(key, n.Value)
	return rawjson.AppendQuoted(dst, s), err
}
