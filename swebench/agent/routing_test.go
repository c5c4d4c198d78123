package agent_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/model/modeltest"
	"github.com/homing-go/homing/qwen"
	"github.com/homing-go/homing/routing"
	"github.com/homing-go/homing/swebench/agent"
	"github.com/stretchr/testify/require"
)

var hex32 = regexp.MustCompile(`^[0-9a-f]{32}$`)

// A trajectory of three steps with the default template carries one value of 32 hex digits
// under every name, on all of its requests.
func TestCase163_EveryRequestCarriesTheSession(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	server := modeltest.NewServer(t, bash("true"), bash("true"), bash(handIn))
	carrier, err := routing.Header("X-Session-ID", "x-ROUTE-me")
	require.NoError(t, err)
	client, err := model.New(model.Config{BaseURL: server.URL(), Model: "m", Carrier: carrier, Retry: fast()})
	require.NoError(t, err)
	t.Cleanup(client.CloseIdleConnections)
	cfg := r.config(server.URL())
	cfg.Client = client
	outcome := run(t, cfg, r.task())
	require.Equal(t, agent.Submitted, outcome.ExitStatus)
	require.Regexp(t, hex32, string(outcome.Session.ID))
	require.Len(t, server.Requests(), 3)
	oneSession(t, server.Requests(), "X-Session-ID", outcome.Session.ID)
	oneSession(t, server.Requests(), "x-ROUTE-me", outcome.Session.ID)
	for _, req := range server.Requests() {
		var body struct{ Tools []json.RawMessage }
		require.NoError(t, json.Unmarshal(req.Body, &body))
		require.Len(t, body.Tools, 1)
		require.Contains(t, string(body.Tools[0]), `"name":"bash"`)
	}
}

// With an empty list of names no request carries a header, and nothing else changes.
func TestNoNames(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	none, err := routing.Header()
	require.NoError(t, err)
	var bodies []string
	for _, carrier := range []routing.Carrier{none, nil} {
		server := modeltest.NewServer(t, bash(handIn))
		client, err := model.New(model.Config{BaseURL: server.URL(), Model: "m", Carrier: carrier, Retry: fast()})
		require.NoError(t, err)
		t.Cleanup(client.CloseIdleConnections)
		cfg := r.config(server.URL())
		cfg.Client = client
		outcome := run(t, cfg, r.task())
		require.Equal(t, agent.Submitted, outcome.ExitStatus)
		request := server.Requests()[0]
		if carrier == nil {
			oneSession(t, server.Requests(), "X-Session-ID", outcome.Session.ID)
		} else {
			require.NotContains(t, strings.Join(request.Lines, "\n"), string(outcome.Session.ID))
		}
		require.NotContains(t, string(request.Body), string(outcome.Session.ID))
		bodies = append(bodies, string(request.Body))
	}
	require.Equal(t, bodies[0], bodies[1])
}

// With the Qwen template and its real client the headers arrive together with the three tool
// schemas.
func TestCase164_QwenTools(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	server := modeltest.NewServer(t, bash("echo x > a"), finish("a"))
	cfg := r.config(server.URL())
	cfg.Template = agent.QwenTools()
	outcome := run(t, cfg, r.task())
	require.Equal(t, agent.Submitted, outcome.ExitStatus)
	oneSession(t, server.Requests(), "X-Session-ID", outcome.Session.ID)
	for _, req := range server.Requests() {
		var body struct {
			Tools    []struct{ Function struct{ Name string } }
			Parallel bool `json:"parallel_tool_calls"`
		}
		require.NoError(t, json.Unmarshal(req.Body, &body))
		require.Len(t, body.Tools, 3)
		require.Equal(t, "bash finish str_replace_editor", body.Tools[0].Function.Name+" "+body.Tools[1].Function.Name+" "+body.Tools[2].Function.Name)
		require.True(t, body.Parallel)
	}
}

