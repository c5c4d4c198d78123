package qwen

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/homing-go/homing/internal/rawjson"
)

// fit checks the arguments of a call against the schema of its tool: required parameters
// first, in the order of the schema, then the values in the order of the call. Parameters
// that the schema does not name are kept.
func (j *judge) fit(name string, object []byte, c *foundCall, n int) ([]byte, *CallError) {
	known := j.tools.properties(name)
	if known == nil {
		known = new(properties)
	}
	for o := rawjson.Members(object); o.Next(); {
		known.see(o.Key)
	}
	if missing := known.missing(); missing != "" {
		return nil, &CallError{Kind: KindMissingParam, Param: missing, Reason: known.explainMissing(missing, object)}
	}
	if c.junk != "" {
		return nil, &CallError{Kind: KindBadJSON, Reason: fmt.Sprintf(
			"there is text outside of the parameters, %q; put every value between <parameter=NAME> and </parameter>", shorten(validText(c.junk)))}
	}
	coercer := newCoercer(len(object))
	var edits []valueEdit
	var gone []string
	for o := rawjson.Members(object); o.Next(); {
		if holdsNUL(o.Key, o.Value) {
			return nil, &CallError{Kind: KindBadValue, Param: string(o.Key), Reason: "the value holds a NUL character, which no command and no path can hold"}
		}
		p := known.find(o.Key)
		if p == nil {
			continue
		}
		got, fault := coercer.value(o.Value, p.variants())
		if fault != nil {
			if !p.required && isAbsent(o.Value, p.variants()) {
				gone = append(gone, string(o.Key))
				continue
			}
			return nil, &CallError{Kind: fault.kind, Param: joinParam(validText(string(o.Key)), fault.param), Reason: fault.reason}
		}
		if !bytes.Equal(got, o.Value) {
			edits = append(edits, valueEdit{from: o.To - len(o.Value), to: o.To, value: got})
		}
	}
	if len(edits) == 0 && len(gone) == 0 {
		return object, nil
	}
	j.repairs.add(RepairCoerced, n)
	return dropMembers(splice(object, edits), gone), nil
}

// explainMissing says what is missing and what is there instead.
func (p *properties) explainMissing(missing string, object []byte) string {
	var given []string
	for o := rawjson.Members(object); o.Next() && len(given) < 10; {
		given = append(given, shorten(validText(string(o.Key))))
	}
	if len(given) == 0 {
		return fmt.Sprintf("%q is required and the call has no parameters; send it again with all of them", missing)
	}
	return fmt.Sprintf("%q is required; the call has only %s", missing, strings.Join(given, ", "))
}

// isAbsent reports whether a value says that an optional parameter is not given: an empty
// text where none belongs, and null for a list or an object. For a text null is an error,
// since it might stand for an empty one and delete something.
func isAbsent(value []byte, variants []variant) bool {
	var union typeSet
	for i := range variants {
		union |= variants[i].types
	}
	if union == 0 || union&typeString != 0 {
		return false
	}
	if value[0] == 'n' {
		return union&^(typeArray|typeObject) == 0
	}
	return value[0] == '"' && strings.TrimSpace(rawjson.Text(value)) == ""
}

// holdsNUL reports whether a path or a command holds the character that ends a string of
// the operating system.
func holdsNUL(name, value []byte) bool {
	if string(name) != "path" && string(name) != "command" || value[0] != '"' {
		return false
	}
	return bytes.Contains(value, []byte(`\u0000`)) && strings.Contains(rawjson.Text(value), "\x00")
}

// dropMembers returns the object without some of its members.
func dropMembers(object []byte, gone []string) []byte {
	if len(gone) == 0 {
		return object
	}
	drop := make(map[string]bool, len(gone))
	for _, name := range gone {
		drop[name] = true
	}
	out := []byte{'{'}
	for o := rawjson.Members(object); o.Next(); {
		if drop[string(o.Key)] {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, object[o.From:o.To]...)
	}
	return append(out, '}')
}

// fromXML makes a JSON object of the parameters of the XML form. The value of a parameter
// that may be a text is that text; other values are read as JSON or as Python writes them.
// Of a parameter given twice the last counts.
func (j *judge) fromXML(c *foundCall) ([]byte, *CallError) {
	known := j.tools.properties(strings.TrimSpace(c.name))
	last := make(map[string]int, len(c.params))
	size := 2
	for i, p := range c.params {
		last[p.name] = i
		size += len(p.name) + len(p.value) + 8
	}
	coercer := newCoercer(size)
	out := append(make([]byte, 0, size+size/16), '{')
	var failed *CallError
	for i, p := range c.params {
		if last[p.name] != i {
			continue
		}
		if hasHalf(p.name) || hasHalf(p.value) {
			return nil, &CallError{Kind: KindBadValue, Param: validText(p.name), Reason: "the value holds half of a surrogate pair, which no file can hold; write the character itself"}
		}
		var variants []variant
		property := known.find([]byte(p.name))
		if property != nil {
			variants = property.variants()
		}
		text, fault := coercer.xml(p.value, variants)
		if fault != nil {
			if text = rawjson.AppendQuoted(nil, p.value); !property.required && isAbsent(text, variants) {
				continue
			}
			if failed == nil {
				failed = &CallError{Kind: fault.kind, Param: joinParam(p.name, fault.param), Reason: fault.reason}
			}
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(rawjson.AppendQuoted(out, p.name), ':'), text...)
	}
	out = append(out, '}')
	if failed != nil {
		// A parameter that is missing is reported first.
		for o := rawjson.Members(out); o.Next(); {
			known.see(o.Key)
		}
		if missing := known.missing(); missing != "" {
			return out, &CallError{Kind: KindMissingParam, Param: missing, Reason: known.explainMissing(missing, out)}
		}
		return out, failed
	}
	return out, nil
}

// xml fits the text of a parameter in the XML form.
func (c *coercer) xml(text string, variants []variant) ([]byte, *fault) {
	var union typeSet
	free := len(variants) == 0
	for i := range variants {
		union |= variants[i].types
		free = free || variants[i].types == 0
	}
	if !free && union&typeString == 0 {
		return c.text(text, variants, true)
	}
	if union&typeNull != 0 && (text == "null" || text == "None") {
		return []byte("null"), nil
	}
	quoted := rawjson.AppendQuoted(make([]byte, 0, len(text)+len(text)/16+2), text)
	got, fault := c.value(quoted, variants)
	if fault != nil && union&^(typeString|typeNull) != 0 {
		if other, f := c.text(text, variants, true); f == nil {
			return other, nil
		}
	}
	return got, fault
}
