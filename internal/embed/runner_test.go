package embed

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/routing"
	"github.com/homing-go/homing/routing/routingtest"
	"github.com/homing-go/homing/swebench/agent"
	"github.com/homing-go/homing/swebench/dataset"
	"github.com/homing-go/homing/swebench/harness"
	"github.com/homing-go/homing/swebench/runner"
	"github.com/homing-go/homing/swebench/runner/runnertest"
	"github.com/homing-go/homing/swebench/sandbox"
	"github.com/stretchr/testify/require"
)

// plain is a client that the tool wrote itself: net/http, a transport of package routing, and
// nothing of model but the interface.
type plain struct {
	url  string
	http *http.Client
}

func (p plain) Generate(ctx context.Context, req *model.Request) (*model.Response, error) {
	body := fmt.Appendf(nil, `{"model":"own","messages":%s,"tools":%s}`, req.Messages.JSON(), req.Tools.JSON())
	out, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	out.Header.Set("Content-Type", "application/json")
	in, err := p.http.Do(out)
	if err != nil {
		return nil, err
	}
	defer in.Body.Close()
	var answer struct {
		Choices []struct {
			Message json.RawMessage
			Finish  model.Finish `json:"finish_reason"`
		}
	}
	if err := json.NewDecoder(in.Body).Decode(&answer); err != nil || len(answer.Choices) == 0 {
		return nil, fmt.Errorf("status %d: %w", in.StatusCode, err)
	}
	var message struct {
		Content string
		Calls   []struct {
			ID       string
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
	if err := json.Unmarshal(answer.Choices[0].Message, &message); err != nil {
		return nil, err
	}
	res := &model.Response{Text: message.Content, Finish: answer.Choices[0].Finish}
	for _, c := range message.Calls {
		res.ToolCalls = append(res.ToolCalls, model.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: json.RawMessage(c.Function.Arguments)})
	}
	res.Message, err = model.Raw(answer.Choices[0].Message)
	return res, err
}

func (p plain) Stream(ctx context.Context, req *model.Request) *model.Stream {
	return model.NewStream(func(func(model.Event) bool) (*model.Response, error) { return p.Generate(ctx, req) })
}

// A foreign evaluation loop runs the agent and the runner with a client of its own: every
// trajectory stays on one backend, and the score is that of the tasks.
func TestAgentAndRunnerWithAClientOfOnesOwn(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is missing")
	}
	tasks := runnertest.Tasks()
	set, err := runnertest.Write(t.TempDir(), tasks...)
	require.NoError(t, err)
	cluster, err := routingtest.NewCluster(routingtest.ClusterConfig{Backends: 3, Backend: routingtest.BackendConfig{Reply: runnertest.Model(tasks...)}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Close()) })
	pool := model.NewTransport()
	t.Cleanup(pool.CloseIdleConnections)
	audit := new(routing.Audit)
	client := plain{url: cluster.URL(), http: &http.Client{Transport: &routing.Transport{Base: pool, Missing: routing.MissingRefuse, Audit: audit}}}

	rows, err := dataset.Load(t.Context(), dataset.Source{Path: set.Dataset})
	require.NoError(t, err)
	places := func() *runner.Workspace {
		return &runner.Workspace{Runtime: sandbox.NewLocal(sandbox.LocalConfig{Folder: t.TempDir()}), Local: true, Cache: t.TempDir()}
	}
	work := places()
	result, err := runner.Run(t.Context(), runner.Config{
		Rows: rows, Dir: filepath.Join(t.TempDir(), "out"), Model: "own", NewClient: func() (model.Client, error) { return client, nil },
		Template: agent.Default(), Runtime: work, Spec: work.Spec, Evaluator: harness.Native{Runtime: work, Spec: work.Spec}, Workers: 2, Stagger: -1,
	})
	require.NoError(t, err)
	require.True(t, result.Complete, result.Reasons)
	require.InDelta(t, float64(set.Solved())/float64(len(rows)), *result.Score, 1e-9)
	report := audit.Report()
	require.Equal(t, len(rows), report.Sessions)
	require.Zero(t, report.Mismatches)

	// The agent alone, in a loop of the tool's own.
	work = places()
	for _, row := range rows[:2] {
		spec, err := work.Spec(t.Context(), row)
		require.NoError(t, err)
		place, err := work.Start(t.Context(), spec)
		require.NoError(t, err)
		outcome, err := agent.Run(t.Context(), agent.Config{
			Client: client, Session: routing.NewSession(routing.Derive("own loop", row.InstanceID)), Sandbox: place, Template: agent.Default(),
		}, agent.Task{InstanceID: row.InstanceID, Problem: row.ProblemStatement})
		require.NoError(t, err)
		require.Equal(t, agent.Submitted, outcome.ExitStatus)
		require.NoError(t, place.Stop(t.Context()))
	}
	require.Equal(t, len(rows)+2, audit.Report().Sessions)
	require.Zero(t, audit.Report().Mismatches)
}
