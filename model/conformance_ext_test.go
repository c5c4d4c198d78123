package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/model/modeltest"
	"github.com/homing-go/homing/routing"
)

func TestNewConforms(t *testing.T) {
	t.Parallel()
	modeltest.Conformance(t, func(t *testing.T, url string, c routing.Carrier) model.Client {
		return open(t, model.Config{BaseURL: url, Carrier: c})
	})
}

func TestWrapConforms(t *testing.T) {
	t.Parallel()
	modeltest.Conformance(t, func(t *testing.T, url string, c routing.Carrier) model.Client {
		pool := &http.Transport{MaxIdleConnsPerHost: 64}
		t.Cleanup(pool.CloseIdleConnections)
		api := openai.NewClient(option.WithBaseURL(url), option.WithAPIKey("key"), option.WithHTTPClient(&http.Client{Transport: pool}))
		b, err := model.Wrap(api, model.Config{Model: "m", Carrier: c, Retry: quick})
		require.NoError(t, err)
		return b
	})
}

// The SDK's default client has its own transport and its own number of retries.
func TestWrapConformsWithDefaults(t *testing.T) {
	t.Parallel()
	modeltest.Conformance(t, func(t *testing.T, url string, c routing.Carrier) model.Client {
		b, err := model.Wrap(openai.NewClient(option.WithBaseURL(url), option.WithAPIKey("key")), model.Config{Model: "m", Carrier: c, Retry: quick})
		require.NoError(t, err)
		return b
	})
}

func open(t *testing.T, cfg model.Config) *model.Base {
	t.Helper()
	cfg.Model, cfg.Retry = "m", quick
	b, err := model.New(cfg)
	require.NoError(t, err)
	t.Cleanup(b.CloseIdleConnections)
	return b
}

// polite is a decorator: it knows nothing of sessions and forwards the rest.
type polite struct{ model.Client }

func (p polite) Generate(ctx context.Context, req *model.Request) (*model.Response, error) {
	return p.Client.Generate(ctx, please(req))
}

func (p polite) Stream(ctx context.Context, req *model.Request) *model.Stream {
	return p.Client.Stream(ctx, please(req))
}

func please(req *model.Request) *model.Request {
	polite := *req
	polite.Extra = map[string]json.RawMessage{"user": json.RawMessage(`"please"`)}
	return &polite
}

func TestDecoratorConforms(t *testing.T) {
	t.Parallel()
	modeltest.Conformance(t, func(t *testing.T, url string, c routing.Carrier) model.Client {
		return polite{open(t, model.Config{BaseURL: url, Carrier: c})}
	})
}

// embedder is a client type with a method of its own, for an endpoint that Base does
// not know.
type embedder struct{ *model.Base }

func (e embedder) Embed(ctx context.Context, text string) ([]float64, error) {
	api := e.API()
	res, err := api.Embeddings.New(ctx, openai.EmbeddingNewParams{
		Model: "e", Input: openai.EmbeddingNewParamsInputUnion{OfString: openai.String(text)},
	})
	if err != nil {
		return nil, err
	}
	if len(res.Data) == 0 {
		return nil, errors.New("no embedding")
	}
	return res.Data[0].Embedding, nil
}

func TestEmbeddingTypeConforms(t *testing.T) {
	t.Parallel()
	modeltest.Conformance(t, func(t *testing.T, url string, c routing.Carrier) model.Client {
		own := &http.Client{Transport: &http.Transport{}} // the caller's, with a small pool
		return embedder{open(t, model.Config{BaseURL: url, Carrier: c, APIKey: "key", HTTPClient: own})}
	})
}

func TestOwnMethodCarriesSession(t *testing.T) {
	t.Parallel()
	embedding := modeltest.Status(200, nil, `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.5,1]}],"model":"e"}`)
	s := modeltest.NewServer(t, embedding, modeltest.Status(500, nil, "{}"), modeltest.Reset(), embedding, embedding)
	e := embedder{open(t, model.Config{BaseURL: s.URL()})}
	embed := func(ctx context.Context) {
		t.Helper()
		got, err := e.Embed(ctx, "text")
		require.NoError(t, err)
		require.Equal(t, []float64{0.5, 1}, got)
	}
	embed(routed())
	embed(routed()) // with two retries
	_, err := e.Embed(t.Context(), "text")
	require.ErrorIs(t, err, routing.ErrNoSession)
	require.Len(t, s.Requests(), 4, "nothing is sent without a session")
	embed(routing.Without(routed()))

	for i, r := range s.Requests() {
		require.Equal(t, "POST /v1/embeddings", r.String())
		require.Equal(t, s.Requests()[0].Body, r.Body)
		want := []string{"X-Session-ID: " + string(testID)}
		if i == 4 {
			want = nil
		}
		require.Equal(t, want, r.Named("X-Session-ID"), "request %d", i+1)
	}
}

