package modeltest_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/model/modeltest"
	"github.com/homing-go/homing/routing"
)

// A test that talks to a server when HOMING_RECORD=1 is set, and to a file otherwise.
// Here it is recorded and replayed in one go.
func ExampleReplay() {
	t := new(fakeT) // in a test: its own
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "hello.txt") // in a test: in testdata

	ask := func(url string, transport http.RoundTripper) {
		client, err := model.New(model.Config{BaseURL: url, Model: "m", APIKey: "my-secret-key-1", HTTPClient: &http.Client{Transport: transport}})
		if err != nil {
			fmt.Println(err)
			return
		}
		defer client.CloseIdleConnections()
		run := model.NewTrajectory(client, routing.NewSession(routing.NewID()))
		res, err := run.Stream(t.Context(), model.User("Say hello.")).Response()
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(res.Text)
	}

	s := modeltest.NewServer(t, modeltest.SSE(`{"choices":[{"index":0,"delta":{"content":"hello"},"finish_reason":"stop"}]}`))
	ask(s.URL(), modeltest.Record(t, file, model.NewTransport()))
	fmt.Print(t.end())

	ask("http://nowhere.test/v1", modeltest.Replay(t, file, nil)) // in a test: a base in the place of nil
	fmt.Print(t.end())

	text, _ := os.ReadFile(file)
	fmt.Print(string(text))
	// Output:
	// hello
	// hello
	// homing recording 1
	// # Session IDs and secrets are replaced. To record it anew, run its test with HOMING_RECORD=1.
	//
	// session SESSION-1
	//
	// > POST /v1/chat/completions
	// > Content-Type: application/json
	// > X-Session-ID: SESSION-1
	// +{"messages":[
	// +{"role":"user","content":"Say hello."}],
	// +"model":"m",
	// +"stream":true,
	// +"stream_options":{"include_usage":true}}
	// < 200 OK
	// < Content-Type: text/event-stream
	// |data: {"choices":[{"index":0,"delta":{"content":"hello"},"finish_reason":"stop"}]}
	// |
	// |data: [DONE]
	// |
}

// A recording of a router that is told the session by a hash, and of a client that
// writes the time into its prompts.
func ExampleTape() {
	derived := regexp.MustCompile(`h-[0-9a-f]{64}|20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z`)
	tape := modeltest.Tape{
		Headers:  []string{"X-Router-Hash"},
		Secrets:  []string{"X-Customer"},
		Scrub:    func(text string) string { return derived.ReplaceAllString(text, "DERIVED") },
		MaxBytes: 64 << 20,
	}
	_ = &http.Client{Transport: tape.Replay(t, "testdata/router.txt", model.NewTransport())}
}
