package qwen_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/homing-go/homing/internal/rawjson"
	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/model/modeltest"
	"github.com/homing-go/homing/qwen"
	"github.com/homing-go/homing/routing"
	"github.com/stretchr/testify/require"
)

// A recordedRow is one message of a recorded conversation.
type recordedRow struct {
	ConversationID string          `json:"conversation_id"`
	Role           string          `json:"role"`
	System         string          `json:"system"`
	Content        string          `json:"content"`
	Reasoning      string          `json:"reasoning_content"`
	ToolCalls      json.RawMessage `json:"tool_calls"`
	ToolResults    []struct {
		ID      string `json:"tool_call_id"`
		Content string `json:"content"`
	} `json:"tool_results"`
}

// Recorded conversations replayed through the client: every call is read and translated
// without a repair or an error, plain and streamed, and the history only grows.
func TestRecordedConversations(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("HOMING_DATA")
	if folder == "" {
		t.Skip("HOMING_DATA does not name the folder of the recorded conversations")
	}
	file, err := os.Open(filepath.Join(folder, "agentic-coding.jsonl"))
	require.NoError(t, err)
	defer file.Close()
	var order []string
	rows := map[string][]recordedRow{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 64<<20)
	calls := 0
	for lines.Scan() {
		var row recordedRow
		require.NoError(t, json.Unmarshal(lines.Bytes(), &row))
		if rows[row.ConversationID] == nil {
			order = append(order, row.ConversationID)
		}
		rows[row.ConversationID] = append(rows[row.ConversationID], row)
		for e := rawjson.Elements(row.ToolCalls); row.ToolCalls != nil && e.Next(); {
			calls++
		}
	}
	require.NoError(t, lines.Err())
	require.Len(t, order, 12)
	require.Greater(t, calls, 600)
	for i, id := range order {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			replayConversation(t, rows[id], i%2 == 1)
		})
	}
}

func replayConversation(t *testing.T, rows []recordedRow, stream bool) {
	t.Helper()
	var steps []modeltest.Step
	for _, row := range rows {
		if row.Role == "assistant" {
			message := append([]byte(`{"role":"assistant","content":null,"reasoning_content":`), rawjson.AppendQuoted(nil, row.Reasoning)...)
			steps = append(steps, modeltest.Message(append(append(append(message, `,"tool_calls":`...), row.ToolCalls...), '}')))
		}
	}
	server := modeltest.NewServer(t, steps...)
	client, err := qwen.New(qwen.Config{Config: model.Config{BaseURL: server.URL(), Model: "qwen"}})
	require.NoError(t, err)
	t.Cleanup(client.CloseIdleConnections)
	var tools qwen.Toolset
	trajectory := model.NewTrajectory(client, routing.NewSession(routing.NewID()), model.System(rows[0].System))
	trajectory.Tools = tools.Tools()
	send := trajectory.Send
	if stream {
		send = func(ctx context.Context, ms ...model.Message) (*model.Response, error) {
			return trajectory.Stream(ctx, ms...).Response()
		}
	}
	messages := []model.Message{model.User(rows[0].Content)}
	for _, row := range rows[1:] {
		if row.Role == "tool" {
			for _, r := range row.ToolResults {
				messages = append(messages, model.ToolResult(r.ID, r.Content))
			}
			continue
		}
		res, err := send(t.Context(), messages...)
		require.NoError(t, err)
		messages = nil
		require.Empty(t, res.Repairs)
		actions, err := tools.Actions(res)
		require.NoError(t, err)
		n := 0
		for e := rawjson.Elements(row.ToolCalls); e.Next(); n++ {
			arguments := rawjson.Text(rawjson.Get(rawjson.Get(e.Value, "function"), "arguments"))
			require.Equal(t, arguments, string(res.ToolCalls[n].Arguments))
			var want struct{ Command string }
			require.NoError(t, json.Unmarshal([]byte(arguments), &want))
			require.Equal(t, want.Command, actions[n].(qwen.Exec).Command)
			require.Contains(t, string(res.Message.JSON()), string(rawjson.AppendQuoted(nil, arguments)))
		}
		require.Len(t, res.ToolCalls, n)
		require.Equal(t, row.Reasoning, res.Reasoning)
	}
	before := ""
	for _, r := range server.Requests() {
		history := string(rawjson.Get(r.Body, "messages"))
		require.True(t, strings.HasPrefix(history, strings.TrimSuffix(before, "]")))
		before = history
	}
}
