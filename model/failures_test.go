package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/homing-go/homing/model"
	"github.com/stretchr/testify/require"
)

// What a server says about a failure is found in each of the known envelopes, with the
// failure as a status and inside of a success; the body is kept, up to a cap.
func TestEnvelopes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300<<10)
	for name, test := range map[string]struct {
		body, message, code, typ string
	}{
		"openai":            {`{"error":{"message":"no such tool","type":"invalid_request_error","param":"tools","code":"bad_tool"}}`, "no such tool", "bad_tool", "invalid_request_error"},
		"number as code":    {`{"error":{"message":"no such tool","type":"BadRequestError","param":null,"code":400}}`, "no such tool", "400", "BadRequestError"},
		"old vllm":          {`{"object":"error","message":"no such tool","type":"BadRequestError","param":null,"code":400}`, "no such tool", "400", "BadRequestError"},
		"text as error":     {`{"error":"no such tool"}`, "no such tool", "", ""},
		"fastapi":           {`{"detail":"no such tool"}`, "no such tool", "", ""},
		"fastapi, a list":   {`{"detail":[{"loc":["body"],"msg":"no such tool"}]}`, `[{"loc":["body"],"msg":"no such tool"}]`, "", ""},
		"text":              {"no such tool", "no such tool", "", ""},
		"quoted text":       {`"no such tool"`, "no such tool", "", ""},
		"page":              {"<html>no such tool</html>", "<html>no such tool</html>", "", ""},
		"not UTF-8":         {"no such \xff tool", "no such \ufffd tool", "", ""},
		"empty":             {"", "", "", ""},
		"nulls":             {`{"error":{"message":"no such tool","type":null,"code":null}}`, "no such tool", "", ""},
		"long message":      {`{"error":{"message":"` + long + `"}}`, long[:2048], "", ""},
		"long code":         {`{"error":{"message":"m","code":"` + long + `","type":"` + long + `"}}`, "m", long[:256], long[:256]},
		"long text":         {long, long[:2048], "", ""},
		"array":             {`[1]`, `[1]`, "", ""},
		"unfinished":        {`{"error":{"message":"no`, `{"error":{"message":"no`, "", ""},
		"error is an array": {`{"error":[1],"message":"no such tool"}`, "no such tool", "", ""},
	} {
		b := through(t, model.Config{}, func(*http.Request) (*http.Response, error) {
			res := response("application/json", test.body)
			res.StatusCode = 400
			return res, nil
		})
		for _, err := range []error{errOf(b.Generate(routed(), ask("x"))), errOf(b.Stream(routed(), ask("x")).Response())} {
			var failure *model.Error
			require.ErrorAs(t, err, &failure, name)
			require.Equal(t, model.KindBadRequest, failure.Kind, name)
			for _, pair := range [][2]string{
				{test.message, failure.Message}, {test.code, failure.Code}, {test.typ, failure.Type}, {test.body[:min(len(test.body), 4096)], string(failure.Body)},
			} {
				require.True(t, pair[0] == pair[1], "%s: got %d bytes %.80q, want %d bytes %.80q", name, len(pair[1]), pair[1], len(pair[0]), pair[0]) //nolint:testifylint // the whole texts would drown the report
			}
			require.NotContains(t, err.Error(), "such tool", name)
		}
	}
}

func errOf[T any](_ T, err error) error { return err }

// The numbers of a context-length failure are found in plain text as well, and one that
// fits no integer is none.
func TestContextLengthInText(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][2]int{
		"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens":                                                                    {4096, 5000},
		`{"error":{"message":"maximum context length is 99999999999999999999999 tokens. However, you requested 99999999999999999999999 tokens"}}`:                   {0, 0},
		`{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens","type":"BadRequestError","code":400}`: {4096, 5000},
	} {
		b := through(t, model.Config{}, func(*http.Request) (*http.Response, error) {
			res := response("", body)
			res.StatusCode = 400
			return res, nil
		})
		_, err := b.Generate(routed(), ask("x"))
		var failure *model.Error
		require.ErrorAs(t, err, &failure)
		require.Equal(t, model.KindContextLength, failure.Kind, body)
		require.Equal(t, want, [2]int{failure.ContextLimit, failure.ContextTokens}, body)
	}
}

