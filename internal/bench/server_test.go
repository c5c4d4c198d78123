package bench

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const serverVariable = "HOMING_BENCH_SERVER"

var serverURL string

// TestMain runs this test binary once more as the server.
func TestMain(m *testing.M) {
	if os.Getenv(serverVariable) != "" {
		serveForever()
		return
	}
	os.Exit(withServer(m.Run))
}

func withServer(run func() int) int {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	child := exec.Command(self)
	child.Env = append(os.Environ(), serverVariable+"=1", "GOMAXPROCS=1")
	child.Stderr = os.Stderr
	stdin, err := child.StdinPipe() // the child ends when it closes
	if err != nil {
		panic(err)
	}
	stdout, err := child.StdoutPipe()
	if err != nil {
		panic(err)
	}
	if err := child.Start(); err != nil {
		panic(err)
	}
	defer func() {
		_ = stdin.Close()
		_ = child.Wait()
	}()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		panic(err)
	}
	serverURL = strings.TrimSpace(line)
	return run()
}

func serveForever() {
	runtime.GOMAXPROCS(1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("http://%s/v1\n", l.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	server := &http.Server{Handler: http.HandlerFunc(serve), ConnState: func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			accepted.Add(1)
		}
	}}
	panic(server.Serve(l))
}

var accepted atomic.Int64

const answerText = `{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"done","tool_calls":[{"id":"call_1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls -la\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1000,"completion_tokens":20,"total_tokens":1020,"prompt_tokens_details":{"cached_tokens":900}}}`

var streams = map[string][]byte{
	"content":   stream(`{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" word%d"},"finish_reason":null}]}`),
	"arguments": stream(`{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":" word%d"}}]},"finish_reason":null}]}`),
}

const chunks = 2000

func stream(form string) []byte {
	var b strings.Builder
	b.WriteString(`data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n")
	if strings.Contains(form, "tool_calls") {
		b.WriteString(`data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"bash","arguments":"{\"command\":\""}}]},"finish_reason":null}]}` + "\n\n")
	}
	for i := range chunks {
		fmt.Fprintf(&b, "data: "+form+"\n\n", i)
	}
	if strings.Contains(form, "tool_calls") {
		b.WriteString(`data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"}"}}]},"finish_reason":null}]}` + "\n\n")
	}
	b.WriteString(`data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n")
	return []byte(b.String())
}

// serve answers without looking at the body: /v1/chat/completions plainly, below
// /v1/content and /v1/arguments with a stream of that kind, below /v1/slow after 5 ms, and
// at /accepted with the number of connections so far.
func serve(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	switch {
	case r.URL.Path == "/accepted":
		fmt.Fprint(w, accepted.Load())
		return
	case strings.HasPrefix(r.URL.Path, "/v1/slow"):
		time.Sleep(5 * time.Millisecond)
	}
	for kind, text := range streams {
		if strings.HasPrefix(r.URL.Path, "/v1/"+kind) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write(text)
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, answerText)
}
