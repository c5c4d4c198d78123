package qwen

import (
	"strconv"
	"strings"

	"github.com/homing-go/homing/internal/rawjson"
)

// A typeSet is a set of JSON types. The empty set means any.
type typeSet uint8

const (
	typeString typeSet = 1 << iota
	typeInteger
	typeNumber
	typeBoolean
	typeArray
	typeObject
	typeNull
)

var typeNames = [...]struct {
	set  typeSet
	name string
}{
	{typeString, "a text"},
	{typeInteger, "an integer"},
	{typeNumber, "a number"},
	{typeBoolean, "true or false"},
	{typeArray, "a list"},
	{typeObject, "an object"},
	{typeNull, "null"},
}

func (t typeSet) String() string {
	var names []string
	for _, n := range typeNames {
		if t&n.set != 0 {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, " or ")
}

// parseType reads the name of a type. Schemas that were made from other languages use
// the names of those.
func parseType(name string) typeSet {
	switch strings.ToLower(name) {
	case "string", "str", "text", "enum":
		return typeString
	case "integer", "int", "int32", "int64", "long":
		return typeInteger
	case "number", "float", "double":
		return typeNumber
	case "boolean", "bool":
		return typeBoolean
	case "array", "list":
		return typeArray
	case "object", "dict", "map":
		return typeObject
	case "null", "none":
		return typeNull
	}
	return 0
}

// A schema is one node of a JSON schema, as text. A nil node takes anything.
type schema struct {
	root, node []byte
}

// keywords are the members of a node that are looked at.
type keywords struct {
	ref, kind, nullable, anyOf, oneOf, allOf, enum, constant []byte
	properties, required, additional, items, prefix          []byte
}

func (s schema) keywords() (k keywords) {
	if rawjson.Kind(s.node) != '{' {
		return k
	}
	for o := rawjson.Members(s.node); o.Next(); {
		switch string(o.Key) {
		case "$ref":
			k.ref = o.Value
		case "type":
			k.kind = o.Value
		case "nullable":
			k.nullable = o.Value
		case "anyOf":
			k.anyOf = list(o.Value)
		case "oneOf":
			k.oneOf = list(o.Value)
		case "allOf":
			k.allOf = list(o.Value)
		case "enum":
			k.enum = list(o.Value)
		case "const":
			k.constant = o.Value
		case "properties":
			k.properties = o.Value
		case "required":
			k.required = list(o.Value)
		case "additionalProperties":
			k.additional = o.Value
		case "items":
			k.items = o.Value
		case "prefixItems":
			k.prefix = list(o.Value)
		}
	}
	return k
}

func list(value []byte) []byte {
	if rawjson.Kind(value) != '[' {
		return nil
	}
	return value
}

func (s schema) at(node []byte) schema { return schema{root: s.root, node: node} }

// maxRefs bounds a chain of references and the nesting of alternatives.
const maxRefs = 32

// resolve follows $ref inside of the document. One that leads nowhere takes anything.
func (s schema) resolve() (schema, keywords) {
	for range maxRefs {
		k := s.keywords()
		if rawjson.Kind(k.ref) != '"' {
			return s, k
		}
		path, ok := strings.CutPrefix(rawjson.Text(k.ref), "#")
		if !ok {
			break
		}
		node := s.root
		for _, part := range strings.Split(path, "/")[1:] {
			part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
			switch rawjson.Kind(node) {
			case '{':
				node = rawjson.Get(node, part)
			case '[':
				node = element(node, part)
			default:
				node = nil
			}
		}
		s = s.at(node)
	}
	return s.at(nil), keywords{}
}

func element(array []byte, index string) []byte {
	n, err := strconv.Atoi(index)
	if err != nil {
		return nil
	}
	for a := rawjson.Elements(array); a.Next(); n-- {
		if n == 0 {
			return a.Value
		}
	}
	return nil
}

// A variant is one way to satisfy a schema: a set of types and the keywords that say
// more.
type variant struct {
	types typeSet
	keywords
	at schema
}

// maxVariants bounds what nested alternatives may unfold to.
const maxVariants = 64

// variants unfolds anyOf, oneOf, allOf and nullable.
func (s schema) variants() []variant { return s.appendVariants(make([]variant, 0, 2), 0) }

func (s schema) appendVariants(dst []variant, depth int) []variant {
	s, k := s.resolve()
	if depth > maxRefs || len(dst) >= maxVariants {
		return dst
	}
	start := len(dst)
	for _, alternatives := range [...][]byte{k.anyOf, k.oneOf} {
		for a := rawjson.Elements(alternatives); alternatives != nil && a.Next(); {
			dst = s.at(a.Value).appendVariants(dst, depth+1)
		}
	}
	if len(dst) == start && k.allOf != nil {
		// The parts of allOf describe one value: the first that names a type stands for it.
		for a := rawjson.Elements(k.allOf); a.Next(); {
			part := s.at(a.Value).appendVariants(nil, depth+1)
			if len(part) > 0 && part[0].types != 0 {
				dst = append(dst, part...)
				break
			}
		}
	}
	if len(dst) == start {
		dst = append(dst, variant{types: k.types(), keywords: k, at: s})
	}
	if string(k.nullable) == "true" {
		dst = append(dst, variant{types: typeNull})
	}
	return dst
}

// types reads the keyword type, or concludes it from other keywords.
func (k *keywords) types() typeSet {
	var set typeSet
	switch rawjson.Kind(k.kind) {
	case '"':
		return parseType(rawjson.Text(k.kind))
	case '[':
		for a := rawjson.Elements(k.kind); a.Next(); {
			set |= parseType(rawjson.Text(a.Value))
		}
		return set
	}
	switch {
	case k.properties != nil:
		return typeObject
	case k.items != nil || k.prefix != nil:
		return typeArray
	}
	for value := range k.allowed() {
		set |= typeOf(value)
	}
	return set
}

// allowed walks the values of enum and const.
func (k *keywords) allowed() func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		if k.constant != nil && !yield(k.constant) {
			return
		}
		for a := rawjson.Elements(k.enum); k.enum != nil && a.Next(); {
			if !yield(a.Value) {
				return
			}
		}
	}
}

// typeOf returns the type of a JSON value; a number without a fraction is both.
func typeOf(value []byte) typeSet {
	switch value[0] {
	case '"':
		return typeString
	case '{':
		return typeObject
	case '[':
		return typeArray
	case 't', 'f':
		return typeBoolean
	case 'n':
		return typeNull
	}
	if _, ok := integral(value); ok {
		return typeInteger | typeNumber
	}
	return typeNumber
}
