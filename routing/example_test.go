package routing_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/homing-go/homing/routing"
)

// router stands for a router that hashes X-Session-ID: it shows what it would hash,
// and tells a backend as real ones do.
func router() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Served-By", "backend-2")
		if id := r.Header.Get("X-Session-ID"); id != "" {
			_, _ = io.WriteString(w, "session "+id)
			return
		}
		_, _ = io.WriteString(w, "no session")
	}))
}

// get asks for a URL and prints what the router answers.
func get(ctx context.Context, client *http.Client, url string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := client.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = res.Body.Close() }()
	body, _ := io.ReadAll(res.Body)
	fmt.Println(string(body))
}

// A trajectory is many requests of one session. Work that it hands to a sub-agent has
// a session of its own, and calls on the side have none.
func Example() {
	server := router()
	defer server.Close()
	client := routing.Wrap(server.Client(), nil)

	trajectory := routing.NewSession(routing.Derive("run-7", "django__django-16899"))
	ctx := routing.NewContext(context.Background(), trajectory)
	get(ctx, client, server.URL)
	get(ctx, client, server.URL)

	worker := routing.NewContext(ctx, trajectory.Child("worker-1"))
	get(worker, client, server.URL)

	get(routing.Without(ctx), client, server.URL)
	// Output:
	// session 23fb760a69f1503fa5f48da569272a0f
	// session 23fb760a69f1503fa5f48da569272a0f
	// session 16c80cadc3b956439e1ec7965970f70c
	// no session
}

// Wrap makes any http.Client routing-aware; what is above it, an SDK or a retry
// layer, need not know.
func ExampleWrap() {
	server := router()
	defer server.Close()

	client := routing.Wrap(server.Client(), nil)

	ctx := routing.NewContext(context.Background(), routing.NewSession("trajectory-1"))
	get(ctx, client, server.URL)
	// Output: session trajectory-1
}

// Clients that hide their http.Client take a middleware, as those of OpenAI and
// Anthropic do: option.WithMiddleware(routing.Middleware(nil)).
func ExampleMiddleware() {
	server := router()
	defer server.Close()
	client := server.Client()

	middleware := routing.Middleware(nil)

	ctx := routing.NewContext(context.Background(), routing.NewSession("trajectory-1"))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	if err != nil {
		panic(err)
	}
	res, err := middleware(req, client.Do)
	if err != nil {
		panic(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, _ := io.ReadAll(res.Body)
	fmt.Println(string(body))
	// Output: session trajectory-1
}

// Names keep their spelling, all carry the same ID, and a bad one is told when it is
// configured.
func ExampleHeader() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, r.Header.Get("X-Session-ID"), " ", r.Header.Get("X-SMG-Routing-Key"))
	}))
	defer server.Close()

	carrier, err := routing.Header("X-Session-ID", "X-SMG-Routing-Key")
	if err != nil {
		panic(err)
	}
	client := routing.Wrap(server.Client(), carrier)
	get(routing.NewContext(context.Background(), routing.NewSession("trajectory-1")), client, server.URL)

	_, err = routing.Header("session_id")
	fmt.Println(err)
	// Output:
	// trajectory-1 trajectory-1
	// routing: session header "session_id": common proxies drop names with an underscore; use "session-id", or set HeaderConfig.Underscore
}

func ExamplePreset() {
	carrier, err := routing.Preset("generic")
	fmt.Println(carrier != nil, err)
	_, err = routing.Preset("genric")
	fmt.Println(err)
	// Output:
	// true <nil>
	// routing: no preset is named "genric"; there is "generic"
}

func ExampleNewContext() {
	ctx := context.Background()
	fmt.Println(routing.Check(ctx))

	ctx = routing.NewContext(ctx, routing.NewSession("trajectory-1"))
	s, ok := routing.FromContext(ctx)
	fmt.Println(s.ID, ok, routing.Check(ctx))

	ctx = routing.NewContext(ctx, routing.NewSession("line\nbreak"))
	fmt.Println(routing.Check(ctx))
	// Output:
	// routing: no session in the context: use routing.NewContext, or routing.Without for a call that must not be routed
	// trajectory-1 true <nil>
	// routing: unusable session ID: byte 4 is 0x0a, only visible ASCII can travel; use Derive for other text
}

