package readme_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/routing"
	"github.com/homing-go/homing/routing/routingtest"
	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/runner"
	"github.com/homing-go/homing/swebench/runner/runnertest"
	"github.com/homing-go/homing/swebench/scorer"
	"github.com/homing-go/homing/swebench/service"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

func cluster(reply routingtest.Reply) *routingtest.Cluster {
	c, err := routingtest.NewCluster(routingtest.ClusterConfig{Backend: routingtest.BackendConfig{Reply: reply}})
	if err != nil {
		panic(err)
	}
	return c
}

func Example_ownHarness() {
	c := cluster(routingtest.Script(
		routingtest.Answer{ToolCalls: []routingtest.ToolCall{{ID: "1", Name: "bash", Arguments: `{"command":"go test"}`}}},
		routingtest.Answer{Text: "The test passes now."},
	))
	defer c.Close()
	execute := func(_ context.Context, command string) (string, error) { return command + ": ok", nil }
	err := ownHarness(context.Background(), c.URL(), "The test fails.", execute)
	fmt.Println(err)
	// Output:
	// 1 calls, ""
	// 0 calls, "The test passes now."
	// <nil>
}

func ownHarness(ctx context.Context, baseURL, task string, execute func(context.Context, string) (string, error)) error {
	// readme:begin own harness
	client, err := model.New(model.Config{BaseURL: baseURL, Model: "qwen3-coder"})
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()

	type input struct {
		Command string `json:"command"`
	}
	bash, err := model.NewTool("bash", "Run a command.", func(ctx context.Context, in input) (string, error) {
		return execute(ctx, in.Command)
	})
	if err != nil {
		return err
	}
	tools, err := model.NewToolbox(bash)
	if err != nil {
		return err
	}

	// One ID for the whole trajectory: its turns, retries, streams and resumes.
	session := routing.NewSession(routing.Derive("run-1", "django__django-16899", "attempt-1"))
	agent := model.NewTrajectory(client, session, model.System("You fix bugs."))
	for step, err := range model.Run(ctx, agent, tools, model.RunConfig{MaxSteps: 50}, model.User(task)) {
		if err != nil {
			return err // a *model.Error: Kind, StatusCode, Message, Attempts
		}
		fmt.Printf("%d calls, %q\n", len(step.Response.ToolCalls), step.Response.Text)
	}
	// readme:end
	return nil
}

func Example_wrappedClient() {
	c := cluster(routingtest.Script(routingtest.Answer{Text: "hello"}))
	defer c.Close()
	err := wrappedClient(context.Background(), c.URL(), "key")
	fmt.Println(err)
	// Output:
	// hello
	// hello
	// <nil>
}

func wrappedClient(ctx context.Context, baseURL, key string) error {
	// readme:begin wrapped client
	api := openai.NewClient(option.WithBaseURL(baseURL), option.WithAPIKey(key)) // the one you have
	ctx = routing.NewContext(ctx, routing.NewSession(routing.NewID()))

	// Either keep its calls and let them carry the session of ctx, or fail:
	transport := &routing.Transport{Missing: routing.MissingRefuse}
	routed := openai.NewClient(append(api.Options, option.WithMiddleware(transport.Middleware))...)
	completion, err := routed.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{
		Model: "qwen3-coder", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hi")},
	})
	if err != nil {
		return err
	}
	fmt.Println(completion.Choices[0].Message.Content)

	// Or have trajectories, one retry layer and typed errors on top of its settings:
	client, err := model.Wrap(api, model.Config{Model: "qwen3-coder"})
	if err != nil {
		return err
	}
	agent := model.NewTrajectory(client, routing.NewSession(routing.NewID())) // its session wins over that of ctx
	answer, err := agent.Send(ctx, model.User("hi"))
	// readme:end
	if err != nil {
		return err
	}
	fmt.Println(answer.Text)
	return nil
}

// tool stands for an evaluation tool that takes an http.Client.
type tool struct{ HTTPClient *http.Client }

func (t tool) Evaluate(ctx context.Context, url string) error {
	for range 3 {
		body := strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/chat/completions", body)
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := t.HTTPClient.Do(req)
		if err != nil {
			return err
		}
		if err := res.Body.Close(); err != nil {
			return err
		}
	}
	return nil
}

