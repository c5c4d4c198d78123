package qwen

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/homing-go/homing/internal/rawjson"
)

// A fault is why a value does not fit its schema.
type fault struct {
	kind   Kind
	param  string // below the parameter, for nested values
	reason string
	nested int // how many arrays the value is in
}

// A coercer fits values to schemas. What fits stays as it is, digit for digit; what has
// one reading in the wanted type is rewritten; the rest is a fault.
type coercer struct {
	// steps and bytes bound the work on schemas that unfold without end: how many values
	// are fitted, and how much text is gone over for that. When they are used up, values
	// pass unchecked.
	steps, bytes int
}

func newCoercer(size int) *coercer { return &coercer{steps: 10_000 + 4*size, bytes: 16<<20 + 64*size} }

// spent notes that n more bytes are gone over, and reports whether that is too much.
func (c *coercer) spent(n int) bool {
	c.bytes -= n
	return c.bytes < 0
}

// value fits a JSON value.
func (c *coercer) value(v []byte, variants []variant) (out []byte, f *fault) {
	if c.steps--; c.steps < 0 || c.spent(len(v)) || len(variants) == 0 {
		return v, nil
	}
	t := typeOf(v)
	var mended []byte
	var union typeSet
	for i := range variants {
		alternative := &variants[i]
		union |= alternative.types
		if alternative.types != 0 && alternative.types&t == 0 {
			continue
		}
		got, fault := c.within(v, alternative)
		switch {
		case fault != nil:
			if f == nil || f.kind == KindBadType {
				f = fault
			}
		case bytes.Equal(got, v):
			return v, nil
		case mended == nil:
			mended = got
		}
	}
	if mended != nil {
		return mended, nil
	}
	if t == typeString && union&typeString == 0 && union != 0 {
		if got, fault := c.text(rawjson.Text(v), variants, false); fault == nil {
			return got, nil
		}
	}
	if f == nil {
		f = &fault{kind: KindBadType, reason: fmt.Sprintf("want %v, got %s", union, describe(v))}
	}
	return nil, f
}

// within fits a value to a variant that has its type.
func (c *coercer) within(v []byte, k *variant) ([]byte, *fault) {
	if c.spent(len(v) + len(k.enum)) {
		return v, nil
	}
	if v[0] == 'n' && k.types&typeNull != 0 {
		return v, nil
	}
	if k.enum != nil || k.constant != nil {
		return member(v, k)
	}
	switch {
	case v[0] == '{':
		return c.object(v, k)
	case v[0] == '[':
		return c.array(v, k)
	case k.types&(typeInteger|typeNumber) == typeInteger && v[0] != '"' && v[0] != 't' && v[0] != 'f':
		whole, _ := integral(v)
		return whole, nil
	}
	return v, nil
}

// member fits a value to enum and const. A text may have blanks around it.
func member(v []byte, k *variant) ([]byte, *fault) {
	text := strings.TrimSpace(rawjson.Text(v))
	var trimmed []byte
	var names []string
	for allowed := range k.allowed() {
		if sameValue(allowed, v) {
			return v, nil
		}
		if v[0] == '"' && allowed[0] == '"' && rawjson.Text(allowed) == text {
			trimmed = allowed
		}
		if len(names) < 20 {
			names = append(names, string(allowed))
		}
	}
	if trimmed != nil {
		return trimmed, nil
	}
	return nil, &fault{kind: KindBadValue, reason: fmt.Sprintf("want one of %s, got %s", strings.Join(names, ", "), shorten(string(v)))}
}

func sameValue(a, b []byte) bool {
	switch {
	case bytes.Equal(a, b):
		return true
	case a[0] == '"' && b[0] == '"':
		return rawjson.Text(a) == rawjson.Text(b)
	case typeOf(a)&typeOf(b)&typeNumber != 0:
		x, _ := integral(a)
		y, _ := integral(b)
		return bytes.Equal(x, y)
	}
	return false
}

