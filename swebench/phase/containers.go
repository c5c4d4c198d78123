package phase

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// RunLabel is the label of an agent's container; its value is the run's ID.
const RunLabel = "com.mlcommons.endpoints.swebench-run"

// containerCall is how long one call of the container tool may take.
const containerCall = 30 * time.Second

// Containers are those that one run started.
type Containers struct {
	// Executable is the container tool; "" means docker.
	Executable string
	RunID      string
	// EvalRunID and InstanceIDs name the containers of the evaluation; without an
	// EvalRunID it has not started.
	EvalRunID   string
	InstanceIDs []string
}

// Remove removes them by force, running or not, in one call; those of other runs are left.
// It finds the agents' by their label and the evaluation's by their exact names.
func (c Containers) Remove(ctx context.Context) error {
	found, err := c.list(ctx, "label="+RunLabel+"="+c.RunID, func(string) bool { return true })
	if err != nil {
		return err
	}
	if c.EvalRunID != "" {
		names := map[string]bool{}
		for _, id := range c.InstanceIDs {
			names["sweb.eval."+strings.ToLower(id)+"."+c.EvalRunID] = true
		}
		graders, err := c.list(ctx, "name="+c.EvalRunID, func(name string) bool { return names[name] })
		if err != nil {
			return err
		}
		found = append(found, graders...)
	}
	slices.Sort(found)
	if found = slices.Compact(found); len(found) == 0 {
		return nil
	}
	_, err = c.call(ctx, append([]string{"rm", "-f"}, found...)...)
	return err
}

// list returns the IDs of the containers whose name is wanted.
func (c Containers) list(ctx context.Context, filter string, wanted func(name string) bool) ([]string, error) {
	out, err := c.call(ctx, "ps", "-a", "--no-trunc", "--filter", filter, "--format", "{{.ID}} {{.Names}}")
	if err != nil {
		return nil, err
	}
	var ids []string
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) > 0 && wanted(fields[len(fields)-1]) {
			ids = append(ids, fields[0])
		}
	}
	return ids, nil
}

func (c Containers) call(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, containerCall)
	defer cancel()
	executable := c.Executable
	if executable == "" {
		executable = "docker"
	}
	cmd := exec.CommandContext(ctx, executable, args...) //nolint:gosec // the operator's tool
	cmd.WaitDelay = time.Second
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		text := strings.TrimSpace(problem.String())
		return "", fmt.Errorf("%s %s: %w: %s", executable, args[0], err, text[:min(len(text), 500)])
	}
	return out.String(), nil
}