// The ways in which a stream can end are told apart: whole, cut, failed by the server,
// silent, canceled, out of time, left.
func TestTerminalStatesAreDistinct(t *testing.T) {
	hang := func(w http.ResponseWriter, r *http.Request) {
		events(wordChunk)(w, r)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	for name, test := range map[string]struct {
		step http.HandlerFunc
		want error
	}{
		"whole":       {events(wordChunk, stopChunk, "[DONE]"), nil},
		"cut":         {events(wordChunk), model.ErrTruncated},
		"failed":      {events(wordChunk, `{"error":{"message":"boom","code":500}}`), model.KindServer},
		"refused":     {events(wordChunk, `{"error":{"message":"boom","code":400}}`), model.KindBadRequest},
		"overloaded":  {events(wordChunk, `{"error":{"message":"boom","type":"overloaded_error"}}`), model.KindOverloaded},
		"old vllm":    {events(wordChunk, `{"object":"error","message":"boom","code":429}`), model.KindRateLimited},
		"no chunk":    {events(wordChunk, `hello`), model.KindResponse},
		"silent":      {hang, model.KindTimeout},
		"canceled":    {hang, context.Canceled},
		"out of time": {hang, context.DeadlineExceeded},
		"left":        {hang, model.ErrAbandoned},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, s := inMemory(t, model.Config{Limits: model.Limits{Idle: time.Minute}}, test.step)
				ctx, cancel := context.WithCancel(routed())
				defer cancel()
				if name == "out of time" {
					ctx, cancel = context.WithTimeout(ctx, time.Second)
					defer cancel()
				}
				stream := b.Stream(ctx, ask("x"))
				var last error
				for event, err := range stream.Events() {
					last = err
					if name == "canceled" && event.Text != "" {
						cancel()
					}
					if name == "left" {
						break
					}
				}
				res, err := stream.Response()
				if test.want == nil {
					require.NoError(t, err)
					require.Equal(t, "word", res.Text)
					return
				}
				require.Nil(t, res)
				require.ErrorIs(t, err, test.want)
				if name != "left" {
					require.Equal(t, last, err, "the loop sees the same error")
				}
				for _, other := range []error{model.ErrTruncated, model.KindServer, model.KindBadRequest, model.KindOverloaded, model.KindRateLimited, model.KindResponse, context.Canceled, context.DeadlineExceeded, model.ErrAbandoned, model.KindCanceled, model.KindTimeout, model.KindTransport} {
					if errors.Is(err, other) {
						require.Contains(t, [][2]string{
							{name, test.want.Error()},
							{"cut", model.KindTruncated.Error()},
							{"silent", context.DeadlineExceeded.Error()},
							{"canceled", model.KindCanceled.Error()},
							{"out of time", model.KindTimeout.Error()},
						}, [2]string{name, other.Error()})
					}
				}
				require.Len(t, s.requests(), 1)
			})
		})
	}
}

// No text of an error mentions a nil error, and each says what happened, however the call
// was canceled.
func TestErrorTextAfterCancel(t *testing.T) {
	t.Parallel()
	canceled, cancel := context.WithCancel(routed())
	cancel()
	why := errors.New("the user left")
	caused, cancelCause := context.WithCancelCause(routed())
	cancelCause(why)
	expired, cancel := context.WithTimeout(routed(), -time.Second)
	defer cancel()
	for want, ctx := range map[string]context.Context{"model: canceled": canceled, "model: canceled ": caused, "model: timeout": expired} {
		asked := 0
		b := through(t, model.Config{}, func(*http.Request) (*http.Response, error) {
			asked++
			return response("application/json", okAnswer), nil
		})
		for _, err := range []error{errOf(b.Generate(ctx, ask("x"))), errOf(b.Stream(ctx, ask("x")).Response())} {
			require.Equal(t, strings.TrimSpace(want), err.Error())
			var failure *model.Error
			require.ErrorAs(t, err, &failure)
			require.ErrorIs(t, err, ctx.Err())
			require.ErrorIs(t, err, context.Cause(ctx))
			for _, form := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
				require.NotContains(t, fmt.Sprintf(form, err), "nil")
			}
			require.NotContains(t, slog.AnyValue(err).Resolve().String(), "nil")
		}
		require.Zero(t, asked, "a call that is over sends nothing")
	}
}