// The same parts give the same ID on every machine, so that a resumed run finds its
// backends again; the parts of one list never run into each other.
func ExampleDerive() {
	fmt.Println(routing.Derive("run-1", "django__django-16899", "1"))
	fmt.Println(routing.Derive("a", "bc"))
	fmt.Println(routing.Derive("ab", "c"))
	// Output:
	// daabb0f14dd5540dafebdc195037eb74
	// 5cb066d846d85e7ebc563088cdd51c0f
	// da23bc05197b5a8999adf82101452a04
}

func ExampleParseID() {
	id, err := routing.ParseID("trajectory-1")
	fmt.Println(id, err)

	_, err = routing.ParseID(strings.Repeat("x", 300))
	var bad *routing.IDError
	fmt.Println(errors.As(err, &bad), err)
	// Output:
	// trajectory-1 <nil>
	// true routing: unusable session ID: it has 300 bytes, the limit is 255; use Derive for long names
}

// A session is written down with the trajectory and restored with it.
func ExampleSession_Child() {
	s := routing.NewSession("trajectory-1").Child("worker-1")
	text, err := json.Marshal(s)
	fmt.Println(string(text), err)

	var restored routing.Session
	err = json.Unmarshal(text, &restored)
	fmt.Println(restored == s, err)
	// Output:
	// {"id":"d53f53142c885a9bb09ed2c6f3a325b5","parent":"trajectory-1","root":"trajectory-1"} <nil>
	// true <nil>
}

// An encoder that builds its own bodies writes the members that carry the session
// itself.
func ExampleInBody() {
	carrier := routing.Join(sessionMember{})
	ctx := routing.NewContext(context.Background(), routing.NewSession("trajectory-1"))
	ctx, body := routing.InBody(ctx, carrier, []byte(`{"model":"m","messages":[]}`))
	fmt.Println(string(body))
	_ = ctx // is the context of the request
	// Output: {"model":"m","messages":[],"session_id":"trajectory-1"}
}

// sessionMember sends the ID as a member of the body.
type sessionMember struct{ routing.None }

func (sessionMember) Members(s routing.Session, _ routing.Turn) []routing.Member {
	value, _ := json.Marshal(s.ID)
	return []routing.Member{{Path: []string{"session_id"}, Value: value}}
}

// An Audit proves affinity, by what responses tell of their backend and by the tokens
// that came from the prefix cache.
func ExampleAudit() {
	server := router()
	defer server.Close()

	var audit routing.Audit
	client := &http.Client{Transport: &routing.Transport{Base: server.Client().Transport, Audit: &audit}}

	s := routing.NewSession("trajectory-1")
	ctx := routing.NewContext(context.Background(), s)
	get(ctx, client, server.URL)
	audit.Tokens(s, 1, 1000, 0) // the usage that the response told
	get(ctx, client, server.URL)
	audit.Tokens(s, 2, 1400, 950)

	session, _ := audit.Session(s.ID)
	fmt.Println(session.Verdict(), session.Backends, session.CachedRatio())
	report := audit.Report()
	fmt.Println(report.Requests, "requests,", report.Mismatches, "mismatches")
	// Output:
	// session trajectory-1
	// session trajectory-1
	// stuck [backend-2] 0.95
	// 2 requests, 0 mismatches
}

// Where no request may go out unrouted, MissingRefuse makes a forgotten session an
// error.
func ExampleTransport() {
	server := router()
	defer server.Close()
	client := &http.Client{Transport: &routing.Transport{Base: server.Client().Transport, Missing: routing.MissingRefuse}}

	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, server.URL, nil)
	if err != nil {
		panic(err)
	}
	_, err = client.Do(req)
	fmt.Println(errors.Is(err, routing.ErrNoSession))
	get(routing.Without(context.Background()), client, server.URL)
	// Output:
	// true
	// no session
}
