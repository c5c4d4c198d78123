package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/homing-go/homing/internal/need"
	"github.com/homing-go/homing/swebench/harness"
	"github.com/homing-go/homing/swebench/runner/runnertest"
	"github.com/homing-go/homing/swebench/sandbox/sandboxtest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// In every kind of sandbox, with both templates, in one process and through a service, six
// instances of Python end with the expected score: each is one session on one backend, every
// prediction applies, and no container, image, folder or process is left.
func TestSandboxes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"local", "bwrap", "docker", "podman"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, runnertest.PythonTasks()...)
			p := w.newPlace(name)
			for n, template := range []string{"default", "qwen_tools"} {
				out := filepath.Join(w.dir, template)
				res, log := w.run(0, "-sandbox", p.flag, "-template", template, "-workers", "3", "-out", out)
				require.NotNil(t, res.Score, log)
				require.InDelta(t, 4.0/6, *res.Score, 1e-9, log)
				require.True(t, res.Complete)
				require.Equal(t, []int{6, 6, 4}, []int{res.Evaluated, res.Submitted, res.Resolved})
				require.Equal(t, 6, res.Routing.Sessions)
				require.Zero(t, res.Routing.Mismatches+res.Routing.Unknown)
				w.oneBackendEach(6 * (n + 1))
				w.predictionsApply(out)
			}
			require.InDelta(t, 4.0/6, w.serviceScore(p.flag), 1e-9)
			w.oneBackendEach(18)
			w.killedService(p.flag)
			p.nothingLeft()
		})
	}
}

// A place is a kind of sandbox with the instances of a world in it.
type place struct {
	*world
	flag   string
	client string // of a container engine
	images []string
}

// newPlace brings the instances there: with an engine each is an image with its repository,
// else the rows name the folders of the repositories.
func (w *world) newPlace(name string) place {
	w.Helper()
	p := place{world: w, flag: name}
	if name == "local" {
		need.Programs(w.T, "python3")
		return p
	}
	if !need.Listed(name) {
		w.Skipf("HOMING_REQUIRE does not name %s: no minute is spent on a root folder of Debian", name)
	}
	sandboxtest.Require(w, name, "tar")
	root := sandboxtest.Debian(w, "git", "python3")
	if name == "bwrap" {
		p.flag += "=" + root
		return p
	}
	p.client = name
	base := sandboxtest.Image(w, name, root)
	w.rows(func(row map[string]any) {
		image := sandboxtest.Layer(w, name, base, row["repo"].(string), "/testbed")
		row["image_name"], row["repo"] = image, "tiny/"+row["instance_id"].(string)
		p.images = append(p.images, image)
	})
	return p
}

// rows changes the rows of the dataset.
func (w *world) rows(change func(row map[string]any)) {
	w.Helper()
	data, err := os.ReadFile(w.set.Dataset)
	require.NoError(w, err)
	var rows bytes.Buffer
	for line := range bytes.Lines(data) {
		var row map[string]any
		require.NoError(w, json.Unmarshal(line, &row))
		change(row)
		require.NoError(w, json.NewEncoder(&rows).Encode(row))
	}
	require.NoError(w, os.WriteFile(w.set.Dataset, rows.Bytes(), 0o600))
}

// oneBackendEach checks that the requests so far had this many sessions, each on one backend.
func (w *world) oneBackendEach(sessions int) {
	w.Helper()
	backends := map[string]map[int]bool{}
	requests := 0
	for n, b := range w.cluster.Backends() {
		for _, r := range b.Records() {
			id := r.Header.Get("X-Session-ID")
			require.Len(w, id, 32)
			if backends[id] == nil {
				backends[id] = map[int]bool{}
			}
			backends[id][n] = true
			requests++
		}
	}
	require.Equal(w, sessions*runnertest.Turns, requests)
	require.Len(w, backends, sessions)
	for id, of := range backends {
		require.Len(w, of, 1, id)
	}
}

// predictionsApply checks every prediction of a run against the repository of its instance.
func (w *world) predictionsApply(out string) {
	w.Helper()
	predictions, err := harness.ReadPredictions(filepath.Join(out, "preds.json"))
	require.NoError(w, err)
	require.Len(w, predictions, len(w.set.Tasks))
	for id, p := range predictions {
		cmd := exec.CommandContext(w.Context(), "git", "apply", "--check", "-")
		cmd.Dir = filepath.Join(w.set.Repos, id)
		cmd.Stdin = strings.NewReader(p.Patch)
		said, err := cmd.CombinedOutput()
		require.NoError(w, err, "%s: %s\n%s", id, said, p.Patch)
	}
}

// nothingLeft checks that what the runs made is gone, and that what they were given is not.
func (p place) nothingLeft() {
	p.Helper()
	boxes, err := filepath.Glob(filepath.Join(p.temp(), "homing-*", "*"))
	require.NoError(p, err)
	require.Empty(p, boxes, "folders of sandboxes")
	// What an engine has begun to tidy up may still be at it.
	if !assert.Eventually(p, func() bool { return len(p.processes()) == 0 }, 10*time.Second, 50*time.Millisecond) {
		require.Empty(p, p.processes())
	}
	if p.client == "" {
		return
	}
	lines := func(args ...string) []string {
		out, err := exec.CommandContext(p.Context(), p.client, args...).Output()
		require.NoError(p, err, args)
		return strings.Fields(string(out))
	}
	for _, image := range p.images {
		require.Empty(p, lines("ps", "--all", "--quiet", "--filter=ancestor="+image), "containers")
	}
	repository, _, _ := strings.Cut(p.images[0], ":")
	require.Len(p, lines("images", "--quiet", "--no-trunc", repository), 1+len(p.images), "the base and one an instance")
}

// processes are those that carry the world's folder in their environment.
func (w *world) processes() (found []string) {
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range environs {
		environ, _ := os.ReadFile(file) // it may have ended
		if bytes.Contains(environ, []byte(w.dir)) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
			found = append(found, file+": "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}
