package qwen

import (
	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/model"
)

// noParameters is the schema of a tool that takes none. Templates and grammars fail on a
// schema that is null, empty or without properties.
const noParameters = `{"type":"object","properties":{}}`

// soundTools returns the tools with a schema for each. Sound definitions keep their bytes.
func soundTools(tools *model.Tools) *model.Tools {
	sound := true
	for _, def := range tools.Defs() {
		if soundParameters(def.Parameters) != nil {
			sound = false
			break
		}
	}
	if sound {
		return tools
	}
	out := []byte{'['}
	for a := rawjson.Elements(tools.JSON()); a.Next(); {
		if len(out) > 1 {
			out = append(out, ',')
		}
		function := rawjson.Get(a.Value, "function")
		parameters := soundParameters(rawjson.Get(function, "parameters"))
		if parameters == nil {
			out = append(out, a.Value...)
			continue
		}
		out = append(out, setMember(a.Value, "function", setMember(function, "parameters", parameters))...)
	}
	mended, err := model.ParseTools(append(out, ']'))
	if err != nil {
		return tools
	}
	return mended
}

// soundParameters returns what to send instead of a schema; nil means the schema itself.
func soundParameters(parameters []byte) []byte {
	if rawjson.Kind(parameters) != '{' {
		return []byte(noParameters)
	}
	k := schema{root: parameters, node: parameters}.keywords()
	switch {
	case k.properties != nil || k.ref != nil || k.anyOf != nil || k.oneOf != nil || k.allOf != nil:
		return nil
	case k.kind == nil && k.required == nil && k.additional == nil:
		return []byte(noParameters)
	case k.types() == typeObject || k.kind == nil:
		return setMember(parameters, "properties", []byte("{}"))
	}
	return nil
}
