// Agent is a whole tool-calling agent on the Qwen client, with two tools that are plain Go
// functions. It runs against a server inside of the program whose model makes two mistakes
// on the way: a call that is no JSON is reported to it, and one that it leaves in its text is
// taken out of there. All requests carry the one session of the run.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/qwen"
	"github.com/homing-go/homing/routing"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// agent lets the model work on a task until it calls no more tools, and returns its last
// answer. Each call and its result go to log.
func agent(ctx context.Context, baseURL string, s routing.Session, log io.Writer, tools *model.Toolbox, task string) (string, error) {
	options, err := qwen.Profile("qwen3.6-code") // the sampling that the model's card gives
	if err != nil {
		return "", err
	}
	client, err := qwen.New(qwen.Config{Config: model.Config{BaseURL: baseURL, Model: "Qwen/Qwen3.6-35B-A3B"}, Options: options})
	if err != nil {
		return "", err
	}
	defer client.CloseIdleConnections()
	trajectory := model.NewTrajectory(client, s, model.System("You fix bugs with the tools that you have."))
	answer := ""
	for step, err := range model.Run(ctx, trajectory, tools, model.RunConfig{MaxSteps: 20}, model.User(task)) {
		if err != nil {
			return "", errors.Join(err, trajectory.End(ctx))
		}
		answer = step.Response.Text
		for i, call := range step.Response.ToolCalls {
			fmt.Fprintf(log, "%s %s\n  %s\n", call.Name, call.Arguments, step.Results[i].JSON())
		}
		for _, repair := range step.Response.Repairs {
			fmt.Fprintf(log, "  mended: %s\n", repair.Kind)
		}
	}
	return answer, trajectory.End(ctx)
}

// toolbox returns the tools. The schemas come from the structs; the texts that the functions
// return, and their errors, are what the model reads.
func toolbox(files map[string]string) (*model.Toolbox, error) {
	type look struct {
		Path string `json:"path" jsonschema:"file to read"`
	}
	read, err := model.NewTool("read", "Shows a file.", func(_ context.Context, in look) (string, error) {
		text, ok := files[in.Path]
		if !ok {
			return "", fmt.Errorf("there is no file %q", in.Path)
		}
		return text, nil
	})
	type change struct {
		Path string `json:"path" jsonschema:"file to change"`
		Old  string `json:"old" jsonschema:"text to replace, which occurs once"`
		New  string `json:"new" jsonschema:"text in its place"`
	}
	replace, err2 := model.NewTool("replace", "Replaces a text in a file.", func(_ context.Context, in change) (string, error) {
		if n := strings.Count(files[in.Path], in.Old); n != 1 {
			return "", fmt.Errorf("the old text occurs %d times in %q; give one that occurs once", n, in.Path)
		}
		files[in.Path] = strings.Replace(files[in.Path], in.Old, in.New, 1)
		return "done", nil
	})
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	return model.NewToolbox(read, replace)
}
