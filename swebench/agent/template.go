package agent

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	"github.com/homing-go/homing/model"
)

// A Template is what the model is told, which tools it is offered, and the limits that go
// with them. Make one with [Default], [QwenTools] or [Load]; its exported fields may be
// changed afterwards. It may be shared by any number of trajectories.
type Template struct {
	// Name is "default", "qwen_tools", or what the files of [Load] are called.
	Name string
	// Dir is the folder of the repository.
	Dir    string
	Limits Limits
	// Env is set for each command of the model.
	Env map[string]string
	// Interpreter are the arguments in front of a command; nil means bash -c, or sh -c where
	// there is no bash.
	Interpreter []string
	// Params and Extra are the sampling parameters and the further members of a request,
	// and Headers what a client for this template should send beside the session.
	Params  model.Params
	Extra   map[string]json.RawMessage
	Headers map[string]string
	// Vars are further variables of the prompts.
	Vars map[string]any

	// editor offers the three typed tools in the place of bash alone.
	editor bool
	// action finds the command in the text of an answer; nil means tool calls.
	action *regexp.Regexp
	hash   string
	system, instance,
	observation, formatError *jinja // the last two are nil for the library's own texts
}

//go:embed prompts/*.txt
var prompts embed.FS

// Default returns the template with one tool, bash.
//
// A model that has nothing but a shell hands its work in by a command. What counts is what
// the model wrote and not what was printed: the command itself must say echo
// COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT, end with exit code 0, and print that as its first
// line. What it prints behind it on standard output is the patch, and when that is nothing,
// all that differs from the commit of the start. So official prompts work as they are, and
// neither a file nor a program that prints the marker can end a task.
func Default() Template { return builtin("default", false) }

// QwenTools returns the template with the three typed tools of [qwen.Toolset]. Only a call
// of finish hands the work in.
func QwenTools() Template { return builtin("qwen_tools", true) }

func builtin(name string, editor bool) Template {
	t := Template{
		Name: name, Dir: "/testbed", editor: editor,
		Limits: Limits{Steps: 250, Cost: 3, FormatErrors: 3, Command: 5 * time.Minute},
		Env:    map[string]string{"PAGER": "cat", "MANPAGER": "cat", "LESS": "-R", "PIP_PROGRESS_BAR": "off", "TQDM_DISABLE": "1"},
	}
	if editor {
		t.Extra = map[string]json.RawMessage{"parallel_tool_calls": json.RawMessage("true")}
	}
	system, instance := prompt(name+".system"), prompt(name+".instance")
	t.hash = hashOf(system, instance)
	var err error
	if t.system, err = compile(name+" system prompt", system); err == nil {
		t.instance, err = compile(name+" instance prompt", instance)
	}
	if err != nil {
		panic(err) // the prompts are part of the program
	}
	return t
}

func prompt(name string) string {
	text, err := prompts.ReadFile("prompts/" + name + ".txt")
	if err != nil {
		panic(err) // they are part of the program
	}
	return string(text)
}

// Hash tells templates apart that differ in a text or a setting, so that a score can say what
// it was made with.
func (t Template) Hash() string {
	t.Name = "" // the same files by another path are the same
	settings, err := json.Marshal(t)
	if err != nil { // of a variable that is no JSON
		settings = fmt.Append(nil, err)
	}
	return hashOf(t.hash, string(settings), fmt.Sprint(t.editor, t.action))
}

func hashOf(texts ...string) string {
	h := sha256.New()
	for _, text := range texts {
		sum := sha256.Sum256([]byte(text))
		h.Write(sum[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// vars are the variables that a template may use: a list of what is allowed, in which the
// environment of this process has no place. machine is what the sandbox says of itself.
func (t Template) vars(task Task, limits Limits, modelName string, machine [4]string) map[string]any {
	vars := map[string]any{}
	for name, value := range t.Vars {
		vars[name] = value
	}
	for name, value := range map[string]any{
		"task":                          task.Problem,
		"instance_id":                   task.InstanceID,
		"cwd":                           task.Dir,
		"timeout":                       int(limits.Command.Seconds()),
		"step_limit":                    limits.Steps,
		"cost_limit":                    limits.Cost,
		"wall_time_limit_seconds":       int(limits.Wall.Seconds()),
		"max_consecutive_format_errors": limits.FormatErrors,
		"model_name":                    modelName,
		"system":                        machine[0],
		"release":                       machine[1],
		"version":                       machine[2],
		"machine":                       machine[3],
		"n_model_calls":                 0,
		"model_cost":                    0.0,
		"elapsed_seconds":               0.0,
	} {
		vars[name] = value
	}
	return vars
}
