package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/qwen"
	"github.com/homing-go/homing/routing"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	goopenai "github.com/sashabaranov/go-openai"
)

// body is what messages hold: about 1 KB with quotes and newlines.
var text = strings.Repeat("The file \"a.go\" has\nlines; ", 38)

const (
	toolName   = "bash"
	toolSchema = `{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`
)

var arguments = func() string {
	b, _ := json.Marshal(map[string]string{"command": text})
	return string(b)
}()

// A peer sends one turn with a history of n messages below a path of the server, or reads
// one stream. What it returns may be called from many goroutines.
type peer struct {
	name   string
	turn   func(b *testing.B, path string, n int) func() error
	stream func(b *testing.B, kind string) func() error
}

func peers() []peer {
	return []peer{
		{"homing", turnOf(baseClient), streamOf(baseClient)},
		{"qwen", turnOf(qwenClient), streamOf(qwenClient)},
		{"openai-go", openaiTurn, openaiStream},
		{"go-openai", goopenaiTurn, goopenaiStream},
		{"floor", floorTurn, floorStream},
	}
}

// poolOf gives all clients the same pool of connections, so that the rest of them is
// compared; only where connections are counted has each its own.
func poolOf(base string) *http.Client {
	if strings.HasSuffix(base, "/slow") {
		return nil
	}
	return &http.Client{Transport: model.NewTransport()}
}

// baseClient is the plain client, qwenClient the one for Qwen models.
func baseClient(b *testing.B, path string) model.Client {
	client, err := model.New(model.Config{BaseURL: serverURL + path, Model: "m"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(client.CloseIdleConnections)
	return client
}

func qwenClient(b *testing.B, path string) model.Client {
	client, err := qwen.New(qwen.Config{Config: model.Config{BaseURL: serverURL + path, Model: "m"}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(client.CloseIdleConnections)
	return client
}

type newClient func(b *testing.B, path string) model.Client

// turnOf: a trajectory whose history has n messages sends one more each time, and goes back
// to n by a fork.
func turnOf(open newClient) func(b *testing.B, path string, n int) func() error {
	return func(b *testing.B, path string, n int) func() error { return homingTurn(b, open(b, path), n) }
}

func homingTurn(b *testing.B, client model.Client, n int) func() error {
	tools, err := model.NewTools(model.ToolDef{Name: toolName, Description: "Run a command.", Parameters: json.RawMessage(toolSchema)})
	if err != nil {
		b.Fatal(err)
	}
	history := model.NewTranscript(model.System(text))
	for i := 1; i < n; i++ {
		history.Append(homingMessage(i))
	}
	ctx := routing.NewContext(context.Background(), routing.NewSession(routing.NewID()))
	return func() error {
		turn := history.Fork()
		turn.Append(model.User(text))
		res, err := client.Generate(ctx, &model.Request{Messages: turn.Snapshot(), Tools: tools, Params: model.Params{Temperature: new(0.7)}})
		if err == nil && len(res.ToolCalls) != 1 {
			err = errors.New("no tool call")
		}
		return err
	}
}

func homingMessage(i int) model.Message {
	if i%2 == 1 {
		return model.Assistant(text, model.ToolCall{ID: fmt.Sprint("call_", i), Name: toolName, Arguments: json.RawMessage(arguments)})
	}
	return model.ToolResult(fmt.Sprint("call_", i-1), text)
}

func streamOf(open newClient) func(b *testing.B, kind string) func() error {
	return func(b *testing.B, kind string) func() error { return homingStream(open(b, "/"+kind)) }
}

func homingStream(client model.Client) func() error {
	ctx := routing.NewContext(context.Background(), routing.NewSession(routing.NewID()))
	req := &model.Request{Messages: model.NewTranscript(model.User(text)).Snapshot()}
	return func() error {
		stream := client.Stream(ctx, req)
		n := 0
		for _, err := range stream.Events() {
			if err != nil {
				return err
			}
			n++
		}
		if _, err := stream.Response(); err != nil {
			return err
		}
		return expect(n)
	}
}

func expect(n int) error {
	if n < chunks {
		return fmt.Errorf("%d chunks", n)
	}
	return nil
}

func openaiClient(base string) openai.Client {
	opts := []option.RequestOption{option.WithBaseURL(base), option.WithAPIKey("k"), option.WithMaxRetries(0)}
	if pool := poolOf(base); pool != nil {
		opts = append(opts, option.WithHTTPClient(pool))
	}
	return openai.NewClient(opts...)
}

func openaiTurn(_ *testing.B, path string, n int) func() error {
	client := openaiClient(serverURL + path)
	params := openaiParams(n)
	return func() error {
		res, err := client.Chat.Completions.New(context.Background(), params)
		if err == nil && len(res.Choices[0].Message.ToolCalls) != 1 {
			err = errors.New("no tool call")
		}
		return err
	}
}

func openaiParams(n int) openai.ChatCompletionNewParams {
	messages := []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(text)}
	for i := 1; i < n; i++ {
		if i%2 == 1 {
			messages = append(messages, openai.ChatCompletionMessageParamUnion{OfAssistant: &openai.ChatCompletionAssistantMessageParam{
				Content: openai.ChatCompletionAssistantMessageParamContentUnion{OfString: openai.String(text)},
				ToolCalls: []openai.ChatCompletionMessageToolCallUnionParam{{OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
					ID: fmt.Sprint("call_", i), Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: toolName, Arguments: arguments},
				}}},
			}})
		} else {
			messages = append(messages, openai.ToolMessage(text, fmt.Sprint("call_", i-1)))
		}
	}
	messages = append(messages, openai.UserMessage(text))
	var schema openai.FunctionParameters
	_ = json.Unmarshal([]byte(toolSchema), &schema)
	return openai.ChatCompletionNewParams{
		Model: "m", Messages: messages, Temperature: openai.Float(0.7),
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: toolName, Description: openai.String("Run a command."), Parameters: schema})},
	}
}