// A format error followed by a good step leaves the value as it is.
func TestCase166_FormatErrorKeepsTheSession(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	server := modeltest.NewServer(t, modeltest.Reply("words"), modeltest.ToolCall("bash", `{`), bash(handIn))
	outcome := run(t, r.config(server.URL()), r.task())
	require.Equal(t, agent.Submitted, outcome.ExitStatus)
	require.Len(t, server.Requests(), 3)
	oneSession(t, server.Requests(), "X-Session-ID", outcome.Session.ID)
}

// A streamed request that is cut and sent again carries the same value both times.
func TestCase167_CutStream(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	server := modeltest.NewServer(t, modeltest.Break(3), bash(handIn))
	client, err := qwen.New(qwen.Config{Config: model.Config{
		BaseURL: server.URL(), Model: "m", Retry: model.Retry{MinWait: fast().MinWait, MaxWait: fast().MaxWait, Resend: true},
	}})
	require.NoError(t, err)
	t.Cleanup(client.CloseIdleConnections)
	cfg := r.config(server.URL())
	cfg.Client, cfg.Stream = client, true
	outcome := run(t, cfg, r.task())
	require.Equal(t, agent.Submitted, outcome.ExitStatus)
	require.Equal(t, 1, outcome.Calls)
	requests := server.Requests()
	require.Len(t, requests, 2)
	require.Contains(t, string(requests[0].Body), `"stream":true`)
	require.Equal(t, requests[0].Body, requests[1].Body)
	oneSession(t, requests, "X-Session-ID", outcome.Session.ID)
}

// An instance that is executed again after an infrastructure failure has another value.
func TestCase169_AnotherExecutionIsAnotherSession(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	server := modeltest.NewServer(t, bash("true"), modeltest.Status(401, nil, `{}`), bash(handIn), bash(handIn))
	cfg := r.config(server.URL())
	cfg.Session = routing.NewSession(routing.Derive("run", "pkg__pkg-1", "1"))
	require.Equal(t, agent.EndpointFailed, run(t, cfg, r.task()).ExitStatus)
	again := r.config(server.URL())
	again.Session = routing.NewSession(routing.Derive("run", "pkg__pkg-1", "2"))
	require.Equal(t, agent.Submitted, run(t, again, r.task()).ExitStatus)
	random := run(t, r.config(server.URL()), r.task())
	requests := server.Requests()
	oneSession(t, requests[:2], "X-Session-ID", cfg.Session.ID)
	oneSession(t, requests[2:3], "X-Session-ID", again.Session.ID)
	oneSession(t, requests[3:], "X-Session-ID", random.Session.ID)
	require.NotEqual(t, cfg.Session.ID, again.Session.ID)
	require.NotEqual(t, again.Session.ID, random.Session.ID)
}

// Headers that the user configured arrive beside those of the session, which win where the
// names are equal in any case.
func TestCase170_ExtraHeaders(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	server := modeltest.NewServer(t, bash(handIn))
	template := agent.Default()
	template.Headers = map[string]string{"x-session-id": "mine", "X-Team": "blue", "authorization": "mine"}
	client, err := qwen.New(qwen.Config{Config: model.Config{
		BaseURL: server.URL(), APIKey: apiKey, Model: "m", Retry: fast(), HTTPClient: &http.Client{Transport: template.Transport(nil)},
	}})
	require.NoError(t, err)
	t.Cleanup(client.CloseIdleConnections)
	cfg := r.config(server.URL())
	cfg.Client = client
	outcome := run(t, cfg, r.task())
	require.Equal(t, agent.Submitted, outcome.ExitStatus)
	oneSession(t, server.Requests(), "X-Session-ID", outcome.Session.ID)
	require.Equal(t, []string{"X-Team: blue"}, linesOf(server.Requests()[0], "X-Team"))
	require.Equal(t, []string{"Authorization: Bearer " + apiKey}, linesOf(server.Requests()[0], "Authorization"))
}

