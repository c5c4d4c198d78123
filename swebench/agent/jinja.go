package agent

import (
	"fmt"
	"strings"

	"github.com/nikolalohinski/gonja/v2/builtins"
	"github.com/nikolalohinski/gonja/v2/config"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/loaders"
)

// maxRendered bounds one rendered prompt or observation.
const maxRendered = 16 << 20

// A jinja is one compiled template. An undefined variable is an error, as in the agent whose
// configurations these are. It is safe for concurrent use.
type jinja struct {
	field    string
	template *exec.Template
}

// compile reads a template. Its loader knows nothing but the template itself, so that no
// include can read a file of this machine.
func compile(field, source string) (*jinja, error) {
	refuse := func(reason any) (*jinja, error) {
		return nil, &ConfigError{Field: field, Reason: fmt.Sprintf("the template cannot be read: %.300v", reason)}
	}
	var template *exec.Template
	err := caught(func() error {
		loader, err := loaders.NewMemoryLoader(map[string]string{"/template": source})
		if err != nil {
			return err
		}
		cfg := config.New()
		cfg.StrictUndefined = true
		template, err = exec.NewTemplate("/template", cfg, loader, &exec.Environment{
			Context:           exec.EmptyContext().Update(builtins.GlobalFunctions),
			Filters:           builtins.Filters,
			Tests:             builtins.Tests,
			ControlStructures: builtins.ControlStructures,
			Methods:           builtins.Methods,
		})
		return err
	})
	if err != nil {
		text := strings.ReplaceAll(err.Error(), source, "…") // the parser quotes all of it
		return refuse(text)
	}
	return &jinja{field: field, template: template}, nil
}

// render renders the template. Numbers in vars are Go ints and floats.
func (j *jinja) render(vars map[string]any) (string, error) {
	out := &bounded{limit: maxRendered}
	err := caught(func() error { return j.template.Execute(out, exec.NewContext(vars)) })
	if err != nil {
		return "", &ConfigError{Field: j.field, Reason: fmt.Sprintf("the template cannot be rendered: %.300v", err)}
	}
	return out.String(), nil
}

// caught turns a panic of the library into an error: a template is a file of the user's.
func caught(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return f()
}

// bounded is a builder with a limit.
type bounded struct {
	strings.Builder
	limit int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.limit {
		return 0, fmt.Errorf("the text is longer than %d bytes", b.limit)
	}
	return b.Builder.Write(p)
}

func (b *bounded) WriteString(s string) (int, error) {
	if b.Len()+len(s) > b.limit {
		return 0, fmt.Errorf("the text is longer than %d bytes", b.limit)
	}
	return b.Builder.WriteString(s)
}
