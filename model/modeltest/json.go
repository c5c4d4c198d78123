package modeltest

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/homing-go/homing/internal/rawjson"
)

// raw is a value that is JSON already.
type raw string

// object makes a JSON object of names and values in turn.
func object(pairs ...any) string {
	b := []byte{'{'}
	for pair := range slices.Chunk(pairs, 2) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = rawjson.AppendQuoted(b, pair[0].(string)) //nolint:forcetypeassert // called with names
		b = append(b, ':')
		switch v := pair[1].(type) {
		case raw:
			b = append(b, v...)
		case string:
			b = rawjson.AppendQuoted(b, v)
		case int:
			b = strconv.AppendInt(b, int64(v), 10)
		default:
			b = append(b, "null"...)
		}
	}
	return string(append(b, '}'))
}

func quote(text string) string { return string(rawjson.AppendQuoted(nil, text)) }

// member returns the value of a member; nil if there is none, or no object.
func member(text []byte, name string) json.RawMessage {
	if rawjson.Kind(text) != '{' {
		return nil
	}
	return rawjson.Get(text, name)
}

func orNull(value json.RawMessage) json.RawMessage {
	if value == nil {
		return json.RawMessage("null")
	}
	return value
}
