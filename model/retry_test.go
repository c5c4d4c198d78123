package model_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/routing"
	"github.com/openai/openai-go/v3"
	"github.com/stretchr/testify/require"
)

// Max 4 and a server that stays down: exactly five attempts, one typed error.
func TestPersistent503(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := inMemory(t, model.Config{Retry: model.Retry{Max: 4}}, status(503, "X-Request-Id", "req-7"))
		begin := time.Now()
		_, err := b.Generate(routed(), ask("secret words of the prompt"))
		require.Len(t, s.requests(), 5)
		var failure *model.Error
		require.ErrorAs(t, err, &failure)
		require.Equal(t, model.KindOverloaded, failure.Kind)
		require.ErrorIs(t, err, model.KindOverloaded)
		require.Equal(t, 503, failure.StatusCode)
		require.Equal(t, 5, failure.Attempts)
		require.Equal(t, "some_code", failure.Code)
		require.Equal(t, "some_type", failure.Type)
		require.Equal(t, "secret words of the prompt", failure.Message)
		require.Equal(t, "req-7", failure.RequestID)
		var sdk *openai.Error
		require.ErrorAs(t, err, &sdk)
		require.Equal(t, 503, sdk.StatusCode)
		for _, text := range []string{err.Error(), failure.LogValue().String()} {
			require.NotContains(t, text, "secret")
			require.Contains(t, text, "503")
		}
		// 0.5, 1, 2 and 4 seconds, of which up to a half is taken off.
		require.GreaterOrEqual(t, time.Since(begin), 3750*time.Millisecond)
		require.LessOrEqual(t, time.Since(begin), 7500*time.Millisecond)
	})
}

func TestNoRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := inMemory(t, model.Config{Retry: model.Retry{Max: -1}}, status(500))
		_, err := b.Generate(routed(), ask("x"))
		require.ErrorIs(t, err, model.KindServer)
		require.Len(t, s.requests(), 1)
	})
}

func TestRetryAfter(t *testing.T) {
	for name, test := range map[string]struct {
		header []string
		wait   time.Duration
	}{
		"seconds":       {[]string{"Retry-After", "17"}, 17 * time.Second},
		"fraction":      {[]string{"Retry-After", "1.5"}, 1500 * time.Millisecond},
		"milliseconds":  {[]string{"Retry-After-Ms", "250", "Retry-After", "17"}, 250 * time.Millisecond},
		"date":          {[]string{"Retry-After", "Sat, 01 Jan 2000 00:00:30 GMT"}, 30 * time.Second},
		"exactly a cap": {[]string{"Retry-After", "120"}, 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // the bubble's clock begins at 2000-01-01
				b, s := inMemory(t, model.Config{}, status(429, test.header...), answer(okAnswer))
				_, err := b.Generate(routed(), ask("x"))
				require.NoError(t, err)
				requests := s.requests()
				require.Equal(t, test.wait, requests[1].at.Sub(requests[0].at).Round(time.Millisecond))
			})
		})
	}
	for name, value := range map[string]string{"over the cap": "121", "far away": "1e300", "date over the cap": "Sat, 01 Jan 2000 00:02:01 GMT"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, s := inMemory(t, model.Config{}, status(429, "Retry-After", value), answer(okAnswer))
				begin := time.Now()
				_, err := b.Generate(routed(), ask("x"))
				var failure *model.Error
				require.ErrorAs(t, err, &failure)
				require.Equal(t, model.KindRateLimited, failure.Kind)
				require.Greater(t, failure.RetryAfter, 2*time.Minute)
				require.Len(t, s.requests(), 1)
				require.Zero(t, time.Since(begin))
			})
		})
	}
	for _, value := range []string{"-1", "0", "soon", "NaN", "", "Fri, 31 Dec 1999 23:00:00 GMT"} {
		t.Run("no wait "+value, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, s := inMemory(t, model.Config{}, status(429, "Retry-After", value), answer(okAnswer))
				begin := time.Now()
				_, err := b.Generate(routed(), ask("x"))
				require.NoError(t, err)
				require.Len(t, s.requests(), 2)
				require.LessOrEqual(t, time.Since(begin), 500*time.Millisecond)
			})
		})
	}
}

