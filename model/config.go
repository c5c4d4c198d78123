package model

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/homing-go/homing/routing"
)

// Config configures a client. It is copied; later changes have no effect. Only
// BaseURL and Model are required by [New], and Model by [Wrap].
type Config struct {
	// BaseURL is the root of the API, such as "http://localhost:8000/v1". Requests
	// go to chat/completions below it.
	BaseURL string
	// APIKey is sent as a bearer token. Without one there is no Authorization header,
	// whatever the environment holds.
	APIKey string
	Model  string
	// Carrier carries the session; nil means the header X-Session-ID.
	Carrier routing.Carrier
	// HTTPClient's transport, redirect policy, cookie jar and time limit are used; nil
	// means a transport tuned for many sessions at a time, see [NewTransport].
	HTTPClient *http.Client
	// Logger gets a line for each retry; nil logs nothing. Content is never logged.
	Logger *slog.Logger
	Retry  Retry
	Limits Limits
	Hooks  Hooks
	// Dialect adapts the wire format to a model family; nil means [OpenAI].
	Dialect Dialect
	// Audit, if set, sees every routed attempt and is told the token numbers of each
	// answer.
	Audit *routing.Audit
}

// Retry is the policy of the one retry layer. Its budget covers everything that can
// happen to one call, from a refused connection to an answer that was cut.
type Retry struct {
	// Max is how many attempts may follow the first; 0 means 4, negative none.
	Max int
	// MinWait is the wait before the second attempt; it doubles up to MaxWait, with
	// jitter. 0 means 500 ms and 8 s.
	MinWait, MaxWait time.Duration
	// MaxRetryAfter is the longest wait that a server may ask for by Retry-After. When
	// it asks for more, the call ends. 0 means 2 minutes.
	MaxRetryAfter time.Duration
	// ClientBudget bounds the attempts that all calls of the client may make beyond
	// their first ones: each takes one, and one comes back with every tenth answer and
	// one each second. TrajectoryBudget does so for each [Trajectory], where one comes back
	// with every turn. 0 means 100 and 20, negative no bound.
	ClientBudget, TrajectoryBudget int
	// Resend makes a stream that was cut after its first event go out again, within the
	// same budget. The events begin anew behind one of the kind [EventRestart]; whoever
	// collects them must forget what came before it.
	Resend bool
}

// Limits bound what one answer may cost. 0 means the default, a negative duration
// no limit.
type Limits struct {
	// ResponseBytes bounds an answer, decompressed; default 256 MiB.
	ResponseBytes int64
	// LineBytes bounds one event of a stream; default 64 MiB.
	LineBytes int
	// FirstByte is how long an attempt waits for a response header, and Idle how long
	// for the next bytes of a body; default 10 and 5 minutes. The total is bounded by
	// the context.
	FirstByte, Idle time.Duration
	// InFlight is how many requests may be under way at a time; more wait for their turn
	// in the order in which they came. 0 means no limit.
	InFlight int
}

// A ConfigError names the setting that cannot be used, and why.
type ConfigError struct {
	// Field is the setting, such as "BaseURL".
	Field, Reason string
}

func (e *ConfigError) Error() string { return fmt.Sprintf("model: config: %s: %s", e.Field, e.Reason) }

// withDefaults checks what New and Wrap have in common.
func (c Config) withDefaults() (Config, error) {
	if strings.TrimSpace(c.Model) == "" {
		return c, &ConfigError{Field: "Model", Reason: "it is empty; set the name that the server knows the model by"}
	}
	for i := range len(c.APIKey) {
		if k := c.APIKey[i]; k <= ' ' || k > '~' {
			return c, &ConfigError{Field: "APIKey", Reason: fmt.Sprintf("byte %d of it cannot travel in a header; look for a line end or a blank around the key", i)}
		}
	}
	if c.Dialect == nil {
		c.Dialect = OpenAI{}
	}
	if c.Carrier == nil {
		c.Carrier, _ = routing.Preset("generic")
	}
	switch {
	case c.Retry.Max == 0:
		c.Retry.Max = 4
	case c.Retry.Max < 0:
		c.Retry.Max = 0
	}
	defaultTo(&c.Retry.MinWait, 500*time.Millisecond)
	defaultTo(&c.Retry.MaxWait, max(8*time.Second, c.Retry.MinWait))
	defaultTo(&c.Retry.MaxRetryAfter, 2*time.Minute)
	defaultTo(&c.Retry.ClientBudget, 100)
	defaultTo(&c.Retry.TrajectoryBudget, 20)
	defaultTo(&c.Limits.ResponseBytes, 256<<20)
	defaultTo(&c.Limits.LineBytes, 64<<20)
	defaultTo(&c.Limits.FirstByte, 10*time.Minute)
	defaultTo(&c.Limits.Idle, 5*time.Minute)
	for _, limit := range [...]struct {
		field string
		value int64
	}{
		{"Retry.MinWait", int64(c.Retry.MinWait)},
		{"Retry.MaxWait", int64(c.Retry.MaxWait)},
		{"Retry.MaxRetryAfter", int64(c.Retry.MaxRetryAfter)},
		{"Limits.ResponseBytes", c.Limits.ResponseBytes},
		{"Limits.LineBytes", int64(c.Limits.LineBytes)},
		{"Limits.InFlight", int64(c.Limits.InFlight)},
	} {
		if limit.value < 0 {
			return c, &ConfigError{Field: limit.field, Reason: fmt.Sprintf("%d is negative; use 0 for the default", limit.value)}
		}
	}
	if c.Retry.MaxWait < c.Retry.MinWait {
		return c, &ConfigError{Field: "Retry.MaxWait", Reason: fmt.Sprintf("%v is below MinWait %v", c.Retry.MaxWait, c.Retry.MinWait)}
	}
	return c, nil
}

func defaultTo[T int | int64 | time.Duration](v *T, value T) {
	if *v == 0 {
		*v = value
	}
}

// withoutUser hides what may be a password in a text that is no URL.
func withoutUser(text string) string {
	if i := strings.LastIndexByte(text, '@'); i >= 0 {
		return "…" + text[i:]
	}
	return text
}

// parseBaseURL refuses what could not work, before the first request.
func parseBaseURL(text string) (*url.URL, error) {
	refuse := func(reason string) (*url.URL, error) {
		return nil, &ConfigError{Field: "BaseURL", Reason: reason}
	}
	u, err := url.Parse(text)
	switch {
	case text == "":
		return refuse(`it is empty; set the root of the API, such as "http://localhost:8000/v1"`)
	case err != nil:
		return refuse(fmt.Sprintf(`%q is no URL; write it as "http://host:port/v1"`, withoutUser(text)))
	case u.User != nil:
		return refuse("it holds user information; take it out, and set APIKey, or an HTTPClient whose transport authenticates")
	case u.Scheme != "http" && u.Scheme != "https":
		return refuse(fmt.Sprintf(`the scheme of %q is neither http nor https; write it as "http://host:port/v1"`, u.Redacted()))
	case u.Host == "" || u.Hostname() == "":
		return refuse(fmt.Sprintf("%q has no host", u.Redacted()))
	case strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/chat/completions"):
		return refuse(fmt.Sprintf(`%q names the endpoint; give the root of the API, which ends before "/chat/completions"`, u.Redacted()))
	case u.RawQuery != "" || u.Fragment != "":
		return refuse(fmt.Sprintf("%q has a query or a fragment, which would be lost", u.Redacted()))
	}
	return u, nil
}
