package qwen_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/qwen"
	"github.com/homing-go/homing/routing"
	"github.com/stretchr/testify/require"
)

// A wire is a loopback server that answers with one body and keeps what it was sent.
type wire struct {
	client *qwen.Client
	mu     sync.Mutex
	body   []byte
	header http.Header
}

func newWire(t *testing.T, cfg qwen.Config, status int, contentType, body string) *wire {
	t.Helper()
	w := new(wire)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		received, _ := io.ReadAll(r.Body)
		w.mu.Lock()
		w.body, w.header = received, r.Header.Clone()
		w.mu.Unlock()
		rw.Header().Set("Content-Type", contentType)
		rw.WriteHeader(status)
		_, _ = io.WriteString(rw, body)
	}))
	t.Cleanup(server.Close)
	cfg.BaseURL, cfg.Model, cfg.Retry.Max = server.URL+"/v1", "qwen", -1
	client, err := qwen.New(cfg)
	require.NoError(t, err)
	t.Cleanup(client.CloseIdleConnections)
	w.client = client
	return w
}

func session(t *testing.T) context.Context {
	return routing.NewContext(t.Context(), routing.NewSession(routing.NewID()))
}

// stream sends a request and reads the stream to its end.
func (w *wire) stream(t *testing.T, req *model.Request) outcome {
	t.Helper()
	var shown strings.Builder
	s := w.client.Stream(session(t), req)
	for event, err := range s.Events() {
		if err == nil && event.Kind == model.EventText {
			shown.WriteString(event.Text)
		}
	}
	res, err := s.Response()
	return outcome{res: res, err: err, shown: shown.String()}
}

func runRawStreamCase(t *testing.T, c oneCase, tools map[string]*model.Tools) {
	var input struct {
		RawSSE   string `json:"raw_sse"`
		Tools    string `json:"tools"`
		Thinking string `json:"thinking"`
	}
	strict(t, c.Input, &input)
	require.Contains(t, tools, input.Tools)
	req := &model.Request{Tools: tools[input.Tools], Messages: userTurn().Snapshot()}
	w := newWire(t, qwen.Config{Options: optionsFor(t, input.Thinking)}, 200, "text/event-stream", input.RawSSE)
	checkAnswer(t, c, req.Tools, w.stream(t, req))
}

func runHTTPCase(t *testing.T, c oneCase, tools map[string]*model.Tools) {
	var input struct {
		HTTP struct {
			Status int             `json:"status"`
			Body   json.RawMessage `json:"body"`
		} `json:"http"`
		Tools string `json:"tools"`
	}
	strict(t, c.Input, &input)
	require.Contains(t, tools, input.Tools)
	var want struct {
		ToolCalls []json.RawMessage `json:"tool_calls"`
		Content   string            `json:"content"`
		Error     nullable[string]  `json:"error"`
		Retry     bool              `json:"retry_same_request"`
	}
	strict(t, c.Expect, &want)
	require.Empty(t, want.ToolCalls)
	require.Empty(t, want.Content)
	body := string(input.HTTP.Body)
	contentType := "application/json"
	if strings.HasPrefix(body, `"`) {
		body, contentType = text(t, input.HTTP.Body), "text/plain"
	}
	w := newWire(t, qwen.Config{}, input.HTTP.Status, contentType, body)
	req := &model.Request{Tools: tools[input.Tools], Messages: userTurn().Snapshot()}
	_, err := w.client.Generate(session(t), req)
	require.Error(t, err)
	require.Equal(t, want.Error.value, string(qwen.KindOf(err)), "%v", err)
	require.Equal(t, want.Retry, qwen.KindOf(err).Retryable())
}

