package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/homing-go/homing/internal/rawjson"
)

// callSet assembles tool calls from whole messages and from deltas. Calls are kept
// in the order in which they began; a server's index is a key and never a size.
type callSet struct {
	list    []*partialCall
	byIndex map[int64]int
	byID    map[string]int // the last call of each id
}

type partialCall struct {
	id, name  string
	arguments growing
	balance   balance // of arguments
}

// maxCalls bounds what one answer may ask for.
const maxCalls = 16 << 10

// add takes the array tool_calls of a message or of a delta and reports whether
// the reader should go on.
func (s *callSet) add(array []byte, form *deltaForm, emit func(Event) bool) (bool, error) {
	elements := rawjson.Elements(array)
	for elements.Next() {
		more, err := s.addOne(elements.Value, form, emit)
		if err != nil || !more {
			return more, err
		}
	}
	return true, elements.Err
}

func (s *callSet) addOne(call []byte, form *deltaForm, emit func(Event) bool) (bool, error) {
	var index, id, name, arguments []byte
	o := rawjson.Members(call)
	for o.Next() {
		switch string(o.Key) {
		case "index":
			index = o.Value
		case "id":
			id = o.Value
		case "function":
			if rawjson.Kind(o.Value) != '{' {
				continue
			}
			f := rawjson.Members(o.Value)
			for f.Next() {
				switch string(f.Key) {
				case "name":
					name = f.Value
				case "arguments":
					arguments = f.Value
				}
			}
		}
	}
	if o.Err != nil {
		return false, o.Err
	}
	at, begun, err := s.locate(index, id, name, emit != nil)
	if err != nil {
		return false, err
	}
	c := s.list[at]
	event := Event{Kind: EventToolCall, Call: at}
	// The first id and name win: some servers repeat them empty, some in each delta.
	if c.id == "" {
		if c.id = rawjson.Text(id); c.id != "" {
			event.ID = c.id
			if s.byID == nil {
				s.byID = make(map[string]int)
			}
			s.byID[c.id] = at
		}
	}
	if c.name == "" {
		c.name = rawjson.Text(name)
		event.Name = c.name
	}
	// Where a name comes again, what it belongs to may depend on the text so far.
	form.others = form.others || begun || len(name) > 2 || event.ID != ""
	switch {
	case rawjson.Kind(arguments) == '{': // an object where its text was due
		event.Text = string(arguments)
		c.arguments.WriteString(event.Text)
		form.others = true
	case len(arguments) > 2 && arguments[0] == '"':
		form.added(arguments, &c.arguments, event)
		event.Text = c.arguments.add(arguments)
	}
	if emit == nil || !begun && event.Text == "" && event.ID == "" && event.Name == "" {
		return true, nil
	}
	return emit(event), nil
}

// locate finds the call that an element belongs to, or begins one.
func (s *callSet) locate(index, id, name []byte, delta bool) (at int, begun bool, err error) {
	hasID := len(id) > 2 && id[0] == '"'
	hasName := len(name) > 2 && name[0] == '"'
	if !delta {
		return s.begin()
	}
	if n, err := strconv.ParseInt(string(index), 10, 64); err == nil && n >= 0 {
		at, known := s.byIndex[n]
		// One index for two calls: only a new id together with a new name tells them apart.
		if known && (!hasID || !hasName || s.list[at].id == "" || string(textOf(id)) == s.list[at].id) {
			return at, false, nil
		}
		if s.byIndex == nil {
			s.byIndex = make(map[int64]int)
		}
		if at, begun, err = s.begin(); err == nil {
			s.byIndex[n] = at
		}
		return at, begun, err
	}
	if hasID {
		if at, known := s.byID[string(textOf(id))]; known {
			return at, false, nil
		}
		return s.begin()
	}
	if n := len(s.list); n > 0 && (!hasName || !s.list[n-1].whole()) {
		return n - 1, false, nil
	}
	return s.begin()
}

// textOf is the text of a JSON string, without a copy if none is needed.
func textOf(quoted []byte) []byte {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return inner
	}
	return rawjson.AppendText(nil, quoted)
}

func (s *callSet) begin() (int, bool, error) {
	if len(s.list) >= maxCalls {
		return 0, false, &Error{Kind: KindResponse, detail: fmt.Sprintf("more than %d tool calls in one answer", maxCalls)}
	}
	s.list = append(s.list, new(partialCall))
	return len(s.list) - 1, true, nil
}

// finish returns the calls; those that cannot be carried out have an Err that
// tells the model why.
func (s *callSet) finish(reason Finish) []ToolCall {
	if len(s.list) == 0 {
		return nil
	}
	calls := make([]ToolCall, len(s.list))
	for i, c := range s.list {
		arguments := json.RawMessage(c.arguments.String())
		calls[i] = ToolCall{ID: c.id, Name: c.name, Arguments: arguments}
		switch err := rawjson.Valid(arguments); {
		case c.name == "":
			calls[i].Err = errors.New("the call has no function name")
		case len(arguments) > 0 && err != nil:
			calls[i].Err = fmt.Errorf("the arguments of %q are no valid JSON: %w", c.name, err)
		case len(arguments) > 0 && rawjson.Kind(arguments) != '{':
			calls[i].Err = fmt.Errorf("the arguments of %q are no JSON object", c.name)
		}
		if reason == FinishLength && i == len(s.list)-1 {
			calls[i].Err = cutOff(calls[i].Err)
		}
	}
	return calls
}

// cutOff is the fault of a call at which the answer was cut off, whatever else is wrong
// with it.
func cutOff(err error) error {
	const text = "the answer was cut off at the token limit inside of or behind this call; use smaller steps"
	if err == nil {
		return errors.New(text)
	}
	return fmt.Errorf("%s. The call as it arrived: %w", text, err)
}
