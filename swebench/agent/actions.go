package agent

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/qwen"
)

const toolBash = "bash"

// A toolkit is what a template offers, and reads what the model makes of it.
type toolkit struct {
	set   qwen.Toolset
	tools *model.Tools
	limit int            // calls of one answer
	text  *regexp.Regexp // finds the command in a text; nil for tool calls
}

func newToolkit(t Template, dir string, limits Limits) (toolkit, error) {
	k := toolkit{set: qwen.Toolset{Root: dir}, limit: limits.Calls}
	if !within(dir, t.Dir) && !within(t.Dir, dir) {
		k.set.Alias = t.Dir // a local sandbox has the repository somewhere else
	}
	if k.text = t.action; k.text != nil {
		return k, nil
	}
	k.tools = k.set.Tools()
	if t.editor {
		return k, nil
	}
	def, _ := k.tools.Lookup(toolBash)
	var err error
	k.tools, err = model.NewTools(def)
	return k, err
}

// within reports whether a clean path is a folder or in it.
func within(name, folder string) bool {
	rest, ok := strings.CutPrefix(name, strings.TrimSuffix(path.Clean(folder), "/"))
	return ok && (rest == "" || rest[0] == '/')
}

// actions returns the actions of an answer, or a *qwen.FormatError: when one call is
// unsound none is run.
func (k toolkit) actions(res *model.Response) ([]qwen.Action, error) {
	if k.text != nil {
		return k.fromText(res)
	}
	if n := len(res.ToolCalls); n > k.limit {
		return nil, &tooManyCallsError{n: n, limit: k.limit}
	}
	if len(res.ToolCalls) == 0 {
		return nil, qwen.Check(res, k.tools)
	}
	offered := *res
	offered.ToolCalls = append([]model.ToolCall(nil), res.ToolCalls...)
	for i := range offered.ToolCalls {
		call := &offered.ToolCalls[i]
		if _, known := k.tools.Lookup(strings.TrimSpace(call.Name)); !known && call.Err == nil {
			call.Err = k.unknown(call.Name)
		}
	}
	return k.set.Actions(&offered)
}

// unknown refuses a tool that this template does not offer.
func (k toolkit) unknown(name string) error {
	var names []string
	for _, def := range k.tools.Defs() {
		names = append(names, def.Name)
	}
	there := strings.Join(names, ", ")
	if strings.TrimSpace(name) == "" {
		return &qwen.CallError{Kind: qwen.KindMissingName, Reason: "the call names no tool; the tools are " + there}
	}
	return &qwen.CallError{Kind: qwen.KindUnknownTool, Tool: fmt.Sprintf("%.60s", name), Reason: fmt.Sprintf("there is no tool %.60q; the tools are %s", name, there)}
}

// tooManyCallsError refuses an answer without looking at its calls.
// n is 0 when nobody counted them.
type tooManyCallsError struct{ n, limit int }

func (e *tooManyCallsError) Error() string {
	has := "too many"
	if e.n > 0 {
		has = strconv.Itoa(e.n)
	}
	return fmt.Sprintf("too_many_calls: your response has %s tool calls, and at most %d are carried out; nothing was run. Use fewer calls and look at their results", has, e.limit)
}

// tooMany reports whether a client has refused an answer for the number of its calls. Each
// kind of client says so in its own place.
func tooMany(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if strings.Contains(err.Error(), "tool calls in one answer") {
			return true
		}
	}
	return false
}

// Guidance behind the error, for templates without one of their own.
const (
	guidanceBash   = "Call the tool bash with your command: {\"command\": \"...\"}. If your work is done, hand it in as the first message says."
	guidanceEditor = "If your work is done, call finish with the list of the changed files."
)

// guidance is what the model is told about an answer that could not be carried out.
func (t Template) guidance(fault error, res *model.Response, vars map[string]any) (string, error) {
	if t.formatError == nil {
		hint := guidanceBash
		switch {
		case t.editor:
			hint = guidanceEditor
		case t.action != nil:
			hint = "Write one command, in the form that the first message shows."
		}
		return fault.Error() + "\n\n" + hint, nil
	}
	own := map[string]any{}
	for name, value := range vars {
		own[name] = value
	}
	own["error"] = fault.Error()
	own["actions"] = []any{}
	if wrong := (*notOneActionError)(nil); errors.As(fault, &wrong) {
		own["actions"] = wrong.actions
	}
	own["finish_reason"] = string(res.Finish)
	own["has_tool_calls"] = len(res.ToolCalls) > 0
	return t.formatError.render(own)
}
