package config

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const redacted = "<redacted>"

// Redacted returns the configuration as YAML without the endpoint's key, the services'
// tokens and every other value whose key looks like that of a secret, without credentials
// in URLs and without comments. The Config itself keeps them.
func (c *Config) Redacted() ([]byte, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(newScrubber(c.secretsOf(c.root)).scrub(c.root)); err != nil {
		return nil, err
	}
	return b.Bytes(), e.Close()
}

// secretsOf returns the values whose keys look like those of secrets, as they are written and
// as the environment makes them.
func (c *Config) secretsOf(n *yaml.Node) []string {
	var found []string
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 && secretLooking(n.Content[i-1].Value) && !isNull(child) {
			value := child
			if child.Kind == yaml.AliasNode {
				value = child.Alias
			}
			found = append(found, value.Value)
			if expanded, err := c.read.expand("", value.Value); err == nil {
				found = append(found, expanded)
			}
		}
		found = append(found, c.secretsOf(child)...)
	}
	return found
}

// Lengths of secrets: a shorter one would take apart the words of the file, or the names of
// its keys.
const (
	minText = 4
	minName = 8
)

// A scrubber knows secrets.
type scrubber struct {
	text, name *strings.Replacer
}

func newScrubber(secrets []string) *scrubber {
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) }) // one may be a piece of another
	var texts, names []string
	for _, s := range secrets {
		if len(s) >= minText {
			texts = append(texts, s, redacted)
		}
		if len(s) >= minName {
			names = append(names, s, redacted)
		}
	}
	return &scrubber{text: strings.NewReplacer(texts...), name: strings.NewReplacer(names...)}
}

func (s *scrubber) scrub(n *yaml.Node) *yaml.Node {
	out := scalarWithout(n, s.text)
	for i, c := range n.Content {
		switch {
		case n.Kind == yaml.MappingNode && i%2 == 0:
			out.Content = append(out.Content, scalarWithout(c, s.name))
		case n.Kind == yaml.MappingNode && secretLooking(n.Content[i-1].Value) && !isNull(c):
			out.Content = append(out.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: redacted, Anchor: c.Anchor})
		default:
			out.Content = append(out.Content, s.scrub(c))
		}
	}
	return out
}

// scalarWithout returns n without what is in it, and without secrets if it is a text, of
// whatever tag.
func scalarWithout(n *yaml.Node, secrets *strings.Replacer) *yaml.Node {
	out := &yaml.Node{Kind: n.Kind, Style: n.Style, Tag: n.Tag, Value: n.Value, Anchor: n.Anchor, Alias: n.Alias}
	if n.Kind != yaml.ScalarNode {
		return out
	}
	switch n.ShortTag() {
	case "!!null", "!!bool", "!!int", "!!float", "!!merge":
		return out
	}
	out.Value = assignment.ReplaceAllString(secrets.Replace(n.Value), "$1="+redacted)
	out.Value = userinfo.ReplaceAllString(out.Value, "${1}redacted@") // still a URL
	return out
}

var (
	assignment = regexp.MustCompile(`(?i)\b(api_?key|access_token|token|password)=[^&\s]+`)
	userinfo   = regexp.MustCompile(`(?i)\b([a-z][a-z0-9+.-]*://)[^/?#\s]*@`)
)

// secretLooking tells the keys of secrets, as the service does.
func secretLooking(key string) bool {
	key = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(key)), "-", "_")
	switch key {
	case "token", "password", "secret", "authorization":
		return true
	}
	for _, part := range []string{"api_key", "access_token", "secret", "password"} {
		if strings.Contains(key, part) {
			return true
		}
	}
	return strings.HasSuffix(key, "_key") || strings.HasSuffix(key, "_token")
}
