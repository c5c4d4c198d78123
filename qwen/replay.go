package qwen

import (
	"bytes"
	"strings"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/model"
)

// Replay returns a history in the form that the chat templates and the servers of the
// family take: one system message, first; thinking out of the content and under both
// names; calls structured, with arguments that are the text of a JSON object; one tool
// message for each call, behind its turn and in the order of the calls, its content a
// text. A message that has that form keeps its bytes, and a history that was replayed
// once is not changed by it again.
//
// Trajectories do not need it: a client appends its answers in this form. It is for
// histories that come from elsewhere, and for one that a server has refused, which must
// not be sent again unchanged. tools may be nil; they help to read calls that were left in
// the text. The error is a *[HistoryError].
func Replay(history []model.Message, tools *model.Tools, options Options) ([]model.Message, error) {
	r := replayer{tools: tools, options: options}
	turns := make([]turn, 0, len(history))
	for i, m := range history {
		turns = append(turns, turn{index: i, role: m.Role(), message: m})
	}
	turns = r.system(turns)
	for i := 0; i < len(turns); {
		if turns[i].role != "assistant" {
			r.other(&turns[i])
			i++
			continue
		}
		end := i + 1
		for end < len(turns) && turns[end].role != "assistant" {
			end++
		}
		if err := r.assistant(&turns[i], turns[i+1:end], end < len(turns)); err != nil {
			return nil, err
		}
		i = end
	}
	if !r.user {
		return nil, &HistoryError{Index: -1, Reason: "there is no user message, which the chat templates demand; begin with one"}
	}
	return r.out, nil
}

// A turn is one message of the history.
type turn struct {
	index   int
	role    string
	message model.Message
}

type replayer struct {
	tools   *model.Tools
	options Options
	out     []model.Message
	user    bool // a user message was seen that is no tool result
}

// system puts all system messages into one, at the beginning.
func (r *replayer) system(turns []turn) []turn {
	var rest []turn
	var texts []string
	var only model.Message
	clean := true
	for i, t := range turns {
		if t.role != "system" && t.role != "developer" {
			rest = append(rest, t)
			continue
		}
		value := rawjson.Get(t.message.JSON(), "content")
		clean = clean && i == 0 && t.role == "system" && rawjson.Kind(value) == '"'
		only = t.message
		if text := contentText(value); text != "" {
			texts = append(texts, text)
		}
	}
	switch {
	case len(rest) == len(turns):
	case clean:
		r.out = append(r.out, only)
	default:
		r.out = append(r.out, model.System(strings.Join(texts, "\n\n")))
	}
	return rest
}

// other takes a message that is none of the assistant's and follows none of its turns.
func (r *replayer) other(t *turn) {
	if t.role == "tool" || t.role == "function" {
		return // it answers no call
	}
	if t.role == "user" {
		text := strings.TrimSpace(contentText(rawjson.Get(t.message.JSON(), "content")))
		if !strings.HasPrefix(text, "<tool_response>") || !strings.HasSuffix(text, "</tool_response>") {
			r.user = true
		}
	}
	r.out = append(r.out, t.message)
}

// assistant takes an assistant turn and what follows it up to the next one. more tells
// that the history goes on after that.
func (r *replayer) assistant(t *turn, following []turn, more bool) error {
	a, message, err := r.clean(t)
	if err != nil {
		return err
	}
	r.out = append(r.out, message)
	answers := make([]*turn, len(a.calls))
	var left []*turn
	for i := range following {
		f := &following[i]
		if f.role != "tool" && f.role != "function" {
			continue
		}
		if at := unanswered(answers, func(n int) bool { return a.received[n] != "" && a.received[n] == toolCallID(f) }); at >= 0 {
			answers[at] = f
		} else {
			left = append(left, f)
		}
	}
	for _, f := range left {
		// Where IDs are missing, the order is all there is to go by.
		id := toolCallID(f)
		if at := unanswered(answers, func(n int) bool { return id == "" || a.received[n] == "" && !a.knows(id) }); at >= 0 {
			answers[at] = f
		}
	}
	if len(following) > 0 || more {
		for n := range a.calls {
			r.out = append(r.out, toolMessage(answers[n], a.calls[n].ID))
		}
	}
	for i := range following {
		r.other(&following[i])
	}
	return nil
}

// unanswered returns the first call without an answer that fits, or -1.
func unanswered(answers []*turn, fits func(n int) bool) int {
	for n := range answers {
		if answers[n] == nil && fits(n) {
			return n
		}
	}
	return -1
}

func toolCallID(t *turn) string {
	return rawjson.Text(rawjson.Get(t.message.JSON(), "tool_call_id"))
}

// noResult answers a call whose result is not in the history.
const noResult = "no result: the call was not run"

// toolMessage makes the answer to a call.
func toolMessage(t *turn, id string) model.Message {
	if t == nil {
		return model.ToolResult(id, noResult)
	}
	content := rawjson.Get(t.message.JSON(), "content")
	if t.role == "tool" && rawjson.Kind(content) == '"' && toolCallID(t) == id {
		return t.message
	}
	return model.ToolResult(id, contentText(content))
}

// contentText returns content as a text: the text of parts, and the JSON text of anything
// else.
func contentText(value []byte) string {
	switch rawjson.Kind(value) {
	case 0, 'n':
		return ""
	case '"':
		return rawjson.Text(value)
	case '[':
		if allText(value) {
			return validText(string(appendContent(nil, value)))
		}
	}
	return string(value)
}

// allText reports whether an array is made of text parts alone.
func allText(array []byte) bool {
	for a := rawjson.Elements(array); a.Next(); {
		if a.Value[0] != '{' || rawjson.Kind(rawjson.Get(a.Value, "text")) != '"' {
			return false
		}
	}
	return !bytes.Equal(array, []byte("[]"))
}