// A time limit of the caller's HTTP client is a timeout like the others, before the answer
// and in the middle of it.
func TestTimeLimitOfHTTPClient(t *testing.T) {
	t.Parallel()
	for _, step := range []http.HandlerFunc{
		func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		func(w http.ResponseWriter, r *http.Request) {
			events(wordChunk)(w, r)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
	} {
		_, url := serve(t, step)
		b := open(t, model.Config{BaseURL: url, HTTPClient: &http.Client{Timeout: 50 * time.Millisecond}})
		for _, err := range []error{errOf(b.Generate(routed(), ask("x"))), errOf(b.Stream(routed(), ask("x")).Response())} {
			require.ErrorIs(t, err, model.KindTimeout)
		}
	}
}

// closing counts how often bodies were closed.
type closing struct {
	io.Reader
	closed *atomic.Int64
	once   atomic.Bool
}

func (c *closing) Close() error {
	if c.once.CompareAndSwap(false, true) {
		c.closed.Add(1)
	}
	return nil
}

// The body of every attempt is closed, whatever became of the attempt.
func TestEveryBodyIsClosed(t *testing.T) {
	t.Parallel()
	sse := func(lines ...string) string { return "data: " + strings.Join(lines, "\n\ndata: ") + "\n\n" }
	for name, test := range map[string]struct {
		code        int
		contentType string
		body        io.Reader
		attempts    int64
	}{
		"503":            {503, "application/json", strings.NewReader(`{"error":{}}`), 5},
		"503 breaks":     {503, "application/json", iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(`{"error":{}}`))), 5},
		"400":            {400, "application/json", strings.NewReader(`{"error":{}}`), 1},
		"304":            {304, "", strings.NewReader(""), 1},
		"cut":            {200, "application/json", strings.NewReader(okAnswer[:30]), 5},
		"breaks":         {200, "application/json", iotest.ErrReader(io.ErrUnexpectedEOF), 5},
		"no JSON":        {200, "application/json", strings.NewReader("hello"), 1},
		"whole":          {200, "application/json", strings.NewReader(okAnswer), 1},
		"page":           {200, "text/html", strings.NewReader("<html>"), 1},
		"stream":         {200, "text/event-stream", strings.NewReader(sse(wordChunk, stopChunk, "[DONE]")), 1},
		"stream, cut":    {200, "text/event-stream", strings.NewReader(sse(roleChunk)), 5},
		"stream, later":  {200, "text/event-stream", strings.NewReader(sse(wordChunk)), 1},
		"stream, error":  {200, "text/event-stream", strings.NewReader(sse(roleChunk, `{"error":{"code":503}}`)), 5},
		"stream, no sse": {200, "text/event-stream", strings.NewReader(sse("hello")), 1},
	} {
		for _, abandon := range []bool{false, true} {
			var opened, closed atomic.Int64
			text, err := io.ReadAll(test.body)
			body := func() io.Reader {
				if err != nil {
					return io.MultiReader(strings.NewReader(string(text)), iotest.ErrReader(err))
				}
				return strings.NewReader(string(text))
			}
			b := through(t, model.Config{}, func(*http.Request) (*http.Response, error) {
				opened.Add(1)
				res := response(test.contentType, "")
				res.StatusCode, res.Body = test.code, &closing{Reader: body(), closed: &closed}
				return res, nil
			})
			for range b.Stream(routed(), ask("x")).Events() {
				if abandon {
					break
				}
			}
			if !strings.HasPrefix(name, "stream") {
				_, _ = b.Generate(routed(), ask("x"))
				require.Equal(t, 2*test.attempts, opened.Load(), name)
			} else {
				require.Equal(t, test.attempts, opened.Load(), name)
			}
			require.Equal(t, opened.Load(), closed.Load(), name)
			test.body = strings.NewReader(string(text))
		}
	}
}

