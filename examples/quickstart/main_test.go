package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/routing"
	"github.com/homing-go/homing/routing/routingtest"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestQuickstartJSON(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	require.Zero(t, run([]string{"-json"}, &stdout, &stderr, nil), stderr.String())
	require.Empty(t, stderr.String())
	var got struct {
		Requests, Trajectories, Backends, Mismatches int

		CachedRatio         float64 `json:"cached_ratio"`
		CachedRatioUnrouted float64 `json:"cached_ratio_unrouted"`
	}
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &got))
	require.Equal(t, 1000, got.Requests)
	require.Equal(t, 100, got.Trajectories)
	require.Equal(t, 8, got.Backends)
	require.Zero(t, got.Mismatches)
	require.GreaterOrEqual(t, got.CachedRatio, 0.9)
	require.LessOrEqual(t, got.CachedRatioUnrouted, 0.5)
}

func TestQuickstartTable(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	require.Zero(t, run([]string{"-trajectories", "20", "-turns", "5", "-backends", "4"}, &stdout, &stderr, &stderr))
	require.Contains(t, stdout.String(), "consistent hash")
	require.Contains(t, stdout.String(), "0 of 100 requests left their trajectory's backend and 100 % of the history was in its cache")
	require.Contains(t, stderr.String(), "100 of 100 requests")
}

func TestQuickstartUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-turns", "1"}, {"-trajectories", "0"}, {"-backends", "-1"}, {"-unknown"}, {"extra"}, {"-turns", "x"}} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, 2, run(args, &stdout, &stderr, nil), args)
		require.NotEmpty(t, stderr.String())
		require.Empty(t, stdout.String())
	}
	var stdout, stderr bytes.Buffer
	require.Zero(t, run([]string{"-h"}, &stdout, &stderr, nil))
	require.Contains(t, stderr.String(), "-trajectories")
}

// Two trajectories that swap their IDs half way are sent to each other's backend, where
// nothing of their history is known: the proof is not blind to it.
func TestSwappedIDsShowAsLostHits(t *testing.T) {
	t.Parallel()
	cluster, err := routingtest.NewCluster(routingtest.ClusterConfig{Backends: 2})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Close()) })
	audit := new(routing.Audit)
	client, err := model.New(model.Config{BaseURL: cluster.URL(), Model: "routingtest", Audit: audit})
	require.NoError(t, err)
	t.Cleanup(client.CloseIdleConnections)

	ask := func(history *model.Transcript, s routing.Session, turn int) {
		history.Append(model.User(fmt.Sprint(turn, strings.Repeat(" text", 50))))
		ctx := routing.NewContext(routing.WithTurn(context.Background(), routing.Turn{Index: turn}), s)
		answer, err := client.Generate(ctx, &model.Request{Messages: history.Snapshot()})
		require.NoError(t, err)
		history.Append(answer.Message)
	}
	backend := func(s routing.Session) string {
		report, _ := audit.Session(s.ID)
		return report.Backends[0]
	}
	// Two sessions that the ring sends to different backends.
	first := routing.NewSession(routing.Derive("swap", "0"))
	a := model.NewTranscript(model.System("first"))
	ask(a, first, 1)
	second, b := first, a
	for i := 1; backend(second) == backend(first); i++ {
		second, b = routing.NewSession(routing.Derive("swap", fmt.Sprint(i))), model.NewTranscript(model.System(fmt.Sprint("second ", i)))
		ask(b, second, 1)
	}
	for turn := 2; turn <= 5; turn++ {
		ask(a, first, turn)
		ask(b, second, turn)
	}
	before := audit.Report()
	require.InDelta(t, 1, before.CachedRatio(), 0, "before the swap all of it is found")
	ask(a, second, 6)
	ask(b, first, 6)
	after := audit.Report()
	require.Greater(t, after.PriorTokens, before.PriorTokens)
	require.Equal(t, before.CachedTokens, after.CachedTokens, "none of the turn after the swap is found")
	require.Zero(t, after.Mismatches, "each ID stays where it was: it is the history that is in the wrong place")
}
