package model

import (
	"context"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/homing-go/homing/internal/rawjson"
)

const (
	maxErrorBody    = 4 << 10
	maxErrorMessage = 2 << 10
	maxErrorCode    = 256
)

// kindOf classes a status.
func kindOf(status int) Kind {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return KindAuth
	case http.StatusNotFound:
		return KindNotFound
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return KindTimeout
	case http.StatusTooManyRequests:
		return KindRateLimited
	case http.StatusServiceUnavailable, 529:
		return KindOverloaded
	}
	switch {
	case status >= 500:
		return KindServer
	case status >= 400:
		return KindBadRequest
	}
	return KindResponse
}

// statusFailure reads a response that is no answer.
func statusFailure(res *http.Response, text []byte) *Error {
	e := &Error{
		Kind: kindOf(res.StatusCode), StatusCode: res.StatusCode, Header: res.Header,
		RequestID: res.Header.Get("X-Request-Id"), RetryAfter: retryAfter(res), Body: capped(text, maxErrorBody),
	}
	if res.StatusCode < 400 {
		e.detail = "the status says neither success nor failure"
	}
	e.readMessage(text)
	return e
}

// bodyFailure is an error that a server sent inside of a success.
func bodyFailure(res *http.Response, failure []byte) *Error {
	e := &Error{
		Kind: KindServer, StatusCode: res.StatusCode, Header: res.Header, detail: "reported inside of the answer",
		RequestID: res.Header.Get("X-Request-Id"), RetryAfter: retryAfter(res), Body: capped(failure, maxErrorBody),
	}
	e.readMessage(failure)
	switch text := strings.ToLower(e.Code + " " + e.Type); {
	case len(e.Code) == 3 && e.Code >= "400" && e.Code <= "599":
		e.Kind = kindOf(int(e.Code[0]-'0')*100 + int(e.Code[1]-'0')*10 + int(e.Code[2]-'0'))
	case strings.Contains(text, "rate_limit"):
		e.Kind = KindRateLimited
	case strings.Contains(text, "overloaded") || strings.Contains(text, "unavailable"):
		e.Kind = KindOverloaded
	case strings.Contains(text, "invalid_request") || strings.Contains(text, "badrequest"):
		e.Kind = KindBadRequest
	}
	e.refine()
	return e
}

// readMessage takes code, type and message from the known envelopes: OpenAI's, with
// an object or a text; vLLM's older one with the members on top; FastAPI's detail;
// or plain text.
func (e *Error) readMessage(text []byte) {
	trimmed, err := rawjson.Only(text)
	if err != nil || rawjson.Kind(trimmed) != '{' {
		if err == nil && rawjson.Kind(trimmed) == '"' {
			text = []byte(rawjson.Text(trimmed))
		}
		e.Message = strings.ToValidUTF8(string(capped(text, maxErrorMessage)), "\ufffd")
		e.refine()
		return
	}
	object := trimmed
	switch inner := rawjson.Get(object, "error"); rawjson.Kind(inner) {
	case '{':
		object = inner
	case '"':
		e.Message = said(inner, maxErrorMessage)
	}
	for o := rawjson.Members(object); o.Next(); {
		switch string(o.Key) {
		case "message":
			e.Message = said(o.Value, maxErrorMessage)
		case "detail":
			if e.Message == "" {
				e.Message = said(o.Value, maxErrorMessage)
			}
		case "code":
			e.Code = said(o.Value, maxErrorCode)
		case "type":
			e.Type = said(o.Value, maxErrorCode)
		}
	}
	e.refine()
}

// said is a text, or what a server put in the place of one, up to a limit.
func said(value []byte, limit int) string {
	switch value[0] {
	case 'n':
		return ""
	case '"':
		value = []byte(rawjson.Text(value))
	}
	return strings.ToValidUTF8(string(capped(value, limit)), "")
}

// refine finds the failures that servers hide behind a status that says little.
func (e *Error) refine() {
	text := strings.ToLower(e.Message + " " + e.Type + " " + e.Code)
	switch e.Kind {
	case KindBadRequest, KindServer:
	default:
		return
	}
	switch {
	case containsAny(text, contextSigns):
		e.Kind = KindContextLength
		e.ContextLimit, e.ContextTokens = number(contextLimit, e.Message), number(contextTokens, e.Message)
	case e.Kind == KindServer && containsAny(text, outputSigns):
		e.Kind = KindOutput
	}
}

