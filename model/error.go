package model

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"
)

// Kind classes the failures of a call. A Kind is an error itself, so that
// errors.Is(err, model.KindRateLimited) asks for it.
type Kind int

// The kinds of failure. Only rate limited, overloaded, server, truncated, timeout,
// transport and output failures are tried again.
const (
	// KindBadRequest: the server refuses the request as it is.
	KindBadRequest Kind = iota + 1
	// KindContextLength: prompt and answer do not fit the model's context.
	KindContextLength
	// KindAuth: the key is missing, wrong or not allowed to do this.
	KindAuth
	// KindNotFound: there is no such model or path.
	KindNotFound
	// KindRateLimited: too many requests, see RetryAfter.
	KindRateLimited
	// KindOverloaded: the server has no capacity at the moment.
	KindOverloaded
	// KindServer: the server failed.
	KindServer
	// KindResponse: an answer that is no chat completion, such as a web page, or
	// one above a limit.
	KindResponse
	// KindTruncated: the answer ended before its end. errors.Is(err, ErrTruncated)
	// asks for it as well.
	KindTruncated
	// KindTimeout: a deadline or a limit on time passed.
	KindTimeout
	// KindTransport: no connection, or it broke.
	KindTransport
	// KindOutput: the server could not parse what the model wrote, as llama.cpp and
	// Ollama say with status 500. Another sample may do.
	KindOutput
	// KindCanceled: the caller's context was canceled.
	KindCanceled
)

var kindNames = [...]string{
	"unknown failure", "bad request", "context length exceeded", "not authorized", "not found", "rate limited",
	"overloaded", "server failure", "unusable response", "truncated answer", "timeout", "transport failure", "model output not understood by the server", "canceled",
}

func (k Kind) Error() string {
	if k < 0 || int(k) >= len(kindNames) {
		k = 0
	}
	return kindNames[k]
}

var (
	// ErrTruncated is what a stream ends with that had no terminal signal, neither
	// a finish reason nor [DONE], and a plain answer that was cut.
	ErrTruncated = errors.New("model: answer ended before its end")
	// ErrAbandoned is the outcome of a stream whose loop ended early.
	ErrAbandoned = errors.New("model: stream abandoned before its end")
	// ErrBusy is returned when a trajectory is used by two calls at a time.
	ErrBusy = errors.New("model: the trajectory is busy with another call: finish or leave its stream first, or give each goroutine a trajectory of its own")
)

// An Error is a call that failed. Its text and its log value never hold content:
// prompts, answers and server messages are in the fields. It unwraps to its cause,
// such as the SDK's own *openai.Error, context.Canceled or io.ErrUnexpectedEOF.
type Error struct {
	Kind Kind
	// StatusCode is that of the last response; 0 if there was none.
	StatusCode int
	// Code, Type and Message are what the server said, from any of the known
	// envelopes; Message is capped.
	Code, Type, Message string
	// Body is the beginning of the response body, capped.
	Body []byte
	// RetryAfter is the wait that the server asked for.
	RetryAfter time.Duration
	// ContextLimit and ContextTokens are the numbers of a context-length failure, where
	// the server told them: what the model takes, and what the request would need.
	ContextLimit, ContextTokens int
	// Attempts is how often the request went out.
	Attempts int
	// RequestID is the server's x-request-id.
	RequestID string
	// URL is where the request went, without user and query; "" if it went nowhere.
	URL    string
	Header http.Header

	detail      string
	budgetSpent bool
	cause       error
}

// Error names the kind, and what else is known of status, target, attempts and limits.
// What the server said is in the fields.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("model: ")
	b.WriteString(e.Kind.Error())
	if e.detail != "" {
		b.WriteString(": " + e.detail)
	}
	var parts []string
	if e.StatusCode != 0 {
		parts = append(parts, fmt.Sprintf("status %d", e.StatusCode))
	}
	if e.URL != "" && (e.Kind == KindNotFound || e.Kind == KindTransport || e.Kind == KindResponse) {
		parts = append(parts, e.URL)
	}
	if e.RequestID != "" {
		parts = append(parts, fmt.Sprintf("request %.64q", e.RequestID))
	}
	if e.Attempts > 1 {
		parts = append(parts, fmt.Sprintf("%d attempts", e.Attempts))
	}
	if e.ContextLimit > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d tokens", e.ContextTokens, e.ContextLimit))
	}
	if e.budgetSpent {
		parts = append(parts, "the budget of retries is spent")
	}
	if e.RetryAfter > 0 {
		parts = append(parts, fmt.Sprintf("retry after %v", e.RetryAfter))
	}
	if len(parts) > 0 {
		b.WriteString(" (" + strings.Join(parts, ", ") + ")")
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Is matches the error's [Kind], and [ErrTruncated] for a truncated answer.
func (e *Error) Is(target error) bool {
	if kind, ok := target.(Kind); ok {
		return kind == e.Kind
	}
	return target == ErrTruncated && e.Kind == KindTruncated
}

// Format keeps the fields out of every verb, %+v and %#v included.
func (e *Error) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, e.Error()) }

// LogValue is what [log/slog] shows: no content.
func (e *Error) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("kind", e.Kind.Error()),
		slog.Int("status", e.StatusCode),
		slog.Int("attempts", e.Attempts),
		slog.String("request_id", e.RequestID),
	)
}
