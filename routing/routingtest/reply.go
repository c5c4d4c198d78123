package routingtest

import (
	"encoding/json"
	"fmt"
	"slices"
)

// A Reply decides what a backend says. It is called once for each request that
// is answered, from many goroutines at a time, and may block while the request's
// context lives.
type Reply func(*Request) Answer

// Answer is what an assistant says.
type Answer struct {
	Text      string
	Reasoning string // sent under BackendConfig.ReasoningField
	ToolCalls []ToolCall
	// Message, if not nil, takes the place of the above: the message as JSON. A
	// plain response carries these bytes as they are, unchecked. A streamed one
	// carries content, reasoning (by its name in the message) and tool calls in
	// pieces that concatenate to the strings of the message; other members are
	// left out, and a value that is not a string comes in one piece.
	Message json.RawMessage
	// Finish is the finish_reason. Empty means "tool_calls" if there are any,
	// else "stop".
	Finish string
}

// ToolCall is a call in an [Answer]. Arguments are sent as they are, sound JSON
// or not.
type ToolCall struct {
	ID, Name, Arguments string
}

// Echo says back the text of the last message that a user or a tool wrote.
func Echo() Reply {
	return func(r *Request) Answer {
		for _, m := range slices.Backward(r.Messages) {
			if m.Role == "user" || m.Role == "tool" {
				return Answer{Text: m.Text()}
			}
		}
		return Answer{Text: "routingtest: no message of a user or a tool to echo"}
	}
}

// Script gives the n-th answer to the n-th request of a conversation, whatever
// the backend and however often it is tried again: it counts the assistant
// messages in the request. Past the end the text says so.
func Script(answers ...Answer) Reply {
	answers = slices.Clone(answers)
	return func(r *Request) Answer {
		n := r.Answered()
		if n < len(answers) {
			return answers[n]
		}
		return Answer{Text: fmt.Sprintf("routingtest: the script has %d answers and this is request %d", len(answers), n+1)}
	}
}

// Recorded replays conversations, each given as its messages in JSON. To a
// request with n assistant messages it replies with assistant message n of the
// conversation, counted from 0, byte for byte.
//
// The conversation is the one whose user and tool messages agree, by their text
// and from the beginning, with most of those in the request; the first of equals.
// A single conversation needs no match. Past the end, or if not even the first
// text agrees, the answer's text says so.
//
// Recorded keeps the messages; do not modify them. It fails with an *[Error] if
// one is not a JSON object with a role.
func Recorded(conversations ...[]json.RawMessage) (Reply, error) {
	recordings := make([]recording, 0, len(conversations))
	for i, messages := range conversations {
		var c recording
		for j, raw := range messages {
			m, err := parseMessage(raw)
			if err != nil {
				return nil, &Error{
					What:  fmt.Sprintf("conversation %d", i),
					Value: fmt.Sprintf("message %d: %v", j, err),
					Fix:   `give each message as JSON, like {"role":"user","content":"hello"}`,
				}
			}
			switch m.Role {
			case "assistant":
				c.answers = append(c.answers, raw)
			case "user", "tool":
				c.prompts = append(c.prompts, m.Text())
			}
		}
		recordings = append(recordings, c)
	}
	return func(r *Request) Answer {
		c, ok := findRecording(recordings, r)
		if !ok {
			return Answer{Text: fmt.Sprintf("routingtest: none of the %d recorded conversations begins with this user message", len(recordings))}
		}
		n := r.Answered()
		if n < len(c.answers) {
			return Answer{Message: c.answers[n]}
		}
		return Answer{Text: fmt.Sprintf("routingtest: the recorded conversation has %d answers and this is request %d", len(c.answers), n+1)}
	}, nil
}

type recording struct {
	answers []json.RawMessage // assistant messages
	prompts []string          // texts of user and tool messages
}

func findRecording(recordings []recording, r *Request) (recording, bool) {
	if len(recordings) == 1 {
		return recordings[0], true
	}
	var prompts []string
	for _, m := range r.Messages {
		if m.Role == "user" || m.Role == "tool" {
			prompts = append(prompts, m.Text())
		}
	}
	best, most := -1, 0
	for i, c := range recordings {
		same := 0
		for same < min(len(prompts), len(c.prompts)) && prompts[same] == c.prompts[same] {
			same++
		}
		if same > most {
			best, most = i, same
		}
	}
	if best < 0 {
		return recording{}, false
	}
	return recordings[best], true
}
