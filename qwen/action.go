package qwen

import (
	"errors"
	"fmt"
	"strings"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/model"
)

// An Action is what one tool call asks for, checked and typed: [Exec], [View], [Edit],
// [Write] or [Submit].
type Action interface {
	// ID is that of the tool call.
	ID() string
	action()
}

// Exec runs a shell command.
type Exec struct {
	CallID, Command string
}

// View shows a file, or a folder.
type View struct {
	CallID string
	// Path is absolute.
	Path string
	// Start and End are the first and the last line, from 1; an End of -1 is that of the
	// file. Both are 0 for the whole file.
	Start, End int
}

// Edit replaces the one occurrence of a text in a file.
type Edit struct {
	CallID, Path, Old, New string
}

// Write writes a whole file and makes the folders above it.
type Write struct {
	CallID, Path, Content string
}

// Submit ends the task. Paths are relative to the repository, clean and inside of it, each
// once.
type Submit struct {
	CallID string
	Paths  []string
}

// ID implements [Action].
func (a Exec) ID() string { return a.CallID }

// ID implements [Action].
func (a View) ID() string { return a.CallID }

// ID implements [Action].
func (a Edit) ID() string { return a.CallID }

// ID implements [Action].
func (a Write) ID() string { return a.CallID }

// ID implements [Action].
func (a Submit) ID() string { return a.CallID }

func (Exec) action()   {}
func (View) action()   {}
func (Edit) action()   {}
func (Write) action()  {}
func (Submit) action() {}

// Actions returns the actions of an answer, in the order of its calls, or a
// *[FormatError]: when one call is refused, none is returned. It checks everything itself,
// so the answer may come from any client. Calls behind a Submit that succeeds are not run.
func (s Toolset) Actions(res *model.Response) ([]Action, error) {
	tools := s.Tools()
	var actions []Action
	unsound := map[int]*CallError{}
	for i := range res.ToolCalls {
		call := &res.ToolCalls[i]
		if call.Err != nil {
			unsound[i] = asCallError(call)
			continue
		}
		action, err := s.translate(call, tools)
		if err != nil {
			unsound[i] = err
			continue
		}
		actions = append(actions, action)
	}
	if err := newFormatError(res, tools, unsound); err != nil {
		return nil, err
	}
	return actions, nil
}

// translate turns a call into an action.
func (s Toolset) translate(call *model.ToolCall, tools *model.Tools) (Action, *CallError) {
	j := judge{tools: catalog{tools: tools}, repairs: new(repairs)}
	text := []byte(call.Arguments)
	if text == nil {
		text = []byte{}
	}
	checked := j.call(&foundCall{id: call.ID, name: call.Name, structured: true, text: text}, 0)
	if checked.Err != nil {
		var e *CallError
		errors.As(checked.Err, &e)
		return nil, e
	}
	a := arguments{tool: checked.Name, limit: s.maxPayload(), values: map[string][]byte{}}
	for o := rawjson.Members(checked.Arguments); o.Next(); {
		a.values[string(o.Key)] = o.Value
	}
	switch checked.Name {
	case toolBash:
		return s.exec(call.ID, &a)
	case toolFinish:
		return s.submit(call.ID, &a)
	default:
		return s.edit(call.ID, &a)
	}
}

// arguments are the arguments of one call, which fit the schema of its tool.
type arguments struct {
	tool   string
	limit  int
	values map[string][]byte
}

func (a *arguments) refuse(kind Kind, param, format string, args ...any) *CallError {
	return &CallError{Kind: kind, Tool: a.tool, Param: param, Reason: fmt.Sprintf(format, args...)}
}

// text returns a text and checks its size.
func (a *arguments) text(param string) (value string, given bool, err *CallError) {
	raw, given := a.values[param]
	if !given {
		return "", false, nil
	}
	if raw[0] != '"' {
		return "", true, a.refuse(KindBadType, param, "want a text, got %s", describe(raw))
	}
	value = rawjson.Text(raw)
	if len(value) > a.limit {
		return "", true, a.refuse(KindTooLarge, param, "it has %d bytes, and the limit is %d; split it up", len(value), a.limit)
	}
	return value, true, nil
}

func (s Toolset) exec(id string, a *arguments) (Action, *CallError) {
	command, _, err := a.text("command")
	switch {
	case err != nil:
		return nil, err
	case strings.TrimSpace(command) == "":
		return nil, a.refuse(KindBadValue, "command", "the command is empty; write the command to run")
	}
	return Exec{CallID: id, Command: command}, nil
}
