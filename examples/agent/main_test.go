package main

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/homing-go/homing/model/modeltest"
	"github.com/homing-go/homing/routing"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAgent(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	require.Zero(t, run(nil, &stdout, &stderr), stderr.String())
	require.Empty(t, stderr.String())
	require.Contains(t, stdout.String(), "error: bad_json in replace")
	require.Contains(t, stdout.String(), "mended: call_in_content")
	require.Contains(t, stdout.String(), "The greeting is spelt right now.\n\nThe file is now: print(\"hello\")\n4 of 4 requests carried the session of the run.\n")
}

func TestAgentJSON(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	require.Zero(t, run([]string{"-json"}, &stdout, &stderr), stderr.String())
	require.Contains(t, stderr.String(), "read {")
	var got struct {
		Answer, File string
		Requests     int
		Carried      int `json:"carried_session"`
	}
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &got))
	require.Equal(t, "print(\"hello\")\n", got.File)
	require.Equal(t, 4, got.Requests)
	require.Equal(t, 4, got.Carried)
	require.NotEmpty(t, got.Answer)
}

func TestAgentUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-unknown"}, {"extra"}} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, 2, run(args, &stdout, &stderr), args)
		require.NotEmpty(t, stderr.String())
		require.Empty(t, stdout.String())
	}
	var stdout, stderr bytes.Buffer
	require.Zero(t, run([]string{"-h"}, &stdout, &stderr))
	require.Contains(t, stderr.String(), "-json")
}

// An error of the server ends the run with it, and what a tool finds wrong is told to the
// model.
func TestAgentErrors(t *testing.T) {
	t.Parallel()
	tools, err := toolbox(map[string]string{"a": "xx"})
	require.NoError(t, err)
	server := modeltest.NewServer(t,
		modeltest.ToolCall("read", `{"path":"b"}`), modeltest.ToolCall("replace", `{"path":"a","old":"x","new":"y"}`),
		modeltest.Status(401, nil, `{"error":{"message":"no key"}}`))
	var log bytes.Buffer
	_, err = agent(context.Background(), server.URL(), routing.NewSession(routing.NewID()), &log, tools, "go")
	require.ErrorContains(t, err, "status 401")
	require.Contains(t, log.String(), `there is no file \"b\"`)
	require.Contains(t, log.String(), "occurs 2 times")
}
