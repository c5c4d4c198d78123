package model_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/routing"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/azure"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"
)

type countingTransport struct {
	base http.RoundTripper
	n    int
}

func (c *countingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	c.n++
	return c.base.RoundTrip(req)
}

type customDoer struct{ n int }

func (d *customDoer) Do(req *http.Request) (*http.Response, error) {
	d.n++
	return http.DefaultClient.Do(req)
}

func TestWrapKeepsWhatTheClientHas(t *testing.T) {
	t.Parallel()
	s, url := serve(t, status(500), answer(okAnswer))
	transport := &countingTransport{base: http.DefaultTransport}
	middleware := 0
	var order []string
	api := openai.NewClient(
		option.WithBaseURL(url+"/v1"), option.WithAPIKey("the-key"), option.WithHeader("X-Custom", "kept"),
		option.WithHTTPClient(&http.Client{Transport: transport}),
		option.WithMiddleware(func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			middleware++
			require.NotNil(t, req.Body, "the body is installed before the caller's middleware")
			require.Empty(t, req.Header["X-Session-ID"], "the session comes below it")
			order = append(order, "middleware")
			return next(req)
		}),
	)
	b, err := model.Wrap(api, model.Config{Model: "m", Retry: quick})
	require.NoError(t, err)
	res, err := b.Generate(routed(), ask("hello"))
	require.NoError(t, err)
	require.Equal(t, "fine", res.Text)
	require.Equal(t, 2, res.Timing.Attempts)
	require.Equal(t, 1, middleware, "retries are below the caller's middleware")
	require.Equal(t, 2, transport.n, "the caller's transport sends every attempt")
	requests := s.requests()
	require.Len(t, requests, 2)
	for _, r := range requests {
		require.Equal(t, "Bearer the-key", r.header.Get("Authorization"))
		require.Equal(t, "kept", r.header.Get("X-Custom"))
		require.Equal(t, []string{string(testID)}, r.header.Values("X-Session-ID"))
		require.Equal(t, requests[0].body, r.body)
	}
}

func TestWrapAzure(t *testing.T) {
	t.Parallel()
	s, url := serve(t, status(503), answer(okAnswer))
	api := openai.NewClient(azure.WithEndpoint(url, "2024-06-01"), azure.WithAPIKey("azure-key"), azure.WithUnsafeAllowHTTP())
	b, err := model.Wrap(api, model.Config{Model: "deployed", Retry: quick})
	require.NoError(t, err)
	res, err := b.Generate(routed(), ask("hello"))
	require.NoError(t, err)
	require.Equal(t, "fine", res.Text)
	requests := s.requests()
	require.Len(t, requests, 2)
	for _, r := range requests {
		require.Equal(t, "azure-key", r.header.Get("Api-Key"))
		require.Empty(t, r.header.Get("Authorization"))
		require.Equal(t, string(testID), r.header.Get("X-Session-ID"))
		require.Equal(t, "/openai/deployments/deployed/chat/completions?api-version=2024-06-01", r.path)
		require.JSONEq(t, `{"messages":[{"role":"user","content":"hello"}],"model":"deployed"}`, r.body)
	}
}

func TestWrapCustomDo(t *testing.T) {
	t.Parallel()
	s, url := serve(t, status(500), events(`{"choices":[{"delta":{"content":"hel"}}]}`, `{"choices":[{"delta":{"content":"lo"},"finish_reason":"stop"}]}`, "[DONE]"))
	doer := new(customDoer)
	b, err := model.Wrap(openai.NewClient(option.WithBaseURL(url), option.WithHTTPClient(doer), option.WithAPIKey("k")), model.Config{Model: "m", Retry: quick})
	require.NoError(t, err)
	res, err := b.Stream(routed(), ask("hello")).Response()
	require.NoError(t, err)
	require.Equal(t, "hello", res.Text)
	require.Equal(t, 2, doer.n)
	require.Len(t, s.requests(), 2)
	require.Equal(t, string(testID), s.requests()[1].header.Get("X-Session-ID"))
}

