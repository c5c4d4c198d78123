package scripted

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/swebench/internal/atomicfile"
)

// maxScript is how long a script may be.
const maxScript = 64 << 20

// A Script tells what each run does.
type Script struct {
	// Runs are by model name; "*" is for the others.
	Runs map[string]Entry
}

// An Entry tells what the runs of one model do. The zero value succeeds at once.
type Entry struct {
	Delay        time.Duration
	Outcome      Outcome
	Error        string
	Patch        *string // nil means "diff"
	Instances    map[string]Instance
	Counters     json.RawMessage
	AgentLog     string
	EvalLog      string
	CancelLag    time.Duration
	Predictions  map[string]*string // nil: computed
	AgentCommand []string
	EvalCommand  []string
}

// An Instance tells what one instance of a run does.
type Instance struct {
	Delay   time.Duration
	Outcome Outcome
	Patch   *string // nil means that of the entry
}

// An Outcome is how a run or an instance ends.
type Outcome string

// The outcomes. The empty one is Succeed.
const (
	Succeed Outcome = "succeed"
	Fail    Outcome = "fail"
	Hang    Outcome = "hang"
)

// A ScriptError tells what is wrong with a script.
type ScriptError struct {
	// Path is the member that it is about, such as "runs.*.delay_s".
	Path   string
	Reason string
}

func (e *ScriptError) Error() string {
	if e.Path == "" {
		return "script: " + e.Reason
	}
	return fmt.Sprintf("script: %s: %s", e.Path, e.Reason)
}

// Read reads the script in a file.
func Read(name string) (*Script, error) {
	data, err := atomicfile.ReadThrough(name, maxScript)
	if err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	return Parse(data)
}

// Parse reads a script. The error is a *[ScriptError].
func Parse(data []byte) (*Script, error) {
	if !utf8.Valid(data) {
		return nil, &ScriptError{Reason: "it is not UTF-8"}
	}
	value, err := rawjson.Only(data)
	if err != nil {
		return nil, &ScriptError{Reason: err.Error()}
	}
	script := &Script{}
	p := &parser{}
	p.object("", value, func(path, name string, value []byte) bool {
		if name != "runs" {
			return false
		}
		script.Runs = map[string]Entry{}
		p.object(path, value, func(path, model string, value []byte) bool {
			script.Runs[model] = p.entry(path, value)
			return true
		})
		return true
	})
	if script.Runs == nil {
		p.fail("", `it has no member "runs"`)
	}
	if p.err != nil {
		return nil, p.err
	}
	return script, nil
}

// parser keeps the first fault.
type parser struct{ err error }

func (p *parser) fail(path, reason string) {
	if p.err == nil {
		p.err = &ScriptError{Path: path, Reason: reason}
	}
}

func (p *parser) entry(path string, value []byte) (e Entry) {
	p.object(path, value, func(path, name string, value []byte) bool {
		switch name {
		case "delay_s":
			e.Delay = p.seconds(path, value)
		case "outcome":
			e.Outcome = p.outcome(path, value)
		case "error":
			e.Error = p.text(path, value)
		case "patch":
			e.Patch = ptr(p.text(path, value))
		case "instances":
			e.Instances = map[string]Instance{}
			p.object(path, value, func(path, id string, value []byte) bool {
				e.Instances[id] = p.instance(path, value)
				return true
			})
		case "counters":
			if p.kind(path, value, '{', "an object") {
				e.Counters = value
			}
		case "agent_log":
			e.AgentLog = p.text(path, value)
		case "eval_log":
			e.EvalLog = p.text(path, value)
		case "cancel_lag_s":
			e.CancelLag = p.seconds(path, value)
		case "predictions":
			e.Predictions = map[string]*string{}
			p.object(path, value, func(path, id string, value []byte) bool {
				e.Predictions[id] = nil
				if rawjson.Kind(value) != 'n' {
					e.Predictions[id] = ptr(p.text(path, value))
				}
				return true
			})
		case "agent_command":
			e.AgentCommand = p.argv(path, value)
		case "eval_command":
			e.EvalCommand = p.argv(path, value)
		default:
			return false
		}
		return true
	})
	return e
}

func (p *parser) instance(path string, value []byte) (i Instance) {
	p.object(path, value, func(path, name string, value []byte) bool {
		switch name {
		case "delay_s":
			i.Delay = p.seconds(path, value)
		case "outcome":
			i.Outcome = p.outcome(path, value)
		case "patch":
			i.Patch = ptr(p.text(path, value))
		default:
			return false
		}
		return true
	})
	return i
}

// object calls member for each member of an object; false means that it is unknown.
func (p *parser) object(path string, value []byte, member func(path, name string, value []byte) bool) {
	if !p.kind(path, value, '{', "an object") {
		return
	}
	seen := map[string]bool{}
	for o := rawjson.Members(value); o.Next(); {
		name := string(o.Key)
		inner := strings.TrimPrefix(path+"."+name, ".")
		if seen[name] {
			p.fail(inner, "it is there twice")
		}
		seen[name] = true
		if !member(inner, name, o.Value) {
			p.fail(inner, "there is no such member")
		}
	}
}

func (p *parser) kind(path string, value []byte, kind byte, want string) bool {
	if rawjson.Kind(value) != kind {
		p.fail(path, "it is "+rawjson.KindName(value)+", want "+want)
		return false
	}
	return true
}

func (p *parser) text(path string, value []byte) string {
	p.kind(path, value, '"', "a string")
	return rawjson.Text(value)
}

func (p *parser) seconds(path string, value []byte) time.Duration {
	if rawjson.KindName(value) != "a number" {
		p.fail(path, "it is "+rawjson.KindName(value)+", want a number of seconds")
		return 0
	}
	var s float64
	if err := json.Unmarshal(value, &s); err != nil || s < 0 || s > math.MaxInt64/1e9/2 {
		p.fail(path, "it is "+string(value)+", want a number of seconds that is 0 or more")
		return 0
	}
	return time.Duration(s * 1e9)
}

func (p *parser) outcome(path string, value []byte) Outcome {
	o := Outcome(p.text(path, value))
	if o != Succeed && o != Fail && o != Hang {
		p.fail(path, fmt.Sprintf("it is %q, want \"succeed\", \"fail\" or \"hang\"", o))
	}
	return o
}

func (p *parser) argv(path string, value []byte) []string {
	argv := []string{}
	if !p.kind(path, value, '[', "a list of strings") {
		return nil
	}
	for a := rawjson.Elements(value); a.Next(); {
		argv = append(argv, p.text(fmt.Sprintf("%s[%d]", path, len(argv)), a.Value))
	}
	if len(argv) == 0 || argv[0] == "" {
		p.fail(path, "it names no program")
	}
	return argv
}

func ptr[T any](v T) *T { return &v }