// What servers say, in lower case: OpenAI, vLLM, SGLang, llama.cpp, Ollama.
var (
	contextSigns = []string{
		"maximum context length", "context length", "context window", "available context size", "exceed_context_size",
		"input is too long", "prompt is too long", "requested token count exceeds", "context_length_exceeded",
	}
	outputSigns = []string{
		"failed to parse tool call", "error parsing tool call", "failed to parse input at pos", "failed to parse messages: error parsing tool",
		"invalid tool call arguments", "xml syntax error",
	}
	contextLimit  = regexp.MustCompile(`(?i)context (?:length|size|window)(?: of the model)?(?: is| of|:)?(?: only)? ?\(?(\d+)`)
	contextTokens = regexp.MustCompile(`(?i)(?:requested|request has|input|resulted in|prompt has|request|prompt contains)(?: a total of)? \(?(\d+)(?: input| prompt)? tokens`)
)

func containsAny(text string, signs []string) bool {
	for _, sign := range signs {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}

func number(form *regexp.Regexp, text string) int {
	if m := form.FindStringSubmatch(text); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil { // too long a number is none
			return n
		}
	}
	return 0
}

// readFailure is a body that broke off.
func readFailure(res *http.Response, err error) error {
	var failure *Error
	if errors.As(err, &failure) {
		return failure.of(res)
	}
	e := &Error{Kind: KindTruncated, StatusCode: res.StatusCode, Header: res.Header, cause: err}
	switch {
	case errors.Is(err, io.EOF):
		e.cause = io.ErrUnexpectedEOF
	case timedOut(err): // by the caller's HTTP client
		e.Kind = KindTimeout
	case !errors.Is(err, io.ErrUnexpectedEOF):
		e.detail = "the connection broke"
	}
	return e
}

// of returns the failure with the response that it is about. e itself may be shared.
func (e *Error) of(res *http.Response) *Error {
	if e.StatusCode != 0 || res == nil {
		return e
	}
	told := *e
	told.StatusCode, told.Header = res.StatusCode, res.Header
	return &told
}

// notAnAnswer is a success whose body is something else.
func notAnAnswer(res *http.Response, text []byte, detail string, cause error) *Error {
	return &Error{
		Kind: KindResponse, StatusCode: res.StatusCode, Header: res.Header, RequestID: res.Header.Get("X-Request-Id"),
		Body: capped(text, maxErrorBody), detail: detail, cause: cause,
	}
}

// fail makes the error that a call returns out of what came up through the SDK.
func (c *call) fail(err error) error {
	if cause := c.ctx.Err(); cause != nil {
		kind := KindCanceled
		if errors.Is(cause, context.DeadlineExceeded) {
			kind = KindTimeout
		}
		return &Error{Kind: kind, Attempts: c.attempts, cause: errors.Join(cause, notSame(context.Cause(c.ctx), cause))}
	}
	var failure *Error
	switch {
	case errors.As(err, &failure):
	case c.failure != nil && c.failure.StatusCode < 400:
		// The response itself was fine; where it led to was not.
		failure = &Error{Kind: KindResponse, StatusCode: c.failure.StatusCode, Header: c.failure.Header, detail: "its redirect was not followed", cause: err}
	case c.failure != nil:
		if failure = c.failure; failure.cause == nil {
			failure.cause = err
		}
	}
	if failure != nil {
		told := *failure // it may be shared: by hooks, or by other calls
		told.Attempts, told.budgetSpent, told.URL = c.attempts, c.spent, c.target
		return &told
	}
	if permanent(err) && !broken(err) {
		return err
	}
	failure = &Error{
		Kind: KindTransport, URL: c.target, Attempts: c.attempts, budgetSpent: c.spent, detail: connectionDetail(err), cause: err,
	}
	if timedOut(err) {
		failure.Kind = KindTimeout
	}
	return failure
}

func timedOut(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}

func notSame(err, other error) error {
	if errors.Is(err, other) {
		return nil
	}
	return err
}

func capped(text []byte, limit int) []byte {
	return append([]byte(nil), text[:min(len(text), limit)]...)
}