func Example_otherTool() {
	c := cluster(nil)
	defer c.Close()
	err := otherTool(context.Background(), tool{}, c.URL())
	fmt.Println(err)
	// Output:
	// 3 requests, 0 mismatches, stuck
	// <nil>
}

func otherTool(ctx context.Context, tool tool, baseURL string) error {
	// readme:begin other tool
	carrier, err := routing.Header("X-Session-ID") // or the names that your router hashes
	if err != nil {
		return err
	}
	audit := new(routing.Audit)
	tool.HTTPClient = &http.Client{Transport: &routing.Transport{
		Carrier: carrier,
		Missing: routing.MissingRefuse, // a request without a session is an error
		Audit:   audit,
	}}

	session := routing.NewSession(routing.NewID())
	if err := tool.Evaluate(routing.NewContext(ctx, session), baseURL); err != nil {
		return err
	}

	report, _ := audit.Session(session.ID)
	fmt.Printf("%d requests, %d mismatches, %v\n", report.Requests, report.Mismatches, report.Verdict())
	// readme:end
	tool.HTTPClient.CloseIdleConnections()
	return nil
}

func Example_score() {
	folder, err := os.MkdirTemp("", "score")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	fmt.Println(score(context.Background(), folder, service.RunnerFunc(func(_ context.Context, job service.Job) (json.RawMessage, error) {
		fmt.Println(job.Request.RoutingHeaders)
		return json.RawMessage(`{"submitted_instances": 1, "resolved_instances": 1}`), nil
	})))
	// Output:
	// [X-Session-ID]
	// 1 true []
	// <nil>
}

func score(ctx context.Context, folder string, runner service.Runner) error {
	// readme:begin score
	handler, err := service.New(service.Config{ArtifactRoot: folder + "/runs", AuthToken: "token", Runner: runner})
	if err != nil {
		return err
	}
	server := httptest.NewServer(handler) // or service.Serve, with limits and a graceful end

	s, err := scorer.New(scorer.Config{
		ServiceURL: server.URL, AuthToken: "token", DatasetName: "swe_bench", ReportDir: folder + "/report", PollInterval: time.Second,
		Request: swebench.RunRequest{
			ModelName: "qwen3-coder", EndpointURLs: []string{"http://10.0.0.5:8000"}, RoutingHeaders: []string{"X-Session-ID"},
			Subset: "verified", Split: "test", Template: "qwen_tools", NumInstances: 1, Workers: 1, MaxEvalWorkers: 1,
			EvaluatedInstanceIDs: []string{"django__django-16899"},
		},
	})
	if err != nil {
		return err
	}
	entry, err := s.Score(ctx)
	if err != nil {
		return err
	}
	fmt.Println(*entry.Score, entry.Complete, entry.Reasons) // each reason why a score is incomplete
	// readme:end
	server.Close()
	return handler.Close(ctx)
}

func Example_run() {
	if _, err := exec.LookPath("git"); err != nil {
		fmt.Println("1 true 0\n<nil>")
		return // without git nothing can be run
	}
	folder, err := os.MkdirTemp("", "run")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	tasks := runnertest.Tasks()[:1]
	set, err := runnertest.Write(folder, tasks...)
	if err != nil {
		panic(err)
	}
	c := cluster(runnertest.Model(tasks...))
	defer c.Close()
	fmt.Println(run(context.Background(), set.Dataset, c.URL(), folder+"/out"))
	// Output:
	// 1 true 0
	// <nil>
}

func run(ctx context.Context, rows, url, folder string) error {
	// readme:begin run
	cfg, endpoint, err := runner.Setup{
		Dataset: rows, BaseURL: url, Model: "qwen3-coder", Templates: []string{"qwen_tools"},
		Sandbox: "local", Harness: "native", Workers: 4, Out: folder,
	}.Open(ctx)
	if err != nil {
		return err
	}
	defer endpoint.CloseIdleConnections()
	result, err := runner.Run(ctx, cfg) // cfg is yours to change: the client, the limits, what hears of progress
	if err != nil {
		return err
	}
	fmt.Println(*result.Score, result.Complete, result.Routing.Mismatches)
	// readme:end
	return nil
}