// object fits the members of an object whose schema names them.
func (c *coercer) object(v []byte, k *variant) ([]byte, *fault) {
	if c.spent(len(k.at.root)) {
		return v, nil
	}
	properties := newProperties(k)
	if properties == nil {
		return v, nil
	}
	var edits []valueEdit
	seen := 0
	for o := rawjson.Members(v); o.Next(); {
		p := properties.find(o.Key)
		if p == nil {
			continue
		}
		if p.required && !p.seen {
			seen++
		}
		p.seen = true
		got, f := c.value(o.Value, p.variants())
		if f != nil {
			return nil, f.below(string(o.Key))
		}
		if !bytes.Equal(got, o.Value) {
			edits = append(edits, valueEdit{from: o.To - len(o.Value), to: o.To, value: got})
		}
	}
	if seen < properties.required {
		name := properties.missing()
		return nil, &fault{kind: KindMissingParam, param: name, reason: fmt.Sprintf("%q is required", name)}
	}
	return splice(v, edits), nil
}

// maxPlace bounds the path to a nested value in a report.
const maxPlace = 200

// below says that the fault is in a member of an object.
func (f *fault) below(name string) *fault {
	f.param = joinParam(name, f.param)
	return f
}

// inElement says that the fault is in an element of an array.
func (f *fault) inElement(n int) *fault {
	if f.nested++; f.nested < 10 {
		f.reason = fmt.Sprintf("element %d: %s", n, f.reason)
	}
	return f
}

func joinParam(name, rest string) string {
	switch {
	case rest == "":
		return name
	case len(rest) > maxPlace:
		return rest
	}
	return name + "." + rest
}

// array fits the elements of an array.
func (c *coercer) array(v []byte, k *variant) ([]byte, *fault) {
	var first []byte
	items := k.items
	if first = k.prefix; first == nil {
		if rawjson.Kind(items) == '[' { // the older spelling of prefixItems
			first, items = items, nil
		}
	}
	if rawjson.Kind(items) != '{' && first == nil {
		return v, nil
	}
	var rest []variant
	if c.spent(len(k.at.root)) {
		return v, nil
	}
	if rawjson.Kind(items) == '{' {
		rest = k.at.at(items).variants()
	}
	tuple := rawjson.Elements(first)
	var out []byte
	changed := false
	out = append(out, '[')
	for a, i := rawjson.Elements(v), 0; a.Next(); i++ {
		variants := rest
		if first != nil && tuple.Next() {
			variants = k.at.at(tuple.Value).variants()
		}
		got, f := c.value(a.Value, variants)
		if f != nil {
			return nil, f.inElement(i)
		}
		changed = changed || !bytes.Equal(got, a.Value)
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, got...)
	}
	if !changed {
		return v, nil
	}
	return append(out, ']'), nil
}

// text fits a text to variants that take none: in the XML form all values are texts, and
// some servers write other values as texts. Words of Python count in it, since early
// templates showed history values that way; null counts only in the XML form, because in
// JSON the model can write the value itself.
func (c *coercer) text(text string, variants []variant, xml bool) ([]byte, *fault) {
	var union typeSet
	for i := range variants {
		union |= variants[i].types
	}
	word := strings.TrimSpace(text)
	bad := &fault{kind: KindBadType, reason: fmt.Sprintf("want %v, got the text %q", union, shorten(validText(word)))}
	switch {
	case word == "":
		return nil, bad
	case word == "null" || word == "None":
		if xml && union&typeNull != 0 {
			return []byte("null"), nil
		}
		return nil, bad
	case union&typeBoolean != 0 && strings.EqualFold(word, "true"):
		return c.value([]byte("true"), variants)
	case union&typeBoolean != 0 && strings.EqualFold(word, "false"):
		return c.value([]byte("false"), variants)
	}
	value, ok := parseLoose([]byte(word))
	if !ok || value[0] == '"' && rawjson.Text(value) == word {
		return nil, bad
	}
	return c.value(value, variants)
}

// parseLoose reads a value written as JSON, with the faults that have one reading, or as
// a Python literal.
func parseLoose(text []byte) ([]byte, bool) {
	s := scanJSON(text, 0)
	if s.fault == nil && skipBlanks(text, s.end) == len(text) {
		return s.mended(text[:s.end:s.end], 0), true
	}
	if text[0] == '[' || text[0] == '{' {
		return pythonLiteral(text)
	}
	return nil, false
}

// A valueEdit replaces a member's value in the text of an object.
type valueEdit struct {
	from, to int
	value    []byte
}

// splice does the edits, which are in order. The rest of the text keeps its bytes.
func splice(text []byte, edits []valueEdit) []byte {
	if len(edits) == 0 {
		return text
	}
	out := make([]byte, 0, len(text))
	at := 0
	for _, e := range edits {
		out = append(append(out, text[at:e.from]...), e.value...)
		at = e.to
	}
	return append(out, text[at:]...)
}
