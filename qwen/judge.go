package qwen

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/model"
)

// A judge decides which of the calls of one answer are sound.
type judge struct {
	tools   catalog
	repairs *repairs
	// turn sets the IDs made in one turn of a trajectory apart from those of another.
	turn int
	// history tells that the calls are old ones and keep names and values.
	history bool
}

// A judged call is a call and the arguments with which it is replayed.
type judged struct {
	model.ToolCall
	replay []byte
}

// calls judges all calls of an answer. cut tells that it was cut at the token limit.
func (j *judge) calls(found []foundCall, cut bool) []judged {
	if len(found) == 0 {
		return nil
	}
	out := make([]judged, len(found))
	for i := range found {
		out[i] = j.call(&found[i], i)
		if cut && i == len(found)-1 {
			// Even sound JSON proves nothing here: servers close values that were cut.
			out[i].Err = truncated(&out[i].ToolCall)
		}
	}
	j.identify(out)
	return out
}

// truncated is the fault of a call at which its answer was cut off. What else is wrong with
// the call may come of that or not, so that is said as well.
func truncated(c *model.ToolCall) *CallError {
	e := &CallError{
		Kind: KindTruncated, Tool: c.Name,
		Reason: "the answer was cut off at the token limit inside of or behind this call; use smaller steps, and write long files in several calls",
	}
	if c.Err != nil {
		e.Reason += ". The call as it arrived: " + asCallError(c).Error()
	}
	return e
}

func (j *judge) call(c *foundCall, n int) judged {
	for _, kind := range c.repairs {
		j.repairs.add(kind, n)
	}
	name, repair := strings.TrimSpace(c.name), ""
	if name != c.name {
		repair = RepairNameTrim
	}
	name = validText(name)
	out := judged{ToolCall: model.ToolCall{ID: c.id, Name: name}, replay: []byte("{}")}
	refuse := func(kind Kind, param, reason string) judged {
		out.Err = &CallError{Kind: kind, Tool: name, Param: param, Reason: reason}
		return out
	}
	if c.kind != "" {
		out.Arguments = c.arguments
		return refuse(c.kind, "", c.reason)
	}
	var object []byte
	if c.isXML {
		var failed *CallError
		if object, failed = j.fromXML(c); failed != nil {
			if object != nil {
				out.Arguments, out.replay = object, object
			}
			return refuse(failed.Kind, failed.Param, failed.Reason)
		}
	} else {
		d := c.decode()
		if d.kind != "" {
			out.Arguments = validArguments(c)
			return refuse(d.kind, "", d.reason)
		}
		for _, kind := range d.repairs {
			j.repairs.add(kind, n)
		}
		object = d.object
	}
	out.Arguments = object
	if param, ok := halfCharacter(object); ok {
		out.Arguments = []byte(validText(string(object)))
		return refuse(KindBadValue, param, "the value holds half of a surrogate pair, which no file can hold; write the character itself")
	}
	out.replay = object
	if j.history {
		return out
	}
	if name == "" {
		return refuse(KindMissingName, "", "the call names no tool; the tools are "+j.tools.names())
	}
	if !j.tools.known(name) {
		if j.tools.tools.Len() == 0 {
			return refuse(KindUnknownTool, "", "no tools were offered; answer in text")
		}
		return refuse(KindUnknownTool, "", fmt.Sprintf("there is no tool %q; the tools are %s", shorten(name), j.tools.names()))
	}
	if repair != "" {
		j.repairs.add(repair, n)
	}
	fitted, failed := j.fit(name, object, c, n)
	if failed != nil {
		return refuse(failed.Kind, failed.Param, failed.Reason)
	}
	out.Arguments, out.replay = fitted, fitted
	return out
}

// decode reads the arguments of a call in the JSON form.
func (c *foundCall) decode() decoded {
	if c.text != nil {
		return decodeArguments(c.text)
	}
	switch rawjson.Kind(c.arguments) {
	case 0, 'n':
		return decodeArguments(nil)
	case '{':
		d := decoded{object: c.arguments}
		if c.structured {
			d.mend(RepairArgsObject)
		}
		return d
	case '"':
		d := decodeArguments(appendText(nil, c.arguments))
		if !c.structured && d.kind == "" {
			d.mend(RepairArgsDoubleEncoded)
		}
		return d
	}
	return decodeArguments(c.arguments)
}

// validArguments are the arguments as received, for a report.
func validArguments(c *foundCall) []byte {
	if c.text != nil {
		return []byte(validText(string(c.text)))
	}
	if rawjson.Kind(c.arguments) == '"' {
		return []byte(validText(string(appendText(nil, c.arguments))))
	}
	return c.arguments
}

// halfCharacter returns the parameter that holds half of a surrogate pair.
func halfCharacter(object []byte) (string, bool) {
	if !hasHalfEscaped(object) {
		return "", false
	}
	for o := rawjson.Members(object); o.Next(); {
		if hasHalfEscaped(o.Value) {
			return validText(string(o.Key)), true
		}
	}
	return "", true
}

// identify gives every call an ID of its own.
func (j *judge) identify(calls []judged) {
	if len(calls) == 1 && strings.TrimSpace(calls[0].ID) != "" {
		return
	}
	taken := make(map[string]bool, len(calls))
	for i := range calls {
		c := &calls[i]
		if id := strings.TrimSpace(c.ID); id != "" && !taken[c.ID] {
			taken[c.ID] = true
			continue
		}
		for salt := 0; ; salt++ {
			if c.ID = newCallID(j.turn, i, salt, c.Name, c.replay); !taken[c.ID] {
				break
			}
		}
		taken[c.ID] = true
		j.repairs.add(RepairIDGenerated, i)
	}
}

// newCallID makes an ID out of what the call is and where it stands: another attempt at the
// same turn gives the same ID, and another turn another.
func newCallID(turn, n, salt int, name string, arguments []byte) string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%d %d %d %q ", turn, n, salt, name)
	_, _ = h.Write(arguments)
	return "call_" + hex.EncodeToString(h.Sum(nil)[:12])
}