func openaiStream(_ *testing.B, kind string) func() error {
	client := openaiClient(serverURL + "/" + kind)
	params := openai.ChatCompletionNewParams{Model: "m", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)}}
	return func() error {
		stream := client.Chat.Completions.NewStreaming(context.Background(), params)
		defer stream.Close()
		var all openai.ChatCompletionAccumulator
		n := 0
		for stream.Next() {
			all.AddChunk(stream.Current())
			n++
		}
		if err := stream.Err(); err != nil {
			return err
		}
		return expect(n)
	}
}

func goopenaiClient(base string) *goopenai.Client {
	cfg := goopenai.DefaultConfig("k")
	cfg.BaseURL = base
	if pool := poolOf(base); pool != nil {
		cfg.HTTPClient = pool
	}
	return goopenai.NewClientWithConfig(cfg)
}

func goopenaiTurn(_ *testing.B, path string, n int) func() error {
	client := goopenaiClient(serverURL + path)
	req := goopenaiRequest(n)
	return func() error {
		res, err := client.CreateChatCompletion(context.Background(), req)
		if err == nil && len(res.Choices[0].Message.ToolCalls) != 1 {
			err = errors.New("no tool call")
		}
		return err
	}
}

func goopenaiRequest(n int) goopenai.ChatCompletionRequest {
	messages := []goopenai.ChatCompletionMessage{{Role: "system", Content: text}}
	for i := 1; i < n; i++ {
		if i%2 == 1 {
			messages = append(messages, goopenai.ChatCompletionMessage{Role: "assistant", Content: text, ToolCalls: []goopenai.ToolCall{{
				ID: fmt.Sprint("call_", i), Type: "function", Function: goopenai.FunctionCall{Name: toolName, Arguments: arguments},
			}}})
		} else {
			messages = append(messages, goopenai.ChatCompletionMessage{Role: "tool", Content: text, ToolCallID: fmt.Sprint("call_", i-1)})
		}
	}
	messages = append(messages, goopenai.ChatCompletionMessage{Role: "user", Content: text})
	return goopenai.ChatCompletionRequest{Model: "m", Messages: messages, Temperature: 0.7, Tools: []goopenai.Tool{{
		Type: goopenai.ToolTypeFunction, Function: &goopenai.FunctionDefinition{Name: toolName, Description: "Run a command.", Parameters: json.RawMessage(toolSchema)},
	}}}
}

func goopenaiStream(_ *testing.B, kind string) func() error {
	client := goopenaiClient(serverURL + "/" + kind)
	req := goopenai.ChatCompletionRequest{Model: "m", Messages: []goopenai.ChatCompletionMessage{{Role: "user", Content: text}}}
	return func() error {
		stream, err := client.CreateChatCompletionStream(context.Background(), req)
		if err != nil {
			return err
		}
		defer stream.Close()
		n := 0
		for {
			if _, err := stream.Recv(); errors.Is(err, io.EOF) {
				return expect(n)
			} else if err != nil {
				return err
			}
			n++
		}
	}
}

// floor: net/http and a body that is there already.
func floorTurn(b *testing.B, path string, n int) func() error {
	client := poolOf(serverURL)
	body := []byte(`{"messages":[`)
	history := model.NewTranscript(model.System(text))
	for i := 1; i < n; i++ {
		history.Append(homingMessage(i))
	}
	history.Append(model.User(text))
	for i, m := range history.Snapshot().Messages() {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, m.JSON()...)
	}
	body = append(body, `],"model":"m","tools":[{"type":"function","function":{"name":"bash","description":"Run a command.","parameters":`+toolSchema+`}}],"temperature":0.7}`...)
	if !json.Valid(body) {
		b.Fatal("the floor's body is no JSON")
	}
	return func() error {
		res, err := post(client, serverURL+path+"/chat/completions", body)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		_, err = io.ReadAll(res.Body)
		return err
	}
}

func floorStream(_ *testing.B, kind string) func() error {
	client := poolOf(serverURL)
	body := []byte(`{"messages":[{"role":"user","content":"x"}],"model":"m","stream":true}`)
	return func() error {
		res, err := post(client, serverURL+"/"+kind+"/chat/completions", body)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		n := 0
		lines := bufio.NewReader(res.Body)
		for {
			line, err := lines.ReadSlice('\n')
			if err == io.EOF {
				return expect(n)
			}
			if err != nil {
				return err
			}
			if len(line) > 1 {
				n++
			}
		}
	}
}

func post(client *http.Client, url string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header["X-Session-ID"] = []string{"0123456789abcdef0123456789abcdef"}
	return client.Do(req)
}