// A finished trajectory file records the names and the value of the session, and the key of
// the endpoint is nowhere in it.
func TestCase172_TrajectoryFile(t *testing.T) {
	t.Parallel()
	r := newRepo(t, "a.txt", "1\n")
	server := modeltest.NewServer(t, modeltest.Reply("words"), calls("bash", `{"command":"echo '<b>' > a.txt; printf 'x\\n'"}`, "bash", `{"command":"false"}`), bash(handIn))
	cfg := r.config(server.URL())
	cfg.Model, cfg.Headers = "Qwen/Qwen3-8B", []string{"X-Session-ID", "X-Other"}
	outcome := run(t, cfg, r.task())
	require.Equal(t, []string{"Authorization: Bearer " + apiKey}, linesOf(server.Requests()[0], "Authorization"))
	var file bytes.Buffer
	require.NoError(t, agent.WriteTrajectory(&file, steps(cfg)))
	require.NotContains(t, file.String(), apiKey)
	require.Contains(t, file.String(), "\n  \"info\": {\n", "indented by two")
	require.Contains(t, file.String(), "echo '<b>'")
	var got struct {
		Info struct {
			Stats struct {
				Calls int     `json:"api_calls"`
				Cost  float64 `json:"instance_cost"`
			} `json:"model_stats"`
			Config struct {
				Model struct {
					Name    string   `json:"model_name"`
					Headers []string `json:"routing_headers"`
					Kwargs  struct {
						Headers map[string]string `json:"extra_headers"`
					} `json:"model_kwargs"`
				}
				Agent       map[string]any
				Environment map[string]any
			}
			Version    string `json:"mini_version"`
			Exit       string `json:"exit_status"`
			Submission string
		}
		Messages []struct {
			Role   string
			CallID string `json:"tool_call_id"`
			Extra  map[string]any
		}
		Format string `json:"trajectory_format"`
		ID     string `json:"instance_id"`
	}
	require.NoError(t, json.Unmarshal(file.Bytes(), &got))
	require.Equal(t, "mini-swe-agent-1.1", got.Format)
	require.Equal(t, "pkg__pkg-1", got.ID)
	require.Equal(t, "Submitted", got.Info.Exit)
	require.Equal(t, string(outcome.Submission), got.Info.Submission)
	require.Equal(t, 3, got.Info.Stats.Calls)
	id := string(outcome.Session.ID)
	require.Equal(t, "Qwen/Qwen3-8B", got.Info.Config.Model.Name)
	require.Equal(t, cfg.Headers, got.Info.Config.Model.Headers)
	require.Equal(t, map[string]string{"X-Session-ID": id, "X-Other": id}, got.Info.Config.Model.Kwargs.Headers)
	var roles []string
	for _, m := range got.Messages {
		roles = append(roles, m.Role)
	}
	require.Equal(t, "system user user assistant tool tool assistant tool exit", strings.Join(roles, " "))
	require.Equal(t, "FormatError", got.Messages[2].Extra["interrupt_type"])
	require.Contains(t, quote(got.Messages[2].Extra["response"]), "words")
	require.Contains(t, quote(got.Messages[3].Extra["actions"]), `"tool_call_id":"c0"`)
	require.Equal(t, "x\n", got.Messages[4].Extra["raw_output"])
	require.InDelta(t, 1, got.Messages[5].Extra["returncode"], 0)
	require.Equal(t, "Submitted", got.Messages[8].Extra["exit_status"])

	// Without names there are none.
	cfg = r.config(server.URL())
	server = modeltest.NewServer(t, bash(handIn))
	cfg.Client = qwenClient(t, server.URL())
	run(t, cfg, r.task())
	file.Reset()
	require.NoError(t, agent.WriteTrajectory(&file, steps(cfg)))
	require.Contains(t, file.String(), `"routing_headers": []`)
	require.NotContains(t, file.String(), "extra_headers")
}
