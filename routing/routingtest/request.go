package routingtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
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
		return unquote(m.Content)
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

// parse reads Body in one pass. Where a name appears twice, the last one counts.
func (r *Request) parse() error {
	s := scanner{buf: r.Body}
	if s.next() != '{' {
		return badRequest("", "the body is not a JSON object")
	}
	found := false
	err := s.object(func(name string) (err error) {
		switch name {
		case "messages":
			found = true
			r.Messages, err = readMessages(&s)
		case "model":
			r.Model, err = readString(&s, name)
		case "stream":
			r.Stream, err = readBool(&s, name)
		case "stream_options":
			r.IncludeUsage, err = readStreamOptions(&s)
		case "tools":
			r.Tools, err = s.value()
			if string(r.Tools) == "null" {
				r.Tools = nil
			}
		default:
			err = s.skip()
		}
		return err
	})
	if err == nil {
		err = s.end()
	}
	switch {
	case err != nil:
		return err
	case !found:
		return badRequest("messages", "messages is missing")
	case len(r.Messages) == 0:
		return badRequest("messages", "messages is empty")
	}
	return nil
}

func readMessages(s *scanner) ([]Message, error) {
	if s.next() != '[' {
		return nil, badRequest("messages", "messages is not an array")
	}
	var list []Message
	err := s.array(func() error {
		m, err := readMessage(s)
		list = append(list, m)
		return err
	})
	return list, err
}

func readMessage(s *scanner) (m Message, err error) {
	if s.next() != '{' {
		return m, badRequest("messages", "a message is not an object")
	}
	start := s.pos
	err = s.object(func(name string) (err error) {
		switch name {
		case "role":
			m.Role, err = readString(s, "messages.role")
		case "content":
			m.Content, err = s.value()
		default:
			err = s.skip()
		}
		return err
	})
	m.Raw = s.buf[start:s.pos]
	if err == nil && m.Role == "" {
		err = badRequest("messages", "a message has no role")
	}
	return m, err
}

func readString(s *scanner, param string) (string, error) {
	raw, err := s.value()
	switch {
	case err != nil:
		return "", err
	case raw[0] != '"':
		return "", badRequest(param, "%s is not a string", param)
	}
	return unquote(raw), nil
}

// readBool takes null for false, as servers do.
func readBool(s *scanner, param string) (bool, error) {
	raw, err := s.value()
	switch text := string(raw); {
	case err != nil:
		return false, err
	case text == "true", text == "false", text == "null":
		return text == "true", nil
	}
	return false, badRequest(param, "%s is not a boolean", param)
}

func readStreamOptions(s *scanner) (includeUsage bool, err error) {
	switch s.next() {
	case 'n':
		return false, s.literal("null")
	case '{':
		err = s.object(func(name string) (err error) {
			if name != "include_usage" {
				return s.skip()
			}
			includeUsage, err = readBool(s, "stream_options.include_usage")
			return err
		})
		return includeUsage, err
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