// requestOptions are the client options of a case; each is what the member of the request
// is called, or where it comes from.
type requestOptions struct {
	Server           string                     `json:"server"`
	EnableThinking   *bool                      `json:"enable_thinking"`
	PreserveThinking *bool                      `json:"preserve_thinking"`
	ThinkingBudget   *int                       `json:"thinking_budget"`
	ReasoningEffort  string                     `json:"reasoning_effort"`
	Temperature      *float64                   `json:"temperature"`
	TopP             *float64                   `json:"top_p"`
	TopK             *int                       `json:"top_k"`
	MinP             *float64                   `json:"min_p"`
	Seed             *int64                     `json:"seed"`
	MaxTokens        *int                       `json:"max_tokens"`
	MaxNewTokens     *int                       `json:"max_new_tokens"`
	Presence         *float64                   `json:"presence_penalty"`
	Frequency        *float64                   `json:"frequency_penalty"`
	Repetition       *float64                   `json:"repetition_penalty"`
	Stop             []string                   `json:"stop"`
	Stream           bool                       `json:"stream"`
	Profile          string                     `json:"profile"`
	SessionID        string                     `json:"session_id"`
	ConversationID   string                     `json:"conversation_id"`
	RoutingHeaders   *[]string                  `json:"routing_headers"`
	HeaderNames      *[]string                  `json:"header_names"`
	APIKey           string                     `json:"api_key"`
	ToolChoice       json.RawMessage            `json:"tool_choice"`
	Parallel         json.RawMessage            `json:"parallel_tool_calls"`
	Kwargs           json.RawMessage            `json:"chat_template_kwargs"`
	Extra            map[string]json.RawMessage `json:"extra"`
	ExtraBody        map[string]json.RawMessage `json:"extra_body"`
	Tools            []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"tools"`
}

func (o *requestOptions) config(t *testing.T) qwen.Config {
	t.Helper()
	var cfg qwen.Config
	if o.Profile != "" {
		options, err := qwen.Profile(o.Profile)
		require.NoError(t, err)
		cfg.Options = options
	}
	cfg.Server, cfg.APIKey = qwen.Server(o.Server), o.APIKey
	cfg.EnableThinking, cfg.PreserveThinking = o.EnableThinking, o.PreserveThinking
	cfg.ThinkingBudget, cfg.ReasoningEffort = o.ThinkingBudget, o.ReasoningEffort
	for _, names := range []*[]string{o.RoutingHeaders, o.HeaderNames} {
		if names != nil {
			cfg.Carrier = must(routing.Header(*names...))
		}
	}
	return cfg
}

func (o *requestOptions) request(t *testing.T) *model.Request {
	t.Helper()
	req := &model.Request{Messages: userTurn().Snapshot(), Extra: map[string]json.RawMessage{}, Params: model.Params{
		Temperature: o.Temperature, TopP: o.TopP, TopK: o.TopK, MinP: o.MinP, Seed: o.Seed, MaxTokens: o.MaxTokens,
		PresencePenalty: o.Presence, FrequencyPenalty: o.Frequency, RepetitionPenalty: o.Repetition, Stop: o.Stop,
	}}
	if o.MaxNewTokens != nil {
		req.Params.MaxTokens = o.MaxNewTokens
	}
	for _, extra := range []map[string]json.RawMessage{o.Extra, o.ExtraBody} {
		for name, value := range extra {
			req.Extra[name] = value
		}
	}
	for name, value := range map[string]json.RawMessage{
		"tool_choice": o.ToolChoice, "parallel_tool_calls": o.Parallel, "chat_template_kwargs": o.Kwargs,
	} {
		if value != nil && string(value) != "null" {
			req.Extra[name] = value
		}
	}
	var defs []model.ToolDef
	for _, tool := range o.Tools {
		if string(tool.Parameters) == "null" {
			tool.Parameters = nil
		}
		defs = append(defs, model.ToolDef{Name: tool.Name, Description: tool.Description, Parameters: tool.Parameters})
	}
	if defs != nil {
		req.Tools = must(model.NewTools(defs...))
	}
	return req
}

func runRequestCase(t *testing.T, c oneCase, _ map[string]*model.Tools) {
	var input struct {
		Options requestOptions `json:"options"`
	}
	strict(t, c.Input, &input)
	var want struct {
		Body    map[string]json.RawMessage `json:"body"`
		Headers map[string]string          `json:"headers"`
		Absent  []string                   `json:"absent"`
		Error   nullable[string]           `json:"error"`
	}
	strict(t, c.Expect, &want)
	o := &input.Options
	ctx := session(t)
	if id := o.SessionID + o.ConversationID; id != "" {
		ctx = routing.NewContext(t.Context(), routing.NewSession(must(routing.ParseID(id))))
	}
	const answer = `{"choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`
	w := newWire(t, o.config(t), 200, "application/json", answer)
	var err error
	if o.Stream {
		_, err = w.client.Stream(ctx, o.request(t)).Response()
	} else {
		_, err = w.client.Generate(ctx, o.request(t))
	}
	if want.Error.value != "" {
		require.Error(t, err)
		return
	}
	require.NoError(t, err)
	var body map[string]json.RawMessage
	require.NoError(t, json.NewDecoder(bytes.NewReader(w.body)).Decode(&body))
	for name, value := range want.Body {
		require.Contains(t, body, name)
		sameJSON(t, value, body[name], name)
	}
	for _, name := range append(want.Absent, "extra_body") {
		require.NotContains(t, body, name)
	}
	for name, value := range want.Headers {
		require.Equal(t, []string{value}, w.header.Values(name), name)
	}
	allowed := map[string]bool{"model": true, "messages": true, "stream": true, "stream_options": true}
	for name := range body {
		asked := bytes.Contains(c.Input, []byte(`"`+name+`"`)) || name == "chat_template_kwargs" || o.Profile != ""
		require.True(t, allowed[name] || asked, "%s was sent and not asked for", name)
	}
}
