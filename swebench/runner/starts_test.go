package runner_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/homing-go/homing/swebench/agent"
	"github.com/homing-go/homing/swebench/runner"
	"github.com/homing-go/homing/swebench/runner/runnertest"
	"github.com/homing-go/homing/swebench/sandbox"
	"github.com/stretchr/testify/require"
)

// A sandbox that did not start is tried again with proof that nothing began, three times in
// all; without proof it is not, nor is one whose description cannot be used. All tries are of
// one attempt, under one session.
func TestStartsAreTriedAgainWithProof(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 4)
	cfg := w.config()
	id := func(n int) string { return w.set.Tasks[n].ID }
	tried := map[string]int{}
	w.places.start = func(_ int, spec sandbox.Spec) error {
		this := spec.Labels[runner.LabelInstance]
		tried[this]++
		require.Equal(t, "1", spec.Labels[runner.LabelAttempt])
		switch {
		case this == id(0) && tried[this] == 1, this == id(2):
			return &sandbox.StartError{Image: spec.Image, Err: errors.New("the engine was busy")}
		case this == id(1):
			return errors.New("who knows")
		case this == id(3):
			return &sandbox.StartError{Image: spec.Image, Err: &sandbox.SpecError{Field: "Image", Want: "one"}}
		}
		return nil
	}
	res := w.run(cfg)
	require.Equal(t, map[string]int{id(0): 2, id(1): 1, id(2): 3, id(3): 1}, tried)
	require.Equal(t, []string{id(0)}, res.Statuses[string(agent.Submitted)])
	require.ElementsMatch(t, []string{id(1), id(2), id(3)}, res.Statuses[string(runner.SandboxNotStarted)])
	require.False(t, res.Complete)
	for n, failed := range []int{1, 0, 2, 0} {
		text, err := os.ReadFile(filepath.Join(cfg.Dir, id(n), "state.json"))
		require.NoError(t, err)
		var state struct {
			Failed  []string `json:"failed_starts"`
			Earlier []any
		}
		require.NoError(t, json.Unmarshal(text, &state))
		require.Len(t, state.Failed, failed)
		require.Empty(t, state.Earlier)
	}
	require.Len(t, w.sessions("X-Session-ID")[id(0)], runnertest.Turns)

	// A number of one's own counts.
	cfg.Dir, cfg.Starts = filepath.Join(w.dir, "once"), 1
	clear(tried)
	w.run(cfg)
	require.Equal(t, map[string]int{id(0): 1, id(1): 1, id(2): 1, id(3): 1}, tried)
}

// An image that is missing fails its instances, and no others.
func TestMissingImages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	cfg := w.config()
	for i := range cfg.Rows {
		cfg.Rows[i].ImageName = []string{"good", "bad"}[i]
	}
	w.places.prepare = func(images []string) error {
		require.ElementsMatch(t, []string{"good", "bad"}, images)
		return &sandbox.ImageError{Missing: []sandbox.MissingImage{{Image: "bad", Err: errors.New("no such manifest")}}}
	}
	res := w.run(cfg)
	require.Equal(t, []string{w.set.Tasks[1].ID}, res.Statuses[string(runner.ImageMissing)])
	require.Equal(t, []string{w.set.Tasks[0].ID}, res.Statuses[string(agent.Submitted)])
	require.Contains(t, res.Reasons[0].Text, "no such manifest")
}