func TestWhatIsTriedAgain(t *testing.T) {
	cut := func(text string) http.HandlerFunc { // says more than it sends
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "500")
			_, _ = io.WriteString(w, text)
		}
	}
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for name, test := range map[string]struct {
		step     http.HandlerFunc
		attempts int
		kind     model.Kind
	}{
		"500":                    {status(500), 5, model.KindServer},
		"502":                    {status(502), 5, model.KindServer},
		"504":                    {status(504), 5, model.KindTimeout},
		"529":                    {status(529), 5, model.KindOverloaded},
		"408":                    {status(408), 5, model.KindTimeout},
		"409":                    {status(409), 5, model.KindBadRequest},
		"429":                    {status(429), 5, model.KindRateLimited},
		"400":                    {status(400), 1, model.KindBadRequest},
		"401":                    {status(401), 1, model.KindAuth},
		"403":                    {status(403), 1, model.KindAuth},
		"404":                    {status(404), 1, model.KindNotFound},
		"501":                    {status(501), 1, model.KindServer},
		"server says no":         {status(500, "X-Should-Retry", "false"), 1, model.KindServer},
		"server says yes":        {status(400, "X-Should-Retry", "true"), 5, model.KindBadRequest},
		"304":                    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(304) }, 1, model.KindResponse},
		"301 without location":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(301) }, 1, model.KindResponse},
		"204":                    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, 5, model.KindTruncated},
		"empty":                  {answer(""), 5, model.KindTruncated},
		"cut with length":        {cut(`{"choices":[`), 5, model.KindTruncated},
		"cut without length":     {answer(okAnswer[:40]), 5, model.KindTruncated},
		"html":                   {answer("<html><body>secret</body></html>"), 1, model.KindResponse},
		"text":                   {answer("hello"), 1, model.KindResponse},
		"no choices":             {answer(`{"choices":[]}`), 1, model.KindResponse},
		"message is no object":   {answer(`{"choices":[{"message":"x"}]}`), 1, model.KindResponse},
		"error inside":           {answer(`{"error":{"message":"boom","code":500}}`), 5, model.KindServer},
		"rate limit inside":      {answer(`{"error":{"message":"slow","type":"rate_limit_error"}}`), 5, model.KindRateLimited},
		"bad request inside":     {answer(`{"error":{"message":"bad","type":"invalid_request_error"}}`), 1, model.KindBadRequest},
		"old vllm error inside":  {answer(`{"object":"error","message":"boom","type":"BadRequestError","code":400}`), 1, model.KindBadRequest},
		"context length":         {answerStatus(400, `{"error":{"message":"This model's maximum context length is 8192 tokens.","code":"context_length_exceeded"}}`), 1, model.KindContextLength},
		"context length of vllm": {answerStatus(400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000","type":"BadRequestError","code":400}`), 1, model.KindContextLength},
		"no first byte":          {hang, 5, model.KindTimeout},
		"connection ends":        {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 5, model.KindTransport},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, s := inMemory(t, model.Config{}, test.step)
				_, err := b.Generate(routed(), ask("x"))
				var failure *model.Error
				require.ErrorAs(t, err, &failure)
				require.Equal(t, test.kind, failure.Kind, "%v", err)
				require.Len(t, s.requests(), test.attempts)
				require.Equal(t, test.attempts, failure.Attempts)
				require.NotContains(t, err.Error(), "secret")
				require.Equal(t, test.kind == model.KindTruncated, errors.Is(err, model.ErrTruncated))
			})
		})
	}
}

func answerStatus(code int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, text)
	}
}

