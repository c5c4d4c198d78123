package routingtest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/homing-go/homing/routing/routingtest"
)

// A conversation of six turns, once behind a router that keeps it in place and
// once behind one that does not.
func Example() {
	for _, policy := range []routingtest.Policy{routingtest.ConsistentHash{}, routingtest.RoundRobin{}} {
		cluster, err := routingtest.NewCluster(routingtest.ClusterConfig{Backends: 8, Policy: policy})
		if err != nil {
			log.Fatal(err)
		}
		var messages []string
		for turn := range 6 {
			messages = append(messages, fmt.Sprintf(`{"role":"user","content":"step %d"}`, turn))
			body := `{"messages":[` + strings.Join(messages, ",") + `]}`
			messages = append(messages, string(ask(cluster.URL(), "trajectory-1", body)))
		}
		s := cluster.Stats()
		fmt.Printf("%T: %d of %d prompt tokens cached\n", policy, s.CachedTokens, s.PromptTokens)
		if err := cluster.Close(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// routingtest.ConsistentHash: 235 of 339 prompt tokens cached
	// routingtest.RoundRobin: 0 of 339 prompt tokens cached
}

// ask returns the answer's message as it came.
func ask(baseURL, session, body string) json.RawMessage {
	req, err := http.NewRequest(http.MethodPost, baseURL+"/chat/completions", strings.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	req.Header.Set("X-Session-ID", session)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		log.Fatal(err)
	}
	var answer struct {
		Choices []struct {
			Message json.RawMessage `json:"message"`
		} `json:"choices"`
	}
	err = json.NewDecoder(res.Body).Decode(&answer)
	_ = res.Body.Close()
	if err != nil {
		log.Fatal(err)
	}
	return answer.Choices[0].Message
}

// A backend alone is a server of scripted answers.
func ExampleNewBackend() {
	backend := routingtest.NewBackend(routingtest.BackendConfig{
		Reply: routingtest.Script(
			routingtest.Answer{ToolCalls: []routingtest.ToolCall{{ID: "call_1", Name: "bash", Arguments: `{"command":"ls"}`}}},
			routingtest.Answer{Text: "There is one file."},
		),
	})
	server := httptest.NewServer(backend)
	defer server.Close()

	fmt.Println(string(ask(server.URL+"/v1", "s", `{"messages":[{"role":"user","content":"What is here?"}]}`)))
	// Output: {"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}]}
}

// The next request is refused, and the one after it loses its stream.
func ExampleFaults() {
	backend := routingtest.NewBackend(routingtest.BackendConfig{})
	server := httptest.NewServer(backend)
	defer server.Close()
	backend.Faults().Next(1, routingtest.Status(503, "Retry-After", "2"))
	backend.Faults().Next(1, routingtest.Fault{Kind: routingtest.FaultCut, After: 1})

	for range 2 {
		body := strings.NewReader(`{"stream":true,"messages":[{"role":"user","content":"hello"}]}`)
		res, err := http.Post(server.URL+"/v1/chat/completions", "application/json", body)
		if err != nil {
			fmt.Println(err)
			return
		}
		_, err = io.ReadAll(res.Body)
		_ = res.Body.Close()
		fmt.Println(res.StatusCode, res.Header.Get("Retry-After"), err)
	}
	// Output:
	// 503 2 <nil>
	// 200  unexpected EOF
}

// A router fronts any handlers, and takes them down and up.
func ExampleNewRouter() {
	var targets []routingtest.Target
	for _, name := range []string{"a", "b", "c"} {
		targets = append(targets, routingtest.Target{
			Name:    name,
			Handler: routingtest.NewBackend(routingtest.BackendConfig{Name: name}),
		})
	}
	router, err := routingtest.NewRouter(routingtest.RouterConfig{
		Policy:  routingtest.ConsistentHash{Headers: []string{"X-Session-ID"}},
		Targets: targets,
	})
	if err != nil {
		log.Fatal(err)
	}
	home := func() string {
		r := httptest.NewRequest(http.MethodGet, "/v1/models", http.NoBody)
		r.Header.Set("X-Session-ID", "trajectory-1")
		w := httptest.NewRecorder()
		router.ServeHTTP(w, r)
		return w.Header().Get("X-Served-By")
	}

	first := home()
	fmt.Println("stays:", home() == first)
	_ = router.Down(first)
	fmt.Println("moves:", home() != first)
	_ = router.Up(first)
	fmt.Println("returns:", home() == first)
	// Output:
	// stays: true
	// moves: true
	// returns: true
}

// Recorded conversations answer as they once did, byte for byte.
func ExampleRecorded() {
	reply, err := routingtest.Recorded([]json.RawMessage{
		json.RawMessage(`{"role":"user","content":"hello"}`),
		json.RawMessage(`{"role": "assistant", "content": "caf\u00e9"}`),
	})
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(routingtest.NewBackend(routingtest.BackendConfig{Reply: reply}))
	defer server.Close()
	fmt.Println(string(ask(server.URL+"/v1", "s", `{"messages":[{"role":"user","content":"hello"}]}`)))
	// Output: {"role": "assistant", "content": "caf\u00e9"}
}
