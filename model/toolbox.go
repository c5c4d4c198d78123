package model

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"
)

// A Toolbox is a set of tools that can be called by name. It is immutable and safe for
// concurrent use if its tools are.
type Toolbox struct {
	tools  *Tools
	byName map[string]Tool
}

// NewToolbox returns a toolbox; two tools of one name are an error.
func NewToolbox(tools ...Tool) (*Toolbox, error) {
	b := &Toolbox{byName: make(map[string]Tool, len(tools))}
	defs := make([]ToolDef, len(tools))
	for i, t := range tools {
		defs[i] = t.def
		b.byName[t.def.Name] = t
	}
	var err error
	b.tools, err = NewTools(defs...)
	return b, err
}

// Tools returns the definitions, for [Trajectory.Tools] or [Request.Tools].
func (b *Toolbox) Tools() *Tools { return b.tools }

// Results carries the calls of one answer out, in their order, and returns one message
// for each, which is what the protocol wants. What goes wrong in a tool is told to the
// model in that message. If one call is unsound, because of its Err or because there is
// no such tool, none is carried out, since later calls build on earlier ones.
//
// The error is that of the context, once it is done; then the messages are incomplete
// and of no use.
func (b *Toolbox) Results(ctx context.Context, calls []ToolCall) ([]Message, error) {
	return b.results(ctx, calls, 1)
}

func (b *Toolbox) results(ctx context.Context, calls []ToolCall, parallel int) ([]Message, error) {
	unsound := make([]error, len(calls))
	refused := false
	for i, call := range calls {
		unsound[i] = b.check(call)
		refused = refused || unsound[i] != nil
	}
	results := make([]Message, len(calls))
	if refused {
		for i, call := range calls {
			text := "error: not carried out, because another call of this answer was refused"
			if unsound[i] != nil {
				text = "error: " + unsound[i].Error()
			}
			results[i] = ToolResult(call.ID, text)
		}
		return results, ctx.Err()
	}
	var group errgroup.Group
	group.SetLimit(max(parallel, 1))
	for i, call := range calls {
		group.Go(func() error {
			if ctx.Err() == nil {
				results[i] = b.call(ctx, call)
			}
			return nil
		})
	}
	_ = group.Wait() // what goes wrong is in the results
	return results, ctx.Err()
}

func (b *Toolbox) call(ctx context.Context, call ToolCall) Message {
	text, err := b.byName[call.Name].Call(ctx, call.Arguments)
	if err != nil {
		text = strings.TrimSpace(text + "\nerror: " + err.Error())
	}
	return ToolResult(call.ID, text)
}

func (b *Toolbox) check(call ToolCall) error {
	if call.Err != nil {
		return call.Err
	}
	if _, ok := b.byName[call.Name]; ok {
		return nil
	}
	names := make([]string, 0, b.tools.Len())
	for _, d := range b.tools.Defs() {
		names = append(names, d.Name)
	}
	return fmt.Errorf("there is no tool %q; there is: %s", call.Name, strings.Join(names, ", "))
}