// A middleware of the caller's may read the body and put a copy back.
func TestWrapMiddlewareReplacesBody(t *testing.T) {
	t.Parallel()
	_, url := serve(t, answer(okAnswer), events(`{"choices":[{"delta":{"content":"hello"}}]}`, `{"choices":[{"delta":{},"finish_reason":"stop"}]}`, "[DONE]"))
	var read []string
	api := openai.NewClient(option.WithBaseURL(url), option.WithAPIKey("k"), option.WithMiddleware(
		func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			res, err := next(req)
			if err == nil {
				res.Body = &tapped{res.Body, &read}
			}
			return res, err
		}))
	b, err := model.Wrap(api, model.Config{Model: "m", Retry: quick})
	require.NoError(t, err)
	res, err := b.Generate(routed(), ask("hello"))
	require.NoError(t, err)
	require.Equal(t, "fine", res.Text)
	res, err = b.Stream(routed(), ask("hello")).Response()
	require.NoError(t, err)
	require.Equal(t, "hello", res.Text)
	require.Equal(t, okAnswer, read[0])
	require.Contains(t, read[1], `{"content":"hello"}`, "the tap saw the stream from its first byte")
}

func TestWrapRefuses(t *testing.T) {
	t.Parallel()
	api := openai.NewClient(option.WithBaseURL("http://localhost:1"), option.WithAPIKey("k"))
	for field, cfg := range map[string]model.Config{
		"BaseURL":    {Model: "m", BaseURL: "http://localhost:1"},
		"APIKey":     {Model: "m", APIKey: "k"},
		"HTTPClient": {Model: "m", HTTPClient: http.DefaultClient},
		"Model":      {},
	} {
		_, err := model.Wrap(api, cfg)
		var config *model.ConfigError
		require.ErrorAs(t, err, &config)
		require.Equal(t, field, config.Field)
	}
	_, err := model.Wrap(openai.Client{}, model.Config{Model: "m"})
	require.ErrorContains(t, err, "openai.NewClient")
}

// A session header that is also a fixed header of the client would send every
// trajectory to one backend: the first call says so, and nothing is sent.
func TestWrapRefusesStaticSessionHeader(t *testing.T) {
	t.Parallel()
	s, url := serve(t, answer(okAnswer))
	b, err := model.Wrap(openai.NewClient(option.WithBaseURL(url), option.WithAPIKey("k"), option.WithHeader("x-session-id", "fixed")),
		model.Config{Model: "m", Retry: quick})
	require.NoError(t, err)
	_, err = b.Generate(routed(), ask("hello"))
	var config *model.ConfigError
	require.ErrorAs(t, err, &config)
	require.ErrorContains(t, err, "X-Session-Id")
	require.Empty(t, s.requests())
}

// The session wins over a header that a middleware sets per request, in any spelling.
func TestWrapSessionWinsOverMiddleware(t *testing.T) {
	t.Parallel()
	s, url := serve(t, answer(okAnswer))
	b, err := model.Wrap(openai.NewClient(option.WithBaseURL(url), option.WithAPIKey("k"), option.WithMiddleware(
		func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			req.Header["x-session-id"] = []string{"stray"}
			return next(req)
		})), model.Config{Model: "m", Retry: quick})
	require.NoError(t, err)
	_, err = b.Generate(routed(), ask("hello"))
	require.NoError(t, err)
	require.Equal(t, []string{string(testID)}, s.requests()[0].header.Values("X-Session-ID"))
}

// A redirect to another origin is refused once and not tried again, and the other
// server hears nothing.
func TestWrapForeignRedirect(t *testing.T) {
	t.Parallel()
	other, otherURL := serve(t, answer(okAnswer))
	for _, code := range []int{301, 302, 303, 307, 308} {
		s, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, otherURL+"/v1/chat/completions", code)
		})
		b, err := model.Wrap(openai.NewClient(option.WithBaseURL(url), option.WithAPIKey("k")), model.Config{Model: "m", Retry: quick})
		require.NoError(t, err)
		_, err = b.Generate(routed(), ask("hello"))
		require.Error(t, err, code)
		require.Len(t, s.requests(), 1, code)
		require.Empty(t, other.requests(), code)
	}
}

func TestRedirectInsideOrigin(t *testing.T) {
	t.Parallel()
	for _, code := range []int{301, 302, 303, 307, 308} {
		for _, wrapped := range []bool{false, true} {
			s, url := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/moved", code) }, answer(okAnswer))
			b, err := model.New(model.Config{BaseURL: url, Model: "m", Retry: quick})
			if wrapped {
				b, err = model.Wrap(openai.NewClient(option.WithBaseURL(url), option.WithAPIKey("k")), model.Config{Model: "m", Retry: quick})
			}
			require.NoError(t, err)
			res, err := b.Generate(routed(), ask("hello"))
			requests := s.requests()
			if code < 307 { // a POST becomes a GET
				require.ErrorContains(t, err, "307 or 308")
				var failure *model.Error
				require.ErrorAs(t, err, &failure)
				require.Equal(t, model.KindResponse, failure.Kind)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, "fine", res.Text)
			require.Len(t, requests, 2)
			require.Equal(t, "POST", requests[1].method)
			require.Equal(t, "/moved", requests[1].path)
			require.Equal(t, 1, res.Timing.Attempts, "a redirect is no attempt of its own")
			require.Equal(t, requests[0].body, requests[1].body)
			require.Equal(t, string(testID), requests[1].header.Get("X-Session-ID"))
			b.CloseIdleConnections()
		}
	}
}