// What fails before the first event was handed out is tried again within the one
// budget; later the caller has to decide.
func TestStreamIsTriedAgainBeforeItsFirstEvent(t *testing.T) {
	role := `{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`
	word := `{"choices":[{"index":0,"delta":{"content":"word"}}]}`
	end := `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	for name, test := range map[string]struct {
		step     http.HandlerFunc
		attempts int
		kind     model.Kind
	}{
		"no event":             {events(), 5, model.KindTruncated},
		"only the role":        {events(role), 5, model.KindTruncated},
		"error first":          {events(`{"error":{"message":"boom","code":503}}`), 5, model.KindOverloaded},
		"error after the role": {events(role, `{"error":"boom"}`), 5, model.KindServer},
		"bad request first":    {events(`{"error":{"message":"bad","code":400}}`), 1, model.KindBadRequest},
		"cut after a word":     {events(role, word), 1, model.KindTruncated},
		"cut in a chunk":       {events(role, word, end[:20]), 1, model.KindTruncated},
		"error after a word":   {events(role, word, `{"error":{"message":"boom","code":500}}`), 1, model.KindServer},
		"not json":             {events("hello"), 1, model.KindResponse},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, s := inMemory(t, model.Config{}, test.step)
				_, err := b.Stream(routed(), ask("x")).Response()
				var failure *model.Error
				require.ErrorAs(t, err, &failure)
				require.Equal(t, test.kind, failure.Kind, "%v", err)
				require.Len(t, s.requests(), test.attempts)
			})
		})
	}
	for name, step := range map[string]http.HandlerFunc{
		"both marks":         events(role, word, end, "[DONE]"),
		"finish only":        events(role, word, end),
		"done only":          events(role, word, "[DONE]"),
		"keep-alives":        events(": keep-alive", "", role, "null", word, `{"choices":[]}`, end, "[DONE]"),
		"plain json instead": answer(`{"choices":[{"message":{"role":"assistant","content":"word"},"finish_reason":"stop"}]}`),
		"end hangs": func(w http.ResponseWriter, r *http.Request) {
			events(role, word, end)(w, r)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, s := inMemory(t, model.Config{}, events(), step)
				begin := time.Now()
				stream := b.Stream(routed(), ask("x"))
				text := ""
				for event, err := range stream.Events() {
					require.NoError(t, err)
					text += event.Text
				}
				require.Equal(t, "word", text)
				res, err := stream.Response()
				require.NoError(t, err)
				require.Equal(t, "word", res.Text)
				require.Equal(t, 2, res.Timing.Attempts)
				require.Len(t, s.requests(), 2)
				require.Less(t, time.Since(begin), 3*time.Second)
			})
		})
	}
}

// A stream that falls silent ends after the idle limit.
func TestIdleStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := inMemory(t, model.Config{Limits: model.Limits{Idle: time.Minute}}, func(w http.ResponseWriter, r *http.Request) {
			events(`{"choices":[{"delta":{"content":"word"}}]}`)(w, r)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		})
		begin := time.Now()
		_, err := b.Stream(routed(), ask("x")).Response()
		require.ErrorIs(t, err, model.KindTimeout)
		require.Len(t, s.requests(), 1)
		require.Equal(t, time.Minute, time.Since(begin))
	})
}

func TestCallerCancels(t *testing.T) {
	for name, test := range map[string]struct {
		step http.HandlerFunc
		call func(b *model.Base, ctx context.Context) error
	}{
		"while waiting for an answer": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, func(b *model.Base, ctx context.Context) error {
			_, err := b.Generate(ctx, ask("x"))
			return err
		}},
		"while waiting to try again": {status(429, "Retry-After", "100"), func(b *model.Base, ctx context.Context) error {
			_, err := b.Generate(ctx, ask("x"))
			return err
		}},
		"in the middle of a stream": {func(w http.ResponseWriter, r *http.Request) {
			events(`{"choices":[{"delta":{"content":"word"}}]}`)(w, r)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, func(b *model.Base, ctx context.Context) error {
			_, err := b.Stream(ctx, ask("x")).Response()
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, s := inMemory(t, model.Config{}, test.step)
				ctx, cancel := context.WithCancel(routed())
				time.AfterFunc(time.Second, cancel)
				begin := time.Now()
				err := test.call(b, ctx)
				require.ErrorIs(t, err, context.Canceled)
				require.ErrorIs(t, err, model.KindCanceled)
				require.Equal(t, time.Second, time.Since(begin))
				require.Len(t, s.requests(), 1)

				ctx, cancel = context.WithTimeout(routed(), time.Second)
				defer cancel()
				err = test.call(b, ctx)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.ErrorIs(t, err, model.KindTimeout)
			})
		})
	}
}

// Failures that cannot go away are not tried again, and nothing is sent.
func TestPermanentFailures(t *testing.T) {
	bad, _ := routing.Header("Host")
	for name, test := range map[string]struct {
		ctx     context.Context
		carrier routing.Carrier
		want    string
	}{
		"no session": {context.Background(), nil, "no session"},
		"bad ID":     {routing.NewContext(context.Background(), routing.NewSession("a\r\nb")), nil, "byte 1"},
		"carrier":    {routed(), bad, "Host"},
		"nil":        {nil, nil, "nil"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, s := inMemory(t, model.Config{Carrier: test.carrier}, answer(okAnswer))
				begin := time.Now()
				_, err := b.Generate(test.ctx, ask("x"))
				require.ErrorContains(t, err, test.want)
				_, err = b.Stream(test.ctx, ask("x")).Response()
				require.ErrorContains(t, err, test.want)
				require.Empty(t, s.requests())
				require.Zero(t, time.Since(begin))
			})
		})
	}
}

// Error bodies are read up to a limit only, below the SDK, which has none.
func TestErrorBodyIsLimited(t *testing.T) {
	t.Parallel()
	_, url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(400)
		for range 64 {
			if _, err := io.WriteString(w, strings.Repeat("x", 1<<20)); err != nil {
				return
			}
		}
	})
	b, err := model.New(model.Config{BaseURL: url, Model: "m", Retry: quick})
	require.NoError(t, err)
	t.Cleanup(b.CloseIdleConnections)
	_, err = b.Generate(routed(), ask("x"))
	var failure *model.Error
	require.ErrorAs(t, err, &failure)
	require.Equal(t, model.KindBadRequest, failure.Kind)
	require.LessOrEqual(t, len(failure.Body), 4<<10)
}

func TestResponseLimit(t *testing.T) {
	t.Parallel()
	s, url := serve(t, answer(okAnswer))
	for _, limit := range []int64{int64(len(okAnswer)) - 1, int64(len(okAnswer))} {
		b, err := model.New(model.Config{BaseURL: url, Model: "m", Retry: quick, Limits: model.Limits{ResponseBytes: limit}})
		require.NoError(t, err)
		_, err = b.Generate(routed(), ask("x"))
		b.CloseIdleConnections()
		if limit < int64(len(okAnswer)) {
			require.ErrorIs(t, err, model.KindResponse)
			require.ErrorContains(t, err, "Limits.ResponseBytes")
		} else {
			require.NoError(t, err)
		}
	}
	require.Len(t, s.requests(), 2)
}

// A time limit and a cookie jar of the caller's HTTP client stay in force.
func TestCallersHTTPClient(t *testing.T) {
	t.Parallel()
	s, url := serve(t,
		func(w http.ResponseWriter, r *http.Request) {
			http.SetCookie(w, &http.Cookie{Name: "stick", Value: "b3"})
			answer(okAnswer)(w, r)
		},
		events(`{"choices":[{"delta":{"content":"word"}}]}`, `{"choices":[{"delta":{},"finish_reason":"stop"}]}`, "[DONE]"),
		func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	client := &http.Client{Jar: jar, Timeout: time.Second}
	b, err := model.New(model.Config{BaseURL: url, Model: "m", HTTPClient: client, Retry: quick})
	require.NoError(t, err)
	t.Cleanup(b.CloseIdleConnections)
	res, err := b.Generate(routed(), ask("x"))
	require.NoError(t, err)
	require.Equal(t, "fine", res.Text)
	res, err = b.Stream(routed(), ask("x")).Response()
	require.NoError(t, err)
	require.Equal(t, "word", res.Text)
	_, err = b.Generate(routed(), ask("x"))
	require.Error(t, err)
	require.Len(t, s.requests(), 3)
	require.Equal(t, "stick=b3", s.requests()[1].header.Get("Cookie"))
	require.Nil(t, client.Transport, "the caller's client is not changed")
}

// A negative limit means none.
func TestNoTimeLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := inMemory(t, model.Config{Limits: model.Limits{FirstByte: -1, Idle: -1}}, func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(24 * time.Hour)
			answer(okAnswer)(w, r)
		})
		_, err := b.Generate(routed(), ask("x"))
		require.NoError(t, err)
	})
}
