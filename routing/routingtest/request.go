package routingtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/homing-go/homing/internal/rawjson"
)

// Request is a chat completion as a backend received it. A [Reply] and a fault
// decision see it; they must not modify it, and may keep it.
type Request struct {
	// HTTP is the request that carried it: header, path, context. Its body has
	// been read.
	HTTP *http.Request
	// Body is the body as received.
	Body []byte
	// Model is the requested model, or the backend's first if none is named.
	Model string
	// Stream and IncludeUsage are "stream" and "stream_options.include_usage".
	Stream, IncludeUsage bool
	// Messages are the elements of "messages".
	Messages []Message
	// Tools is the value of "tools" as received, nil if absent or null.
	Tools json.RawMessage
}

// Message is one element of "messages". Its slices are parts of the body.
type Message struct {
	Role    string
	Content json.RawMessage // nil if absent
	Raw     json.RawMessage // the whole element, without the space around it
}

// Text returns the content: a string as it is, of a list of parts the texts in
// a row, of anything else nothing.
func (m Message) Text() string {
	if len(m.Content) == 0 {
		return ""
	}
	switch m.Content[0] {
	case '"':
		return rawjson.Text(m.Content)
	case '[':
		var parts []struct {
			Text string `json:"text"`
		}
		_ = json.Unmarshal(m.Content, &parts) // parts of another shape have no text
		var b strings.Builder
		for _, p := range parts {
			b.WriteString(p.Text)
		}
		return b.String()
	}
	return ""
}

// Answered counts the assistant messages: the answers that the conversation has
// had before this request.
func (r *Request) Answered() int {
	n := 0
	for _, m := range r.Messages {
		if m.Role == "assistant" {
			n++
		}
	}
	return n
}

// prompt lists what an engine would process, in order.
func (r *Request) prompt() [][]byte {
	parts := make([][]byte, 0, len(r.Messages)+1)
	if r.Tools != nil {
		parts = append(parts, r.Tools)
	}
	for _, m := range r.Messages {
		parts = append(parts, m.Raw)
	}
	return parts
}

// parse reads Body, and the messages in it twice: rawjson walks over a value
// before it hands it out. Where a name appears twice, the last one counts.
func (r *Request) parse() error {
	if rawjson.Kind(r.Body) != '{' {
		return badRequest("", "the body is not a JSON object")
	}
	found := false
	body := rawjson.Members(r.Body)
	for body.Next() {
		var err error
		switch value := body.Value; string(body.Key) {
		case "messages":
			found = true
			r.Messages, err = readMessages(value)
		case "model":
			r.Model, err = readString(value, "model")
		case "stream":
			r.Stream, err = readBool(value, "stream")
		case "stream_options":
			r.IncludeUsage, err = readStreamOptions(value)
		case "tools":
			r.Tools = value
			if string(value) == "null" {
				r.Tools = nil
			}
		}
		if err != nil {
			return err
		}
	}
	switch {
	case body.Err != nil:
		return notJSON(r.Body, body.Err)
	case !found:
		return badRequest("messages", "messages is missing")
	case len(r.Messages) == 0:
		return badRequest("messages", "messages is empty")
	}
	return nil
}

// parseMessage reads text that should be one message and nothing else.
func parseMessage(text []byte) (Message, error) {
	value, err := rawjson.Only(text)
	if err != nil {
		return Message{}, notJSON(text, err)
	}
	return readMessage(value)
}

// notJSON tells where text stops being JSON.
func notJSON(text []byte, err error) error {
	if rawjson.IsEnd(err) {
		return badRequest("", "invalid JSON: it ends too early, after %d bytes", len(text))
	}
	return badRequest("", "%v", err)
}

// What follows reads values that are known to be sound and have no space before
// them.

// readMessages takes the end of each message from the walk over its members. To
// split the array first would scan a history once more.
func readMessages(array []byte) ([]Message, error) {
	if array[0] != '[' {
		return nil, badRequest("messages", "messages is not an array")
	}
	const between = ", \t\r\n"
	var list []Message
	rest := bytes.TrimLeft(array[1:], between)
	for rest[0] != ']' {
		m, err := readMessage(rest)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
		rest = bytes.TrimLeft(rest[len(m.Raw):], between)
	}
	return list, nil
}

// readMessage reads the message at the start of text; what follows it does not
// matter.
func readMessage(text []byte) (m Message, err error) {
	if text[0] != '{' {
		return m, badRequest("messages", "a message is not an object")
	}
	members := rawjson.Members(text)
	for members.Next() {
		switch string(members.Key) {
		case "role":
			if m.Role, err = readString(members.Value, "messages.role"); err != nil {
				return m, err
			}
		case "content":
			m.Content = members.Value
		}
	}
	if m.Role == "" {
		return m, badRequest("messages", "a message has no role")
	}
	// Only space is left between the last member and the brace.
	end := members.To + bytes.IndexByte(text[members.To:], '}') + 1
	m.Raw = text[:end:end]
	return m, nil
}

func readString(value []byte, param string) (string, error) {
	if value[0] != '"' {
		return "", badRequest(param, "%s is not a string", param)
	}
	return rawjson.Text(value), nil
}

// readBool takes null for false, as servers do.
func readBool(value []byte, param string) (bool, error) {
	switch string(value) {
	case "true":
		return true, nil
	case "false", "null":
		return false, nil
	}
	return false, badRequest(param, "%s is not a boolean", param)
}

// readStreamOptions takes null for no options.
func readStreamOptions(value []byte) (includeUsage bool, err error) {
	switch value[0] {
	case 'n':
		return false, nil
	case '{':
		for options := rawjson.Members(value); options.Next(); {
			if string(options.Key) != "include_usage" {
				continue
			}
			if includeUsage, err = readBool(options.Value, "stream_options.include_usage"); err != nil {
				return false, err
			}
		}
		return includeUsage, nil
	}
	return false, badRequest("stream_options", "stream_options is not an object")
}

// readBody reads at most limit bytes.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	const trust = 1 << 20 // how much memory a Content-Length alone may claim
	var buf bytes.Buffer
	if n := min(r.ContentLength, limit, trust); n > 0 {
		buf.Grow(int(n) + bytes.MinRead) // room for ReadFrom to meet the end in
	}
	_, err := buf.ReadFrom(http.MaxBytesReader(w, r.Body, limit))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, &requestError{
			status:  http.StatusRequestEntityTooLarge,
			message: fmt.Sprintf("the body is larger than this backend's limit of %d bytes", limit),
		}
	}
	return buf.Bytes(), err
}
