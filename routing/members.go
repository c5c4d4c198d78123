package routing

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/homing-go/homing/internal/rawjson"
)

var errNotObject = errors.New("it is not a JSON object")

// mergeMembers returns body, a JSON object, with the members in it and every other
// byte unchanged. A member that is there already is replaced or stays, as replace
// says; null counts as not there, since typed encoders write it for what is unset.
// own tells that one stayed which differs.
func mergeMembers(body []byte, members []Member, replace bool) (merged []byte, own bool, err error) {
	obj, err := rawjson.Only(body)
	if err != nil {
		return nil, false, err
	}
	if rawjson.Kind(obj) != '{' {
		return nil, false, errNotObject
	}
	space := len(body) - len(bytes.TrimLeft(body, " \t\r\n"))
	before, after := body[:space], body[space+len(obj):]
	for _, m := range members {
		value, err := m.check()
		if err != nil {
			return nil, false, err
		}
		var kept bool
		if obj, kept, err = setMember(obj, m.Path, value, replace); err != nil {
			return nil, false, err
		}
		own = own || kept
	}
	return slices.Concat(before, obj, after), own, nil
}

// check returns the value without the white space around it, which would otherwise
// grow each time that the value is replaced.
func (m Member) check() (value []byte, err error) {
	if len(m.Path) == 0 {
		return nil, errors.New("a carrier's member has no path")
	}
	for _, name := range m.Path {
		if !utf8.ValidString(name) {
			return nil, fmt.Errorf("path %q of a carrier's member is not UTF-8", m.Path)
		}
	}
	if value, err = rawjson.Only(m.Value); err != nil {
		return nil, fmt.Errorf("value of the carrier's member %q: %w", strings.Join(m.Path, "."), err)
	}
	return value, nil
}

// setMember returns obj with one member set. kept tells that another value was there
// and stays. Of members of one name the last counts, as for encoding/json.
func setMember(obj []byte, path []string, value []byte, replace bool) (set []byte, kept bool, err error) {
	var found []byte
	from, to, n := 0, 0, 0
	o := rawjson.Members(obj)
	for ; o.Next(); n++ {
		if string(o.Key) == path[0] {
			found, from, to = o.Value, o.To-len(o.Value), o.To
		}
	}
	if o.Err != nil {
		return nil, false, o.Err
	}
	switch {
	case found == nil:
		member := rawjson.AppendQuoted(nil, path[0])
		member = append(member, ':')
		member = append(member, nest(path[1:], value)...)
		if n > 0 {
			member = append([]byte{','}, member...)
		}
		end := len(obj) - 1
		return slices.Concat(obj[:end], member, obj[end:]), false, nil
	case len(path) > 1 && rawjson.Kind(found) == '{':
		inner, kept, err := setMember(found, path[1:], value, replace)
		if err != nil {
			return nil, false, err
		}
		return slices.Concat(obj[:from], inner, obj[to:]), kept, nil
	case replace || rawjson.Kind(found) == 'n':
		return slices.Concat(obj[:from], nest(path[1:], value), obj[to:]), false, nil
	default:
		return obj, len(path) > 1 || !bytes.Equal(found, value), nil
	}
}

// nest wraps value into objects, one for each name of path.
func nest(path []string, value []byte) []byte {
	for _, name := range slices.Backward(path) {
		b := rawjson.AppendQuoted([]byte{'{'}, name)
		b = append(b, ':')
		value = append(append(b, value...), '}')
	}
	return value
}
