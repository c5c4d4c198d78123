package model_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/homing-go/homing/model"
	"github.com/stretchr/testify/require"
)

func texts(t *testing.T, s model.Snapshot) []string {
	t.Helper()
	got := []string{}
	for i, m := range s.Messages() {
		require.Len(t, got, i)
		var v struct{ Content string }
		require.NoError(t, json.Unmarshal(m.JSON(), &v))
		got = append(got, v.Content)
	}
	require.Len(t, got, s.Len())
	return got
}

func TestTranscriptSnapshotsAndForks(t *testing.T) {
	t.Parallel()
	tr := model.NewTranscript(model.System("0"))
	var snapshots []model.Snapshot
	var forks []*model.Transcript
	want := []string{"0"}
	for i := 1; i < 60; i++ {
		snapshots = append(snapshots, tr.Snapshot())
		forks = append(forks, tr.Fork())
		text := fmt.Sprint(i, strings.Repeat("x", i*i*7%5000))
		tr.Append(model.User(text), model.Message{})
		want = append(want, text)
	}
	require.Equal(t, want, texts(t, tr.Snapshot()))
	for i, s := range snapshots {
		require.Equal(t, want[:i+1], texts(t, s))
		forks[i].Append(model.User("fork"))
		second := forks[i].Fork()
		second.Append(model.User("second"))
		require.Equal(t, append(append([]string{}, want[:i+1]...), "fork"), texts(t, forks[i].Snapshot()))
		require.Equal(t, append(append([]string{}, want[:i+1]...), "fork", "second"), texts(t, second.Snapshot()))
		require.Equal(t, want[:i+1], texts(t, s))
	}
	require.Equal(t, want, texts(t, tr.Snapshot()))
	require.Equal(t, 60, tr.Len())
}

func TestZeroTranscript(t *testing.T) {
	t.Parallel()
	var tr model.Transcript
	require.Zero(t, tr.Snapshot().Len())
	require.Zero(t, tr.Snapshot().Size())
	require.Empty(t, texts(t, tr.Snapshot()))
	require.Empty(t, texts(t, model.Snapshot{}))
	tr.Fork().Append(model.User("fork"))
	tr.Append(model.User("a"))
	require.Equal(t, []string{"a"}, texts(t, tr.Snapshot()))
}

func TestSnapshotSize(t *testing.T) {
	t.Parallel()
	tr := model.NewTranscript()
	want := 0
	for i := range 100 {
		m := model.User(strings.Repeat("y", i*100))
		tr.Append(m)
		want += len(m.JSON())
		if i > 0 {
			want++
		}
		require.Equal(t, want, tr.Snapshot().Size())
	}
}

// Snapshots are read while the transcript grows.
func TestTranscriptConcurrently(t *testing.T) {
	t.Parallel()
	tr := model.NewTranscript(model.System("s"))
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 200 {
				var all [][]byte
				for _, m := range tr.Snapshot().Messages() {
					all = append(all, m.JSON())
				}
				if !json.Valid(append(append([]byte{'['}, bytes.Join(all, []byte{','})...), ']')) {
					panic("torn message")
				}
				tr.Fork().Append(model.User("fork"))
			}
		})
	}
	for i := range 1000 {
		tr.Append(model.User(fmt.Sprint(i)))
	}
	group.Wait()
}