// What was known of the usage when a call ended without an answer is told to the observer:
// the server bills it all the same.
func TestUsageOfUnfinishedCalls(t *testing.T) {
	t.Parallel()
	counting := func(n int) string {
		return fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":"w"}}],"usage":{"prompt_tokens":9,"completion_tokens":%d}}`, n)
	}
	for name, lines := range map[string][]string{"cut": {counting(1), counting(2)}, "failed": {counting(1), counting(2), `{"error":{"code":500}}`}, "left": {counting(1), counting(2), counting(3)}, "panic": {counting(1), counting(2), counting(3)}} {
		var told []model.CallInfo
		b := through(t, model.Config{Hooks: model.Hooks{Done: func(_ context.Context, c model.CallInfo) { told = append(told, c) }}}, streamed("data: "+strings.Join(lines, "\n\ndata: ")+"\n\n"))
		func() {
			defer func() { _ = recover() }()
			n := 0
			for range b.Stream(routed(), ask("x")).Events() {
				if n++; n == 2 && name == "left" {
					break
				} else if n == 2 && name == "panic" {
					panic("in the consumer")
				}
			}
		}()
		require.Len(t, told, 1, name)
		require.Error(t, told[0].Err, name)
		require.Equal(t, model.Usage{PromptTokens: 9, CompletionTokens: 2}, told[0].Usage, name)
		require.Equal(t, 1, told[0].Timing.Attempts, name)
		require.Positive(t, told[0].Timing.Total, name)
		if name == "left" || name == "panic" {
			require.ErrorIs(t, told[0].Err, model.ErrAbandoned)
		}
	}
}

// picky is a dialect that refuses every answer by one and the same value.
type picky struct{ model.OpenAI }

var errPicky = &model.Error{Kind: model.KindOutput, Message: "not that"}

func (picky) NewReader(*model.Request) model.Reader { return pickyReader{} }

type pickyReader struct{}

func (pickyReader) Message(json.RawMessage) error                       { return errPicky }
func (pickyReader) Delta(json.RawMessage, func(model.Event) bool) error { return errPicky }
func (pickyReader) Finish(string, bool) (*model.Response, error)        { return nil, errPicky }

// A failure that came up from a transport or a dialect is told as it was and not changed:
// many calls may fail by one value at a time.
func TestFailuresAreNotChanged(t *testing.T) {
	t.Parallel()
	refused := &model.Error{Kind: model.KindAuth, Message: "not you"}
	b := through(t, model.Config{}, func(*http.Request) (*http.Response, error) { return nil, refused })
	c := through(t, model.Config{Dialect: picky{}, Retry: model.Retry{Max: 1}}, func(req *http.Request) (*http.Response, error) {
		if req.Header.Get("Accept") == "text/event-stream" {
			return response("text/event-stream", "data: "+wordChunk+"\n\n"), nil
		}
		return response("application/json", okAnswer), nil
	})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for _, err := range []error{
				errOf(b.Generate(routed(), ask("x"))), errOf(b.Stream(routed(), ask("x")).Response()),
				errOf(c.Generate(routed(), ask("x"))), errOf(c.Stream(routed(), ask("x")).Response()),
			} {
				var failure *model.Error
				if !errors.As(err, &failure) || failure.Attempts == 0 || !strings.HasPrefix(failure.Message, "not ") {
					t.Errorf("%v", err)
				}
			}
		})
	}
	group.Wait()
	require.Equal(t, &model.Error{Kind: model.KindAuth, Message: "not you"}, refused)
	require.Equal(t, &model.Error{Kind: model.KindOutput, Message: "not that"}, errPicky)
}
