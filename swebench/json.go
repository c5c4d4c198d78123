package swebench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/homing-go/homing/internal/rawjson"
)

// lastMembers returns the members of the one object in body; of equal names the last
// counts, as in Python.
func lastMembers(body []byte) (map[string][]byte, error) {
	value, err := object(body)
	if err != nil {
		return nil, err
	}
	m := map[string][]byte{}
	for o := rawjson.Members(value); o.Next(); {
		m[string(o.Key)] = o.Value
	}
	return m, nil
}

// object returns the one object in body without the space around it.
func object(body []byte) ([]byte, error) {
	if !utf8.Valid(body) {
		return nil, errors.New("the body is not UTF-8")
	}
	value, err := rawjson.Only(body)
	if err != nil {
		return nil, fmt.Errorf("the body is not JSON: %w", err)
	}
	if rawjson.Kind(value) != '{' {
		return nil, fmt.Errorf("the body is %s, want an object", rawjson.KindName(value))
	}
	return value, nil
}

// duplicate returns the path of a name that an object in value has twice, "" if there is
// none. The value must be valid. It reads it once, however deep it is nested.
func duplicate(value []byte) string {
	type level struct {
		seen map[string]bool // nil: a list
		name string          // of the member at hand
	}
	var open []level
	name := false // whether a member's name is next
	dec := json.NewDecoder(bytes.NewReader(value))
	dec.UseNumber()
	for {
		token, err := dec.Token()
		if err != nil {
			return ""
		}
		text, isText := token.(string)
		switch {
		case token == json.Delim('{'):
			open, name = append(open, level{seen: map[string]bool{}}), true
			continue
		case token == json.Delim('['):
			open, name = append(open, level{}), false
			continue
		case token == json.Delim('}'), token == json.Delim(']'):
			open = open[:len(open)-1]
		case name && isText:
			at := &open[len(open)-1]
			at.name, name = text, false
			if !at.seen[text] {
				at.seen[text] = true
				continue
			}
			var path []string
			for _, l := range open {
				if l.seen != nil {
					path = append(path, l.name)
				}
			}
			return short(strings.Join(path, "."))
		}
		name = len(open) > 0 && open[len(open)-1].seen != nil
	}
}

// halfSurrogate reports whether the JSON string has an escape of half a surrogate pair,
// which no text can stand for.
func halfSurrogate(quoted []byte) bool {
	for i := 0; i+1 < len(quoted); i++ {
		if quoted[i] != '\\' {
			continue
		}
		i++ // the byte after a backslash never begins an escape
		if quoted[i] != 'u' {
			continue
		}
		switch first := escapedUnit(quoted[i-1:]); {
		case !utf16.IsSurrogate(first):
		case utf16.DecodeRune(first, escapedUnit(quoted[i+5:])) == utf8.RuneError:
			return true
		default:
			i += 6
		}
	}
	return false
}

// escapedUnit returns the value of the \u escape at the start of s, -1 if there is none.
func escapedUnit(s []byte) rune {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(s[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// shown is a JSON value for an error text: whole if it is short and plain, else its kind.
func shown(value []byte) string {
	switch kind := rawjson.Kind(value); {
	case len(value) == 0:
		return "missing"
	case len(value) > 60, kind == '{', kind == '[':
		return rawjson.KindName(value)
	case kind == '"':
		return strconv.QuoteToASCII(rawjson.Text(value))
	}
	return string(value)
}

// short is a name or a path for an error text.
func short(s string) string {
	const limit = 60
	if len(s) > limit {
		s = s[:limit] + "..."
	}
	quoted := strconv.QuoteToASCII(s)
	return quoted[1 : len(quoted)-1]
}
