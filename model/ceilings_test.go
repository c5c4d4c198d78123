package model_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/routing"
	"github.com/stretchr/testify/require"
)

// cost is what one of n equal steps allocates on average.
func cost(n int, step func()) (allocs, bytes int) {
	step() // connections, pools, the first growth of buffers
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range n {
		step()
	}
	runtime.ReadMemStats(&after)
	return int(after.Mallocs-before.Mallocs) / n, int(after.TotalAlloc-before.TotalAlloc) / n
}

// Encoding turn 1,000 costs the two new messages and nothing else: making them is one
// allocation each, their own bytes, and appending them is none. A transcript allocates in
// chunks of 64 KiB, two allocations for about 30 turns of 1 KB messages, which in the
// average of many turns is less than one.
func TestEncodingTurn1000(t *testing.T) {
	transcript := model.NewTranscript()
	text := strings.Repeat("x", 1000)
	for range 1000 {
		transcript.Append(model.User(text))
	}
	result, question := model.ToolResult("call_1", text), model.User(text)
	length := 0
	require.Zero(t, testing.AllocsPerRun(300, func() {
		transcript.Append(result, question)
		length = transcript.Snapshot().Len()
	}))
	require.Equal(t, 1000+2*301, length)
	require.EqualValues(t, 2, testing.AllocsPerRun(300, func() { //nolint:testifylint // it is a whole number
		transcript.Append(model.ToolResult("call_1", text), model.User(text))
	}))
	_, bytes := cost(300, func() { transcript.Append(result, question) })
	t.Logf("%d bytes for two messages of %d", bytes, len(result.JSON()))
	require.Less(t, bytes, 2*2*len(result.JSON()))
}

// longTurns returns what a whole turn allocates behind a history of 1,000 messages of
// 1 KB, its own message of 1 KB included.
func longTurns(t *testing.T, client model.Client) (allocs, bytes int) {
	t.Helper()
	text := strings.Repeat("x", 1000)
	history := make([]model.Message, 1000)
	for i := range history {
		history[i] = model.User(text)
	}
	trajectory := model.NewTrajectory(client, routing.NewSession(routing.NewID()), history...)
	ctx := context.Background()
	return cost(100, func() {
		if _, err := trajectory.Send(ctx, model.User(text)); err != nil {
			t.Fatal(err)
		}
	})
}

// A whole turn at 1,000 messages of 1 KB allocates at most 80 KB in 200 allocations, with
// a transport in process and through real sockets to a server in another process.
func TestCostOfTurn1000(t *testing.T) {
	within := func(name string, allocs, bytes int) {
		t.Logf("%s: %d allocations, %d bytes a turn", name, allocs, bytes)
		require.LessOrEqual(t, allocs, 200, name)
		require.Less(t, bytes, 80_000, name)
	}
	allocs, bytes := longTurns(t, through(t, model.Config{}, discard{okAnswer}.RoundTrip))
	within("in process", allocs, bytes)
	b := open(t, model.Config{BaseURL: elsewhere(t)})
	allocs, bytes = longTurns(t, b)
	within("real sockets", allocs, bytes)
}

// A stream of 2,000 chunks costs at most 200 allocations and one for each tenth chunk, for
// text, for thinking and for the arguments of a call.
func TestCostOfStream(t *testing.T) {
	const chunks = 2000
	for kind, delta := range map[string]string{
		"content":   `{"content":" word%d"}`,
		"escapes":   `{"content":"\n\"word\" \u00e9%d"}`,
		"reasoning": `{"reasoning_content":" word%d"}`,
		"arguments": `{"tool_calls":[{"index":0,"function":{"arguments":" word%d"}}]}`,
		"named":     `{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"bash","arguments":" word%d"}}]}`,
	} {
		var text strings.Builder
		text.WriteString("data: " + roleChunk + "\n\n")
		for i := range chunks {
			fmt.Fprintf(&text, `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":`+delta+`,"finish_reason":null}]}`+"\n\n", i)
		}
		text.WriteString("data: " + stopChunk + "\n\ndata: [DONE]\n\n")
		b := through(t, model.Config{}, func(*http.Request) (*http.Response, error) {
			return response("text/event-stream", text.String()), nil
		})
		req, events := ask("x"), 0
		allocs, bytes := cost(5, func() {
			stream := b.Stream(routed(), req)
			events = 0
			for _, err := range stream.Events() {
				if err != nil {
					t.Fatal(err)
				}
				events++
			}
		})
		t.Logf("%s: %d allocations, %d bytes for %d events", kind, allocs, bytes, events)
		require.GreaterOrEqual(t, events, chunks, kind)
		require.LessOrEqual(t, allocs, chunks/10+200, kind)
	}
}

// A session that waits for its next turn holds at most 512 bytes beside its transcript.
func TestIdleSession(t *testing.T) {
	const sessions = 10_000
	b := through(t, model.Config{}, discard{okAnswer}.RoundTrip)
	all := make([]*model.Trajectory, sessions)
	_, bytes := cost(1, func() {
		for i := range all {
			all[i] = model.NewTrajectory(b, routing.NewSession(routing.NewID()))
		}
	})
	t.Logf("%d bytes a session", bytes/sessions)
	require.LessOrEqual(t, bytes/sessions, 512)
	runtime.KeepAlive(all)
}

const elsewhereVariable = "HOMING_MODEL_TEST_SERVER"

// elsewhere starts a server in a process of its own, so that what it allocates does not
// count.
func elsewhere(t *testing.T) (url string) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestServerElsewhere$")
	child.Env = append(os.Environ(), elsewhereVariable+"=1")
	stdin, err := child.StdinPipe() // the child ends when it closes
	require.NoError(t, err)
	stdout, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	t.Cleanup(func() {
		_ = stdin.Close()
		_, _ = io.Copy(io.Discard, stdout)
		_ = child.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(line)
}

// TestServerElsewhere is the server that elsewhere starts; it tests nothing.
func TestServerElsewhere(t *testing.T) {
	if os.Getenv(elsewhereVariable) == "" {
		t.Skip("it serves the test of costs, from another process")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	fmt.Printf("http://%s/v1\n", l.Addr())
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		answer(okAnswer)(w, r)
	})}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = server.Close()
	}()
	require.ErrorIs(t, server.Serve(l), http.ErrServerClosed)
}
