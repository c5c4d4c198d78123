package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	maxBytes = 1 << 20
	maxNodes = 100_000
	maxDepth = 100
)

// document returns the root of the one document in data.
func document(data []byte) (*yaml.Node, error) {
	if len(data) > maxBytes {
		return nil, fault("", "the file has %d bytes, the limit is %d", len(data), maxBytes)
	}
	d := yaml.NewDecoder(bytes.NewReader(data))
	var root, second yaml.Node
	if err := d.Decode(&root); errors.Is(err, io.EOF) {
		return nil, fault("", "the file is empty; see the example configuration")
	} else if err != nil {
		return nil, fault("", "the file is not YAML: %s", yamlFault(err))
	}
	if err := d.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, fault("", "the file has more than one document; leave one")
	}
	top := root.Content[0]
	if top.Kind != yaml.MappingNode {
		return nil, fault("", "the file is not a mapping; see the example configuration")
	}
	if err := checkNames(top, 0); err != nil {
		return nil, err
	}
	return top, nil
}

// yamlFault is the parser's error without the text of the file that it may show: a key that
// begins with "*" and has no quotes is taken for the name of an anchor.
func yamlFault(err error) string {
	if strings.Contains(err.Error(), "unknown anchor") {
		return "a value that begins with * names an anchor that is not there; put quotes around it"
	}
	return strings.TrimPrefix(err.Error(), "yaml: ")
}

// checkNames refuses what no mapping may have, in every part of the file. It follows no
// alias: what an alias names stands elsewhere in the file.
func checkNames(n *yaml.Node, depth int) error {
	if depth > maxDepth {
		return fault("", "line %d is nested more than %d deep", n.Line, maxDepth)
	}
	if n.Kind == yaml.MappingNode {
		lines := map[string]int{}
		for i := 0; i < len(n.Content); i += 2 {
			name := n.Content[i]
			if name.Kind != yaml.ScalarNode {
				return fault("", "line %d has a name that is not a text", name.Line)
			}
			if first, ok := lines[name.Value]; ok {
				return fault(short(name.Value), "it stands twice in one mapping, in lines %d and %d; leave one out", first, name.Line)
			}
			lines[name.Value] = name.Line
		}
	}
	for _, c := range n.Content {
		if err := checkNames(c, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// A reader walks nodes, through aliases, and counts them.
type reader struct {
	getenv func(string) (string, bool)
	nodes  int
}

type pair struct {
	name  string
	value *yaml.Node
}

// follow returns what a node stands for.
func (r *reader) follow(n *yaml.Node) (*yaml.Node, error) {
	if r.nodes++; r.nodes > maxNodes {
		return nil, tooManyNodes()
	}
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n, nil
}

func tooManyNodes() error {
	return fault("", "the aliases of the file unfold to more than %d values", maxNodes)
}

// mapping returns the members of a mapping, those of merged mappings ("<<") included.
func (r *reader) mapping(key string, n *yaml.Node) ([]pair, error) {
	return r.merged(key, n, 0)
}

func (r *reader) merged(key string, n *yaml.Node, depth int) ([]pair, error) {
	n, err := r.follow(n)
	if err != nil {
		return nil, err
	}
	if n.Kind != yaml.MappingNode {
		return nil, fault(key, "it is %s; want a mapping", kindName(n))
	}
	if depth > maxDepth {
		return nil, fault(key, "it merges more than %d deep", maxDepth)
	}
	var own, more []pair
	for i := 0; i < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		if name.Tag != "!!merge" {
			own = append(own, pair{name.Value, value})
			continue
		}
		sources := []*yaml.Node{value}
		if list, err := r.follow(value); err == nil && list.Kind == yaml.SequenceNode {
			sources = list.Content
		}
		for _, source := range sources {
			from, err := r.merged(key, source, depth+1)
			if err != nil {
				return nil, err
			}
			if r.nodes += len(from); r.nodes > maxNodes {
				return nil, tooManyNodes()
			}
			more = append(more, from...)
		}
	}
	if len(more) == 0 {
		return own, nil
	}
	seen := make(map[string]bool, len(own))
	for _, p := range own {
		seen[p.name] = true
	}
	for _, p := range more {
		if !seen[p.name] {
			seen[p.name] = true
			own = append(own, p)
		}
	}
	return own, nil
}

func find(pairs []pair, name string) *yaml.Node {
	for _, p := range pairs {
		if p.name == name {
			return p.value
		}
	}
	return nil
}

// known refuses names that are not in allowed.
func known(key string, pairs []pair, allowed string) error {
	for _, p := range pairs {
		if !strings.Contains(" "+allowed+" ", " "+p.name+" ") || strings.Contains(p.name, " ") {
			return fault(join(key, short(p.name)), "this key is not known here; known are %s", strings.ReplaceAll(allowed, " ", ", "))
		}
	}
	return nil
}

func join(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

func isNull(n *yaml.Node) bool {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n == nil || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.ShortTag() {
	case "!!null":
		return "null"
	case "!!bool":
		return "a boolean"
	case "!!int", "!!float":
		return "a number"
	}
	return "a text"
}

// short is a text for an error.
func short(s string) string {
	const limit = 60
	if len(s) > limit {
		s = s[:limit] + "..."
	}
	quoted := fmt.Sprintf("%+q", s)
	return quoted[1 : len(quoted)-1]
}
