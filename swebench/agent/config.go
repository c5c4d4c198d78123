package agent

import (
	"encoding/json"
	"math"
	"path"
	"strings"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/qwen"
	"github.com/homing-go/homing/routing"
)

// A Task is what is to be solved. It is used as it is: nothing in it is rendered.
type Task struct {
	InstanceID string
	// Problem is the text of the issue.
	Problem string
	// Dir is the folder of the repository in the sandbox; "" means that of the sandbox, if it
	// has a method Dir, else that of the template.
	Dir string
	// BaseCommit is written down with the trajectory. Patches are compared with the commit
	// that is checked out at the start: images of the benchmark may have one on top.
	BaseCommit string
}

// Config configures a trajectory. Client and Sandbox are required, and what else is zero
// works. Nothing in it is changed, so that any number of trajectories may share its parts;
// the sandbox belongs to one of them.
type Config struct {
	Client model.Client
	// Session is the routing identity; the zero Session means a new one with a random ID.
	Session routing.Session
	// Sandbox is where commands run. It is started and stopped by the caller.
	Sandbox qwen.Sandbox
	// Template is what the model is told and offered; the zero Template means [Default].
	Template Template
	// Limits replace those of the template where they are not zero.
	Limits Limits
	// Journal gets each step before the next begins; nil keeps nothing.
	Journal Journal
	// Params are the sampling parameters; nil means those of the template.
	Params *model.Params
	// Extra holds further members of each request, beside those of the template.
	Extra map[string]json.RawMessage
	// Stream asks for answers as streams.
	Stream bool
	// MarkerEnds turns the compatibility with mini-swe-agent on: whatever command prints
	// COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT as its first line and exits with 0 ends the task,
	// and what follows is the patch. Any file that the model looks at can do that, too.
	MarkerEnds bool
	// Cost says what an answer costs. With nil answers are free, as those of local models
	// are, and the limit on cost is without effect.
	Cost func(*model.Response) float64
	// Model and Headers are written down with the trajectory: the name of the model, and the
	// names under which the session travels. Neither is sent.
	Model   string
	Headers []string
}

// withDefaults checks the configuration before anything is sent or run.
func (c Config) withDefaults(task *Task) (Config, error) {
	switch {
	case c.Client == nil:
		return c, &ConfigError{Field: "Client", Reason: "it is nil; make one with qwen.New or model.New"}
	case c.Sandbox == nil:
		return c, &ConfigError{Field: "Sandbox", Reason: "it is nil; start one, or use qwen.Local for tests"}
	case math.IsNaN(c.Limits.Cost):
		return c, &ConfigError{Field: "Limits.Cost", Reason: "it is not a number; use 0 for that of the template"}
	case strings.TrimSpace(task.Problem) == "":
		return c, &ConfigError{Field: "Task.Problem", Reason: "it is empty; give the text of the issue"}
	}
	if c.Template.system == nil {
		if c.Template.Name != "" || c.Template.Dir != "" || c.Template.Limits != (Limits{}) {
			return c, &ConfigError{Field: "Template", Reason: "it has no prompts; make it with Default, QwenTools or Load, and change it then"}
		}
		c.Template = Default()
	}
	if c.Session.ID == "" {
		c.Session = routing.NewSession(routing.NewID())
	}
	if _, err := routing.ParseID(string(c.Session.ID)); err != nil {
		return c, &ConfigError{Field: "Session", Reason: err.Error()}
	}
	if here, ok := c.Sandbox.(interface{ Dir() string }); ok && task.Dir == "" {
		task.Dir = here.Dir()
	}
	if task.Dir == "" {
		task.Dir = c.Template.Dir
	}
	if !path.IsAbs(task.Dir) || strings.Contains(task.Dir, "\x00") {
		return c, &ConfigError{Field: "Task.Dir", Reason: "it is no absolute path; give that of the repository in the sandbox, such as /testbed"}
	}
	task.Dir = path.Clean(task.Dir)
	c.Limits = c.Limits.over(c.Template.Limits)
	if c.Params == nil {
		c.Params = &c.Template.Params
	}
	extra := map[string]json.RawMessage{}
	for _, from := range []map[string]json.RawMessage{c.Template.Extra, c.Extra} {
		for name, value := range from {
			extra[name] = value
		}
	}
	c.Extra = extra
	return c, nil
}

// FileName is the name of a model as it is part of a file's name: each slash becomes two
// underscores. In requests the name stays as it is.
func FileName(model string) string { return strings.ReplaceAll(model, "/", "__") }
