package qwen

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/homing-go/homing/internal/rawjson"
)

// A callSet assembles structured calls from a message or from deltas. Calls stay in the
// order in which they began; a server's index is a key and never a size.
type callSet struct {
	list []partialCall
	// byIndex and byID find the newest call of an index and of an ID.
	byIndex map[int64]int
	byID    map[string]int
	delta   bool // the calls came in deltas
	out     growing
}

// A partialCall is a call as far as it has come. Each of its parts is the first one that
// was not empty: some servers repeat them, some send empty ones.
type partialCall struct {
	id, name string
	// value is the JSON value of arguments that are no text; text is what came as text.
	value []byte
	text  []byte
	told  int // how much of text was told as news
	shape jsonShape
	// renamed tells that a name came behind whole arguments: the next piece begins
	// another call.
	renamed string
}

// maxCalls bounds what one answer may ask for.
const maxCalls = 16 << 10

// A piece is one element of tool_calls.
type piece struct {
	index, id, name string
	arguments       []byte // JSON value, nil when absent
}

// readPiece takes the members of an element. Some servers leave out the object function
// and put its members on top.
func readPiece(element []byte) (p piece, err error) {
	o := rawjson.Members(element)
	for o.Next() {
		switch string(o.Key) {
		case "index":
			p.index = string(o.Value)
		case "id":
			p.id = validText(textOf(o.Value))
		case "name":
			p.name = textOf(o.Value)
		case "arguments":
			p.arguments = o.Value
		case "function":
			if rawjson.Kind(o.Value) != '{' {
				continue
			}
			for f := rawjson.Members(o.Value); f.Next(); {
				switch string(f.Key) {
				case "name":
					p.name = textOf(f.Value)
				case "arguments":
					p.arguments = f.Value
				}
			}
		}
	}
	if rawjson.Kind(p.arguments) == 'n' {
		p.arguments = nil
	}
	return p, o.Err
}

// A news is what a piece tells of a call that was not known before.
type news struct {
	call     int
	id, name string
	text     string
}

// add takes the value of tool_calls. each, if not nil, is told the news; it returns false
// to stop.
func (s *callSet) add(value []byte, each func(news) bool) error {
	switch rawjson.Kind(value) {
	case '{':
		_, err := s.addOne(value, each)
		return err
	case '[':
	default:
		return nil
	}
	elements := rawjson.Elements(value)
	for elements.Next() {
		if rawjson.Kind(elements.Value) != '{' {
			continue
		}
		if more, err := s.addOne(elements.Value, each); err != nil || !more {
			return err
		}
	}
	return elements.Err
}

func (s *callSet) addOne(element []byte, each func(news) bool) (bool, error) {
	p, err := readPiece(element)
	if err != nil {
		return false, err
	}
	at, begun, err := s.locate(&p)
	if err != nil {
		return false, err
	}
	c := &s.list[at]
	n := news{call: at}
	if c.id == "" && p.id != "" {
		c.id, n.id = p.id, p.id
		if s.delta {
			s.remember(p.id, at)
		}
	}
	if c.name == "" && p.name != "" {
		c.name, n.name = p.name, p.name
	}
	text := c.append(p.arguments, s.delta)
	if each == nil || !begun && n.id == "" && n.name == "" && len(text) == 0 {
		return true, nil
	}
	n.text = s.out.add("", text)
	return each(n), nil
}

func (s *callSet) remember(id string, at int) {
	if s.byID == nil {
		s.byID = make(map[string]int)
	}
	if _, known := s.byID[id]; !known {
		s.byID[id] = at
	}
}

// append adds arguments and returns what of their text is new.
func (c *partialCall) append(arguments []byte, delta bool) []byte {
	switch {
	case arguments == nil:
		return nil
	case !delta:
		// A whole message tells arguments that are no text from those that are.
		c.value = arguments
		return nil
	}
	if arguments[0] == '"' {
		c.text = appendText(c.text, arguments)
	} else {
		c.text = append(c.text, arguments...)
	}
	start, end := c.told, len(c.text)
	if endsInHalf(c.text) {
		end -= 3
	}
	c.told = max(start, end)
	// What follows whole arguments is a repetition or a fault. It is kept back until the
	// end, when that is known.
	return c.shape.feed(c.text[start:c.told])
}

// locate finds the call that a piece belongs to, or begins one.
func (s *callSet) locate(p *piece) (at int, begun bool, err error) {
	if !s.delta {
		return s.begin()
	}
	if n, err := strconv.ParseInt(p.index, 10, 64); err == nil && n >= 0 {
		at, known := s.byIndex[n]
		if known && !s.opensAnother(at, p) {
			return at, false, nil
		}
		if at, begun, err = s.begin(); err == nil {
			if s.byIndex == nil {
				s.byIndex = make(map[int64]int)
			}
			s.byIndex[n] = at
		}
		return at, begun, err
	}
	if p.id != "" {
		if at, known := s.byID[p.id]; known {
			return at, false, nil
		}
		return s.begin()
	}
	if last := len(s.list) - 1; last >= 0 && !s.opensAnother(last, p) {
		return last, false, nil
	}
	return s.begin()
}

// opensAnother reports whether a piece that goes with a call by its index, or by coming
// after it, begins another one: it has an ID of its own together with a name, or a name
// and no ID behind arguments that are whole.
func (s *callSet) opensAnother(at int, p *piece) bool {
	c := &s.list[at]
	if p.name == "" {
		if c.renamed == "" || p.id != "" || isEmptyPiece(p.arguments) || bytes.Equal(pieceText(p.arguments), c.text) {
			return false
		}
		p.name = c.renamed // the name came with an empty piece before
		return true
	}
	if p.id != "" {
		return c.id != "" && c.id != p.id
	}
	if !c.shape.whole {
		return false
	}
	if isEmptyPiece(p.arguments) {
		if p.name == c.name {
			c.renamed = p.name
			return false
		}
		return true
	}
	return p.name != c.name || !bytes.Equal(pieceText(p.arguments), c.text)
}

func isEmptyPiece(arguments []byte) bool {
	return arguments == nil || string(arguments) == `""`
}

func pieceText(arguments []byte) []byte {
	if arguments[0] == '"' {
		return appendText(nil, arguments)
	}
	return arguments
}

func (s *callSet) begin() (int, bool, error) {
	if len(s.list) >= maxCalls {
		return 0, false, fmt.Errorf("more than %d tool calls in one answer", maxCalls)
	}
	s.list = append(s.list, partialCall{})
	return len(s.list) - 1, true, nil
}

// found returns the calls.
func (s *callSet) found() []foundCall {
	if len(s.list) == 0 {
		return nil
	}
	out := make([]foundCall, 0, len(s.list))
	for i := range s.list {
		c := &s.list[i]
		if s.delta && s.isReplay(i) {
			out[len(out)-1].mend(RepairCallRepeated)
			continue
		}
		call := foundCall{id: c.id, name: c.name, structured: true, arguments: c.value}
		if s.delta {
			call.text, call.arguments = c.text, nil
		}
		out = append(out, call)
	}
	return out
}

// isReplay reports whether a call is another one sent again: same ID, name and whole
// arguments under another index.
func (s *callSet) isReplay(i int) bool {
	c := &s.list[i]
	first, known := s.byID[c.id]
	if !known || first >= i || c.id == "" || !c.shape.whole {
		return false
	}
	f := &s.list[first]
	return f.name == c.name && bytes.Equal(bytes.TrimSpace(f.text), bytes.TrimSpace(c.text))
}
