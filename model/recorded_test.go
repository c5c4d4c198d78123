package model_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/routing"
	"github.com/stretchr/testify/require"
)

// recording is one recorded conversation: what is sent in each turn, and the bytes of
// what was answered.
type recording struct {
	id      string
	system  model.Message
	tools   *model.Tools
	sends   [][]model.Message
	answers []json.RawMessage
}

// recordings reads a file of flat rows: one message a row, in order, the first of a
// conversation with system prompt, tools and task.
func recordings(t *testing.T, file string) []*recording {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	var all []*recording
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		line := bytes.Clone(lines.Bytes())
		id := rawjson.Text(rawjson.Get(line, "conversation_id"))
		if len(all) == 0 || all[len(all)-1].id != id {
			all = append(all, &recording{id: id, system: model.System(rawjson.Text(rawjson.Get(line, "system")))})
		}
		r := all[len(all)-1]
		switch role := rawjson.Text(rawjson.Get(line, "role")); role {
		case "user":
			r.tools, err = model.ParseTools(rawjson.Get(line, "tools"))
			require.NoError(t, err)
			r.sends = append(r.sends, []model.Message{model.User(rawjson.Text(rawjson.Get(line, "content")))})
		case "tool":
			var results []model.Message
			for e := rawjson.Elements(rawjson.Get(line, "tool_results")); e.Next(); {
				results = append(results, model.ToolResult(rawjson.Text(rawjson.Get(e.Value, "tool_call_id")), rawjson.Text(rawjson.Get(e.Value, "content"))))
			}
			r.sends = append(r.sends, results)
		case "assistant":
			r.answers = append(r.answers, json.RawMessage(fmt.Sprintf(`{"role":"assistant","content":null,"reasoning_content":%s,"tool_calls":%s}`,
				rawjson.Get(line, "reasoning_content"), rawjson.Get(line, "tool_calls"))))
		default:
			t.Fatalf("%s: role %q", file, role)
		}
	}
	require.NoError(t, lines.Err())
	return all
}

func forEachDataset(t *testing.T, test func(t *testing.T, all []*recording)) {
	t.Run("own", func(t *testing.T) { test(t, recordings(t, "testdata/conversations.jsonl")) })
	t.Run("recorded", func(t *testing.T) {
		folder := os.Getenv("HOMING_DATA")
		if folder == "" {
			t.Skip("HOMING_DATA does not name the folder of the recorded conversations")
		}
		all := recordings(t, filepath.Join(folder, "agentic-coding.jsonl"))
		require.Len(t, all, 12)
		test(t, all)
	})
}

// wire records what a client sends and answers each conversation as it was recorded.
type wire struct {
	t      *testing.T
	byTask map[string]*recording // by the first user message
	ids    map[string][]string   // of the session, by conversation
	bodies map[string][][]byte
}

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	require.NoError(w.t, err)
	require.Len(w.t, body, int(req.ContentLength))
	var messages []json.RawMessage
	for e := rawjson.Elements(rawjson.Get(body, "messages")); e.Next(); {
		messages = append(messages, e.Value)
	}
	r := w.byTask[string(messages[1])]
	require.NotNil(w.t, r)
	w.ids[r.id] = append(w.ids[r.id], strings.Join(req.Header["X-Session-ID"], "|"))
	w.bodies[r.id] = append(w.bodies[r.id], body)
	text := fmt.Sprintf(`{"choices":[{"index":0,"message":%s,"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":%d}}`, r.answers[len(w.bodies[r.id])-1], len(body)/4)
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(text)), ContentLength: int64(len(text)),
	}, nil
}

// Recorded conversations, turn by turn: one ID each on every request, and every request
// begins with the bytes of the one before it; nothing that was recorded is changed.
func TestRecordedConversations(t *testing.T) {
	t.Parallel()
	forEachDataset(t, func(t *testing.T, all []*recording) {
		w := &wire{t: t, byTask: map[string]*recording{}, ids: map[string][]string{}, bodies: map[string][][]byte{}}
		for _, r := range all {
			w.byTask[string(r.sends[0][0].JSON())] = r
		}
		b, err := model.New(model.Config{BaseURL: "http://model.test/v1", Model: "m", HTTPClient: &http.Client{Transport: w}})
		require.NoError(t, err)
		distinct := map[string]bool{}
		for _, r := range all {
			trajectory := model.NewTrajectory(b, routing.NewSession(routing.Derive("run", r.id, "1")), r.system)
			trajectory.Tools = r.tools
			for i, messages := range r.sends {
				if i == len(r.answers) {
					break
				}
				res, err := trajectory.Send(context.Background(), messages...)
				require.NoError(t, err)
				require.Equal(t, string(r.answers[i]), string(res.Raw))
				require.Equal(t, string(r.answers[i]), string(res.Message.JSON()))
				require.Equal(t, rawjson.Text(rawjson.Get(r.answers[i], "reasoning_content")), res.Reasoning)
				calls := rawjson.Elements(rawjson.Get(r.answers[i], "tool_calls"))
				for _, call := range res.ToolCalls {
					require.True(t, calls.Next())
					require.NoError(t, call.Err)
					require.Equal(t, rawjson.Text(rawjson.Get(rawjson.Get(calls.Value, "function"), "arguments")), string(call.Arguments))
				}
				require.False(t, calls.Next())
			}
			requests := min(len(r.sends), len(r.answers))
			require.Len(t, w.ids[r.id], requests)
			ids := slices.Compact(w.ids[r.id])
			require.Equal(t, []string{string(trajectory.Session().ID)}, ids)
			distinct[ids[0]] = true
			for i := 1; i < requests; i++ {
				before, after := rawjson.Get(w.bodies[r.id][i-1], "messages"), rawjson.Get(w.bodies[r.id][i], "messages")
				require.True(t, bytes.HasPrefix(after, before[:len(before)-1]), "turn %d of %s begins with other bytes than turn %d", i+1, r.id, i)
				require.Contains(t, string(after), string(r.answers[i-1]))
			}
		}
		require.Len(t, distinct, len(all))
	})
}

// discard answers everything alike and keeps nothing, so that what is allocated is the
// client's.
type discard struct{ answer string }

func (d discard) RoundTrip(req *http.Request) (*http.Response, error) {
	_, err := io.Copy(io.Discard, req.Body)
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(d.answer)), ContentLength: int64(len(d.answer)),
	}, err
}

// What a turn allocates does not depend on the length of the history.
func TestAllocatedBytesPerTurnAreFlat(t *testing.T) {
	b, err := model.New(model.Config{BaseURL: "http://model.test/v1", Model: "m", HTTPClient: &http.Client{Transport: discard{okAnswer}}})
	require.NoError(t, err)
	trajectory := model.NewTrajectory(b, routing.NewSession(routing.NewID()), model.System("s"))
	message := model.User(strings.Repeat("x", 1000))
	perTurn := func(turns int) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range turns {
			_, err := trajectory.Send(context.Background(), message)
			require.NoError(t, err)
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / uint64(turns)
	}
	perTurn(100)
	early := perTurn(200)
	perTurn(1500)
	late := perTurn(200)
	t.Logf("%d bytes a turn at 100 turns, %d at 1,800", early, late)
	require.Less(t, late, early+early/4)
}
