package qwen

import (
	"encoding/json"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/model"
)

type dialect struct {
	model.OpenAI
	options Options
	// switches are the thinking switches as a JSON object.
	switches []byte
}

// NewDialect returns the dialect alone, for a [model.Config]. [New] and [Wrap] set it.
func NewDialect(options Options) model.Dialect {
	return &dialect{options: options, switches: encodeSwitches(&options)}
}

// NewReader implements [model.Dialect].
func (d *dialect) NewReader(req *model.Request) model.Reader {
	r := &reader{tools: req.Tools, nullContent: d.options.NullContent, turn: req.Messages.Len()}
	if extra := req.Extra["tools"]; extra != nil && r.tools.Len() == 0 {
		if tools, err := model.ParseTools(extra); err == nil {
			r.tools = tools
		}
	}
	switch enabled := d.thinking(req); {
	case enabled != nil && !*enabled:
		r.mode = thinkingOff
	case d.options.PromptOpensThinking:
		r.mode = thinkingOpen
	}
	return r
}

// thinking returns the switch as the request sends it.
func (d *dialect) thinking(req *model.Request) *bool {
	for _, value := range [...]json.RawMessage{
		req.Extra["enable_thinking"],
		rawjson.Get(req.Extra["chat_template_kwargs"], "enable_thinking"),
	} {
		switch string(value) {
		case "true":
			on := true
			return &on
		case "false":
			return new(bool)
		}
	}
	return d.options.EnableThinking
}