func TestAPICarriesSession(t *testing.T) {
	t.Parallel()
	embedding := answer(`{"object":"list","data":[],"model":"m","usage":{"prompt_tokens":1,"total_tokens":1}}`)
	s, url := serve(t, status(500), embedding)
	b, err := model.New(model.Config{BaseURL: url, Model: "m", Retry: quick})
	require.NoError(t, err)
	t.Cleanup(b.CloseIdleConnections)
	api := b.API()
	params := openai.EmbeddingNewParams{Model: "m", Input: openai.EmbeddingNewParamsInputUnion{OfString: openai.String("x")}}

	_, err = api.Embeddings.New(context.Background(), params)
	require.ErrorIs(t, err, routing.ErrNoSession)
	_, err = api.Embeddings.New(context.Background(), params, option.WithMaxRetries(3))
	require.ErrorIs(t, err, routing.ErrNoSession)
	require.Empty(t, s.requests())

	_, err = api.Embeddings.New(routed(), params)
	require.NoError(t, err)
	require.Len(t, s.requests(), 2)
	for _, r := range s.requests() {
		require.Equal(t, []string{string(testID)}, r.header.Values("X-Session-ID"))
		require.Equal(t, s.requests()[0].body, r.body)
	}

	_, err = api.Models.List(routing.Without(context.Background()))
	require.NoError(t, err)
	require.Empty(t, s.requests()[2].header.Values("X-Session-ID"))

	_, err = api.Embeddings.New(routed(), params, option.WithHTTPClient(&http.Client{Transport: http.DefaultTransport}))
	require.ErrorContains(t, err, "option.WithHTTPClient")
}

// The retry layer is the only one, whatever a call asks of the SDK, and its errors are
// the same as those of Generate.
func TestAPIErrors(t *testing.T) {
	t.Parallel()
	s, url := serve(t, status(503))
	b, err := model.New(model.Config{BaseURL: url, Model: "m", Retry: model.Retry{Max: 2, MinWait: quick.MinWait, MaxWait: quick.MaxWait}})
	require.NoError(t, err)
	t.Cleanup(b.CloseIdleConnections)
	api := b.API()
	_, err = api.Embeddings.New(routed(), openai.EmbeddingNewParams{Model: "m"}, option.WithMaxRetries(5))
	require.Len(t, s.requests(), 3)
	var failure *model.Error
	require.ErrorAs(t, err, &failure)
	require.Equal(t, model.KindOverloaded, failure.Kind)
	require.Equal(t, 3, failure.Attempts)
	var sdk *openai.Error
	require.ErrorAs(t, err, &sdk)
	require.Equal(t, 503, sdk.StatusCode)
	require.Equal(t, "some_code", sdk.Code)
}

// Every service of the SDK's client is there and none reads the environment.
func TestAPIHasAllServices(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	b, err := model.New(model.Config{BaseURL: server.URL, Model: "m"})
	require.NoError(t, err)
	requireAllServices(t, b.API())
}

// A client made by New tells servers nothing of the machine that it runs on; a wrapped one
// sends what it always sent.
func TestSendsNoTelemetry(t *testing.T) {
	t.Parallel()
	s, url := serve(t, answer(okAnswer))
	b, err := model.New(model.Config{BaseURL: url, Model: "m"})
	require.NoError(t, err)
	t.Cleanup(b.CloseIdleConnections)
	wrapped, err := model.Wrap(openai.NewClient(option.WithBaseURL(url), option.WithAPIKey("k")), model.Config{Model: "m"})
	require.NoError(t, err)
	telemetry := func() (names []string) {
		requests := s.requests()
		for name := range requests[len(requests)-1].header {
			if strings.HasPrefix(name, "X-Stainless-") {
				names = append(names, name)
			}
		}
		return names
	}
	_, err = b.Generate(routed(), ask("x"))
	require.NoError(t, err)
	require.Empty(t, telemetry())
	api := b.API()
	_, err = api.Models.List(routed())
	require.NoError(t, err)
	require.Empty(t, telemetry())
	_, err = wrapped.Generate(routed(), ask("x"))
	require.NoError(t, err)
	require.NotEmpty(t, telemetry())
}
