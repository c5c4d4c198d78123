package model

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/homing-go/homing/internal/rawjson"
)

// A ToolDef describes one function that the model may call.
type ToolDef struct {
	Name, Description string
	// Parameters is the JSON schema of the arguments, an object; nil means none.
	Parameters json.RawMessage
}

// Tools is a set of tool definitions, encoded once. It is immutable and may be
// shared; a nil *Tools is the empty set.
type Tools struct {
	json []byte
	defs []ToolDef
}

// NewTools encodes the definitions in their order.
func NewTools(defs ...ToolDef) (*Tools, error) {
	b := []byte{'['}
	for i, d := range defs {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"type":"function","function":{"name":`...)
		b = rawjson.AppendQuoted(b, d.Name)
		if d.Description != "" {
			b = append(b, `,"description":`...)
			b = rawjson.AppendQuoted(b, d.Description)
		}
		if d.Parameters != nil {
			b = append(b, `,"parameters":`...)
			b = append(b, d.Parameters...)
		}
		b = append(b, "}}"...)
	}
	return ParseTools(append(b, ']'))
}

// ParseTools takes an array of definitions in the form of the chat-completions
// protocol and keeps its bytes. The bytes are copied.
func ParseTools(array json.RawMessage) (*Tools, error) {
	text, err := rawjson.Only(array)
	if err != nil {
		return nil, &RequestError{Field: "Tools", Reason: err.Error()}
	}
	t := &Tools{json: bytes.Clone(text)}
	elements := rawjson.Elements(t.json)
	seen := map[string]bool{}
	for elements.Next() {
		function := rawjson.Get(elements.Value, "function")
		def := ToolDef{
			Name:        rawjson.Text(rawjson.Get(function, "name")),
			Description: rawjson.Text(rawjson.Get(function, "description")),
			Parameters:  json.RawMessage(rawjson.Get(function, "parameters")),
		}
		if bytes.Equal(def.Parameters, []byte("null")) {
			def.Parameters = nil
		}
		switch {
		case def.Name == "":
			return nil, &RequestError{Field: "Tools", Reason: fmt.Sprintf("tool %d has no name", len(t.defs))}
		case seen[def.Name]:
			return nil, &RequestError{Field: "Tools", Reason: fmt.Sprintf("two tools are named %q", def.Name)}
		case def.Parameters != nil && rawjson.Kind(def.Parameters) != '{':
			return nil, &RequestError{Field: "Tools", Reason: fmt.Sprintf("the parameters of %q are no JSON object", def.Name)}
		}
		seen[def.Name] = true
		t.defs = append(t.defs, def)
	}
	if elements.Err != nil {
		return nil, &RequestError{Field: "Tools", Reason: elements.Err.Error()}
	}
	return t, nil
}

// JSON returns the encoded array, which must not be changed; nil for the empty set.
func (t *Tools) JSON() json.RawMessage {
	if t.Len() == 0 {
		return nil
	}
	return t.json
}

// Len returns the number of tools.
func (t *Tools) Len() int {
	if t == nil {
		return 0
	}
	return len(t.defs)
}

// Defs returns the definitions in their order. The slice must not be changed.
func (t *Tools) Defs() []ToolDef {
	if t == nil {
		return nil
	}
	return t.defs
}

// Lookup returns the definition of that name.
func (t *Tools) Lookup(name string) (ToolDef, bool) {
	for _, d := range t.Defs() {
		if d.Name == name {
			return d, true
		}
	}
	return ToolDef{}, false
}
