package runner

import (
	"fmt"
	"strings"
	"time"

	"github.com/homing-go/homing/swebench/service"
	"github.com/homing-go/homing/swebench/service/scripted"
)

// A Choice says which runner a service has, in the words of a command line.
type Choice struct {
	// Runner is scripted=FILE for the script in a file, or "", which is [Jobs].
	Runner string
	// Dataset is for [ParseSource], Sandbox and Harness one of SandboxNames and HarnessNames.
	Dataset, Sandbox, Harness string
	// Timeout bounds each phase of a run. Hide are environment variables that child
	// processes do not get.
	Timeout time.Duration
	Hide    []string
}

// Open returns the runner. An error for which [IsUsage] holds is about what was asked for.
func (c Choice) Open() (service.Runner, error) {
	file, scripting := strings.CutPrefix(c.Runner, "scripted=")
	switch {
	case scripting && c.Dataset != "":
		return nil, &ConfigError{Field: "-runner", Reason: "a script needs no -dataset; give one of the two"}
	case scripting:
		script, err := scripted.Read(file)
		if err != nil {
			return nil, err
		}
		return &scripted.Runner{Script: script, Timeout: c.Timeout, Hide: c.Hide}, nil
	case c.Runner != "":
		return nil, &ConfigError{Field: "-runner", Reason: fmt.Sprintf("it is %q, want scripted=FILE, or none and -dataset", c.Runner)}
	case c.Dataset == "":
		return nil, &ConfigError{Field: "-dataset", Reason: "it is empty; name a file, a folder or a dataset on a hub; for a script, want scripted=FILE as -runner"}
	}
	source, err := Setup{Dataset: c.Dataset}.source()
	if err != nil {
		return nil, err
	}
	jobs := &Jobs{Source: source, Place: Place{Name: c.Sandbox}, Harness: c.Harness, Timeout: c.Timeout, Hide: c.Hide}
	return jobs, jobs.Check()
}
