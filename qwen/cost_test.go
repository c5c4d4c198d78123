package qwen_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/qwen"
	"github.com/homing-go/homing/routing"
	"github.com/stretchr/testify/require"
)

// canned answers every request with the same body.
type canned string

func (c canned) RoundTrip(req *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, req.Body)
	_ = req.Body.Close()
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Request: req,
		Body: io.NopCloser(strings.NewReader(string(c))), ContentLength: int64(len(c)),
	}, nil
}

const plainTurn = `{"choices":[{"index":0,"message":{"role":"assistant","content":"I look at the tree.","reasoning_content":"First the tree, then the file that the report names.",` +
	`"tool_calls":[{"id":"call_1","type":"function","function":{"name":"bash","arguments":"{\"command\": \"git status --short && ls -la\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":9,"completion_tokens":3}}`

// turnOf returns a function that sends one turn of a history of some messages.
func turnOf(tb testing.TB, client model.Client) func() {
	tb.Helper()
	history := model.NewTranscript(model.System("You fix bugs."), model.User(strings.Repeat("The task. ", 100)))
	for range 10 {
		history.Append(model.Assistant("", model.ToolCall{ID: "c", Name: "bash", Arguments: []byte(`{"command":"ls"}`)}), model.ToolResult("c", strings.Repeat("a.py\n", 50)))
	}
	req := &model.Request{Messages: history.Snapshot(), Tools: qwen.Toolset{}.Tools()}
	ctx := routing.NewContext(context.Background(), routing.NewSession(routing.NewID()))
	return func() {
		if _, err := client.Generate(ctx, req); err != nil {
			tb.Fatal(err)
		}
	}
}

func bothClients(tb testing.TB) (base, dialect model.Client) {
	tb.Helper()
	cfg := model.Config{BaseURL: "http://localhost/v1", Model: "qwen", HTTPClient: &http.Client{Transport: canned(plainTurn)}}
	b, err := model.New(cfg)
	require.NoError(tb, err)
	q, err := qwen.New(qwen.Config{Config: cfg})
	require.NoError(tb, err)
	return b, q
}

// A plain turn through the Qwen client makes at most a tenth more allocations than through
// the plain one.
func TestTurnAllocations(t *testing.T) {
	if underRace {
		t.Skip("the race detector allocates")
	}
	base, dialect := bothClients(t)
	a, b := testing.AllocsPerRun(200, turnOf(t, base)), testing.AllocsPerRun(200, turnOf(t, dialect))
	t.Logf("%v allocations through model, %v through qwen", a, b)
	require.LessOrEqual(t, b, a*1.1)
}

func BenchmarkTurn(b *testing.B) {
	base, dialect := bothClients(b)
	for name, client := range map[string]model.Client{"model": base, "qwen": dialect} {
		b.Run(name, func(b *testing.B) {
			turn := turnOf(b, client)
			b.ReportAllocs()
			for b.Loop() {
				turn()
			}
		})
	}
}
