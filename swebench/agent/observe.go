package agent

import (
	"errors"
	"unicode/utf8"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/qwen"
)

// observe is the text of a result: that of [qwen.Result.Text], or the template's own.
func (t Template) observe(res qwen.Result, vars map[string]any) (string, error) {
	if t.observation == nil {
		return res.Text(), nil
	}
	own := map[string]any{}
	for name, value := range vars {
		own[name] = value
	}
	own["output"] = map[string]any{
		"output":         validText(res.Output),
		"returncode":     res.ExitCode,
		"exception_info": validText([]byte(res.Note)),
	}
	return t.observation.render(own)
}

// try renders what will be needed later, so that a mistake shows before anything is sent.
func (t Template) try(vars map[string]any) error {
	for _, res := range []qwen.Result{{}, {Output: make([]byte, 12_000), ExitCode: -1, Note: "note"}} {
		if _, err := t.observe(res, vars); err != nil {
			return err
		}
	}
	for _, res := range []*model.Response{{Finish: model.FinishLength}, {Finish: model.FinishStop, ToolCalls: make([]model.ToolCall, 1)}} {
		if _, err := t.guidance(errors.New("error"), res, vars); err != nil {
			return err
		}
	}
	return nil
}

// validText replaces what is no UTF-8.
func validText(text []byte) string {
	if utf8.Valid(text) {
		return string(text)
	}
	return string([]rune(string(text)))
}
