package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/homing-go/homing/internal/rawjson"
)

// A Tool is a function that a model may call, with the schema of its arguments.
type Tool struct {
	def ToolDef
	run func(ctx context.Context, arguments json.RawMessage) (string, error)
}

// NewTool makes a tool of fn. The schema is that of In, which must be a struct (or a map
// with string keys): JSON names and omitempty count as in encoding/json, and a field tag
// jsonschema:"..." describes the field. Arguments that do not fit the schema never reach
// fn; they come back as an *[ArgumentError].
//
// What fn returns is the text that the model reads. fn is safe for concurrent use if it
// is to be called so.
func NewTool[In any](name, description string, fn func(context.Context, In) (string, error)) (Tool, error) {
	refuse := func(err error) (Tool, error) {
		return Tool{}, &RequestError{Field: fmt.Sprintf("tool %q", name), Reason: err.Error()}
	}
	if fn == nil {
		return refuse(errors.New("its function is nil"))
	}
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		return refuse(err)
	}
	if schema.Type != "object" {
		return refuse(fmt.Errorf("arguments are a JSON object, so %T must be a struct", *new(In)))
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return refuse(err)
	}
	text, err := json.Marshal(schema)
	if err != nil {
		return refuse(err)
	}
	def := ToolDef{Name: name, Description: description, Parameters: text}
	return RawTool(def, func(ctx context.Context, arguments json.RawMessage) (string, error) {
		var values map[string]any
		if err := json.Unmarshal(arguments, &values); err != nil {
			return "", &ArgumentError{Tool: name, Reason: err.Error()}
		}
		if err := resolved.Validate(values); err != nil {
			return "", &ArgumentError{Tool: name, Reason: err.Error()}
		}
		var in In
		if err := decodeStrictly(arguments, &in); err != nil {
			return "", &ArgumentError{Tool: name, Reason: err.Error()}
		}
		return fn(ctx, in)
	})
}

func decodeStrictly(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is text behind the object")
	}
	return nil
}

// RawTool makes a tool with a schema of the caller's; fn gets the arguments as the model
// wrote them, an empty object if it wrote none.
func RawTool(def ToolDef, fn func(ctx context.Context, arguments json.RawMessage) (string, error)) (Tool, error) {
	if _, err := NewTools(def); err != nil {
		return Tool{}, err
	}
	if fn == nil {
		return Tool{}, &RequestError{Field: fmt.Sprintf("tool %q", def.Name), Reason: "its function is nil"}
	}
	return Tool{def: def, run: fn}, nil
}

// Def returns the definition.
func (t Tool) Def() ToolDef { return t.def }

// Call calls the function. A panic in it comes back as an error, so that one tool cannot
// end the program and all other trajectories with it.
func (t Tool) Call(ctx context.Context, arguments json.RawMessage) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			text, err = "", fmt.Errorf("the tool %q panicked: %v", t.def.Name, p)
		}
	}()
	if rawjson.Kind(arguments) == 0 {
		arguments = json.RawMessage(`{}`)
	}
	return t.run(ctx, arguments)
}

// An ArgumentError tells the model what is wrong with the arguments of a call.
type ArgumentError struct {
	Tool, Reason string
}

func (e *ArgumentError) Error() string {
	return fmt.Sprintf("the arguments of %q do not fit: %s", e.Tool, e.Reason)
}
