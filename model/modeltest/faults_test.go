package modeltest_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/model/modeltest"
	"github.com/homing-go/homing/routing"
)

// A fault breaks one promise of a sound client: on the way to the wire, in the
// session of its calls, or by a wrapper.
type fault struct {
	wire    func(req *http.Request)
	answer  func(res *http.Response)
	session func(ctx context.Context) context.Context
	wrap    func(c model.Client) model.Client
	build   func(url string, pool http.RoundTripper) model.Client // in the place of a sound one
	retry   model.Retry
	// broken are the promises that must fail, and no other, if it is not nil.
	broken []string
	// message is what one of them says.
	message string
}

// untouched are promises that have nothing to do with how a session travels.
var untouched = []string{
	"nothing without headers", "no session is an error", "a stream is lazy", "early breaks leave no connections",
	"cancel of a plain call", "cancel of a stream", "cancel of a wait", "history grows at its end",
}

const header = "X-Session-ID"

var lost = func(req *http.Request) { delete(req.Header, header) }

// when breaks only some requests.
func when(is func(req *http.Request) bool, do func(req *http.Request)) func(req *http.Request) {
	return func(req *http.Request) {
		if is(req) {
			do(req)
		}
	}
}

func isRetry(req *http.Request) bool {
	return routing.TurnFrom(req.Context()).Attempt > 1 && !isRedirected(req)
}

func isStream(req *http.Request) bool { return req.Header.Get("Accept") == "text/event-stream" }

func isRedirected(req *http.Request) bool { return req.Response != nil }

var shared = routing.NewSession(routing.Derive("shared"))

var faults = map[string]fault{
	"header lost on retry": {
		wire: when(isRetry, lost),
		broken: []string{
			"session on a retry after status 500", "session on a retry after status 429", "session on a retry after a reset",
			"same body on every attempt", "a cut plain answer is no answer", "session on a stream cut before its first event",
		},
		message: `the session is lost on retry 1 of a plain call, after status 500: POST /v1/chat/completions has no header X-Session-ID`,
	},
	"header lost on stream": {
		wire:    when(isStream, lost),
		message: `the session is lost on a stream: POST`,
	},
	"header lost on redirect": {
		wire:    when(isRedirected, lost),
		broken:  []string{"session on a redirect inside the origin"},
		message: `the session is lost behind a redirect 307 of a plain call: POST /elsewhere/chat/completions`,
	},
	"ID shared by trajectories": {
		session: func(ctx context.Context) context.Context { return routing.NewContext(ctx, shared) },
		message: `two trajectories share the ID ` + string(shared.ID),
	},
	"new ID for each request": {
		session: func(ctx context.Context) context.Context {
			return routing.NewContext(ctx, routing.NewSession(routing.NewID()))
		},
		message: `one trajectory has 3 IDs, one for each backend it may end on`,
	},
	"two header lines": {
		wire:    func(req *http.Request) { req.Header[header] = append(req.Header[header], "another") },
		message: `2 header lines on the first attempt: each router takes another one: X-Session-ID: `,
	},
	"wrong spelling": {
		wire: func(req *http.Request) {
			if id := req.Header[header]; id != nil {
				lost(req)
				req.Header["X-Session-Id"] = id
			}
		},
		broken:  []string{"session spelled as configured", "session in several headers"},
		message: `wrong spelling of a session header on a plain call: the wire shows "X-Session-Id: `,
	},
	"body differs on retry": {
		wire: when(isRetry, func(req *http.Request) {
			body, _ := io.ReadAll(req.Body)
			body = bytes.Replace(body, []byte(`"model"`), []byte(` "model"`), 1)
			req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		}),
		broken:  []string{"same body on every attempt", "session on a stream cut before its first event"},
		message: `the body differs on attempt 2 of a plain call, from byte `,
	},
}

// tampered is what lies below the session on the way to the wire.
type tampered struct {
	fault
	pool *http.Transport
}

func (t tampered) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.wire != nil {
		req = req.Clone(req.Context())
		t.wire(req)
	}
	res, err := t.pool.RoundTrip(req)
	if err == nil && t.answer != nil {
		t.answer(res)
	}
	return res, err
}

// confused is a client that does not keep to the session of the context.
type confused struct {
	model.Client
	session func(ctx context.Context) context.Context
}

func (c confused) swap(ctx context.Context) context.Context {
	if _, ok := routing.FromContext(ctx); !ok {
		return ctx
	}
	return c.session(ctx)
}

func (c confused) Generate(ctx context.Context, req *model.Request) (*model.Response, error) {
	return c.Client.Generate(c.swap(ctx), req)
}

func (c confused) Stream(ctx context.Context, req *model.Request) *model.Stream {
	return c.Client.Stream(c.swap(ctx), req)
}

func (f fault) client(t *testing.T, url string, c routing.Carrier) model.Client {
	t.Helper()
	pool := model.NewTransport()
	t.Cleanup(pool.CloseIdleConnections)
	if f.build != nil {
		return f.build(url, pool)
	}
	cfg := model.Config{BaseURL: url, Carrier: c, Retry: f.retry, HTTPClient: &http.Client{Transport: tampered{f, pool}}}
	base := newBase(t, cfg)
	t.Cleanup(base.CloseIdleConnections)
	switch {
	case f.wrap != nil:
		return f.wrap(base)
	case f.session != nil:
		return confused{base, f.session}
	}
	return base
}

// faultEnv names the fault of a child process.
const faultEnv = "MODELTEST_FAULT"

// TestFaultyClient is the body of the child processes of TestFaults.
func TestFaultyClient(t *testing.T) {
	name := os.Getenv(faultEnv)
	if name == "" {
		t.Skipf("a part of TestFaults: %s is not set", faultEnv)
	}
	f, ok := faults[name]
	if !ok {
		f, ok = moreFaults[name]
	}
	require.True(t, ok, name)
	modeltest.Conformance(t, f.client)
}

// suite runs the suite, or one promise of it, against a faulty client in a process of
// its own, since it must fail, and returns the output.
func suite(t *testing.T, fault, pattern string) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	child := exec.CommandContext(t.Context(), self, "-test.run="+pattern, "-test.parallel=8", "-test.timeout=60s")
	child.Env = append(os.Environ(), faultEnv+"="+fault)
	output, err := child.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "the suite passes: %s", output)
	require.Equal(t, 1, exit.ExitCode(), "%s", output)
	require.NotContains(t, string(output), "DATA RACE")
	return string(output)
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := suite(t, name, "^TestFaultyClient$")
			require.Contains(t, out, f.message)
			for other, g := range faults {
				if other != name {
					require.NotContains(t, out, g.message, "the message of %s is not its own", other)
				}
			}
			failed := failedPromises(out)
			if f.broken != nil {
				require.Equal(t, slices.Sorted(slices.Values(f.broken)), failed, out)
			}
			for _, promise := range untouched {
				require.NotContains(t, failed, promise, out)
			}
		})
	}
}

var failLine = regexp.MustCompile(`(?m)^\s*--- FAIL: TestFaultyClient/promise/([^/\s]+) `)

func failedPromises(output string) []string {
	var names []string
	for _, m := range failLine.FindAllStringSubmatch(output, -1) {
		names = append(names, strings.ReplaceAll(m[1], "_", " "))
	}
	return slices.Sorted(slices.Values(names))
}