// thinker is a dialect of a user: it asks for an effort, and its model sends its
// thoughts in a member of another name.
type thinker struct {
	model.OpenAI
	effort string
}

func (d thinker) AppendTail(dst []byte, req *model.Request) ([]byte, error) {
	dst, err := d.OpenAI.AppendTail(dst, req)
	if err != nil {
		return dst, err
	}
	effort, err := json.Marshal(d.effort)
	return model.AppendMember(dst, "effort", effort), err
}

func (d thinker) NewReader(req *model.Request) model.Reader {
	return &thoughts{Reader: d.OpenAI.NewReader(req)}
}

type thoughts struct {
	model.Reader
	text strings.Builder
}

func (r *thoughts) take(raw json.RawMessage) (string, error) {
	var m struct{ Thoughts string }
	err := json.Unmarshal(raw, &m)
	r.text.WriteString(m.Thoughts)
	return m.Thoughts, err
}

func (r *thoughts) Message(raw json.RawMessage) error {
	_, err := r.take(raw)
	return errors.Join(err, r.Reader.Message(raw))
}

func (r *thoughts) Delta(raw json.RawMessage, emit func(model.Event) bool) error {
	text, err := r.take(raw)
	if err != nil || text != "" && !emit(model.Event{Kind: model.EventReasoning, Text: text}) {
		return err
	}
	return r.Reader.Delta(raw, emit)
}

func (r *thoughts) Finish(reason string, done bool) (*model.Response, error) {
	res, err := r.Reader.Finish(reason, done)
	if err == nil {
		res.Reasoning = r.text.String()
	}
	return res, err
}

func TestDialectOfAUser(t *testing.T) {
	t.Parallel()
	message := json.RawMessage(`{"role":"assistant","thoughts":"first things first","content":"here it is"}`)
	s := modeltest.NewServer(t, modeltest.Truncate(0), modeltest.Message(message), modeltest.Status(503, nil, ""), modeltest.Message(message))
	b := open(t, model.Config{BaseURL: s.URL(), Dialect: thinker{effort: "high"}})
	temperature := 0.0
	run := model.NewTrajectory(b, routing.NewSession(testID))
	run.Params.Temperature = &temperature

	stream := run.Stream(t.Context(), model.User("one"))
	seen := map[model.EventKind]string{}
	for event, err := range stream.Events() {
		require.NoError(t, err)
		seen[event.Kind] += event.Text
	}
	require.Equal(t, map[model.EventKind]string{model.EventReasoning: "first things first", model.EventText: "here it is"}, seen)
	res, err := stream.Response()
	require.NoError(t, err)
	require.Equal(t, "first things first", res.Reasoning)
	require.Equal(t, "here it is", res.Text)

	res, err = run.Send(t.Context(), model.User("two"))
	require.NoError(t, err)
	require.Equal(t, "first things first", res.Reasoning)
	require.Equal(t, "here it is", res.Text)
	require.Equal(t, string(message), string(res.Message.JSON()))

	for _, r := range s.Requests() {
		var body struct {
			Effort      string
			Temperature *float64
			Model       string
		}
		require.NoError(t, json.Unmarshal(r.Body, &body))
		require.Equal(t, "high", body.Effort)
		require.Equal(t, &temperature, body.Temperature)
		require.Equal(t, "m", body.Model)
		require.Equal(t, []string{"X-Session-ID: " + string(testID)}, r.Named("X-Session-ID"))
	}
}

func TestDialectOfAUserConforms(t *testing.T) {
	t.Parallel()
	modeltest.Conformance(t, func(t *testing.T, url string, c routing.Carrier) model.Client {
		return open(t, model.Config{BaseURL: url, Carrier: c, Dialect: thinker{effort: "low"}})
	})
}
