package rawjson

import "bytes"

// An Object walks the members of one JSON object in the order of the text.
//
//	for o := rawjson.Members(data); o.Next(); {
//		... o.Key, o.Value
//	}
//
// Key is unescaped; Value is a slice of the text. Both are valid as long as the
// text is. After the loop Err tells whether the object was sound to its end.
type Object struct {
	Key, Value []byte
	// From and To are the offsets of the member's text, name included.
	From, To int
	Err      error

	data    []byte
	at      int
	started bool
}

// Members returns a walk over the object at the start of data.
func Members(data []byte) Object { return Object{data: data} }

// Next goes to the next member.
func (o *Object) Next() bool {
	if o.Err != nil {
		return false
	}
	if !o.started {
		o.started = true
		if o.at = skipSpace(o.data, 0); o.at >= len(o.data) {
			o.Err = errEnd
			return false
		}
		if o.data[o.at] != '{' {
			o.Err = syntax(o.at, "expected an object")
			return false
		}
		if o.at = skipSpace(o.data, o.at+1); o.at < len(o.data) && o.data[o.at] == '}' {
			o.finish(o.at + 1)
			return false
		}
	} else {
		next, more, err := skipComma(o.data, o.at, '}')
		if err != nil {
			o.Err = err
			return false
		}
		if !more {
			o.finish(next)
			return false
		}
		o.at = next
	}
	o.From = o.at
	keyEnd, value, err := skipKey(o.data, o.at)
	if err != nil {
		o.Err = err
		return false
	}
	if o.at, err = skipValue(o.data, value, 1); err != nil {
		o.Err = err
		return false
	}
	o.Key = o.data[o.From+1 : keyEnd-1]
	if bytes.IndexByte(o.Key, '\\') >= 0 {
		o.Key = AppendText(nil, o.data[o.From:keyEnd])
	}
	o.Value, o.To = o.data[value:o.at:o.at], o.at
	return true
}

// finish notes the offset behind the closing bracket and refuses what follows.
func (o *Object) finish(at int) {
	o.at = at
	if rest := skipSpace(o.data, at); rest != len(o.data) {
		o.Err = syntax(rest, "data after the object")
	}
}

// An Array walks the elements of one JSON array; it is used as [Object] is.
type Array struct {
	Value []byte
	// To is the offset behind the element's text.
	To  int
	Err error

	data    []byte
	at      int
	started bool
}

// Elements returns a walk over the array at the start of data.
func Elements(data []byte) Array { return Array{data: data} }

// Next goes to the next element.
func (a *Array) Next() bool {
	if a.Err != nil {
		return false
	}
	if !a.started {
		a.started = true
		if a.at = skipSpace(a.data, 0); a.at >= len(a.data) {
			a.Err = errEnd
			return false
		}
		if a.data[a.at] != '[' {
			a.Err = syntax(a.at, "expected an array")
			return false
		}
		if a.at = skipSpace(a.data, a.at+1); a.at < len(a.data) && a.data[a.at] == ']' {
			a.finish(a.at + 1)
			return false
		}
	} else {
		next, more, err := skipComma(a.data, a.at, ']')
		if err != nil {
			a.Err = err
			return false
		}
		if !more {
			a.finish(next)
			return false
		}
		a.at = next
	}
	start := a.at
	end, err := skipValue(a.data, start, 1)
	if err != nil {
		a.Err = err
		return false
	}
	a.at, a.Value, a.To = end, a.data[start:end:end], end
	return true
}

func (a *Array) finish(at int) {
	a.at = at
	if rest := skipSpace(a.data, at); rest != len(a.data) {
		a.Err = syntax(rest, "data after the array")
	}
}

// Get returns the value of the object's last member of that name, which is the
// one that encoding/json takes, or nil.
func Get(object []byte, name string) []byte {
	var found []byte
	for o := Members(object); o.Next(); {
		if string(o.Key) == name {
			found = o.Value
		}
	}
	return found
}

// Kind returns the first byte of a value: one of { [ " t f n - or a digit; 0 if
// there is none.
func Kind(value []byte) byte {
	if i := skipSpace(value, 0); i < len(value) {
		return value[i]
	}
	return 0
}

// KindName names the kind of a value for an error text, such as "a string".
func KindName(value []byte) string {
	switch Kind(value) {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}
