package scorer_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/homing-go/homing/swebench/scorer"
	"github.com/stretchr/testify/require"
)

// A service URL with a path, and one that is missing, are refused before any request, without
// being shown.
func TestCase002_RefusedBeforeAnyRequest(t *testing.T) {
	t.Parallel()
	r := newRig(t, new(pyService))
	for _, url := range []string{"", r.cfg.ServiceURL + "/v1", r.cfg.ServiceURL + "?q=1", "ftp://secret", strings.Replace(r.cfg.ServiceURL, "//", "//u:secret@", 1)} {
		cfg := r.cfg
		cfg.ServiceURL = url
		_, err := scorer.New(cfg)
		var setup *scorer.SetupError
		require.ErrorAs(t, err, &setup, url)
		require.NotContains(t, err.Error(), "secret")
	}
	require.Empty(t, r.kinds())
}

// A URL with an upper-case scheme and spaces around it is the base that paths join onto.
func TestCase005_BaseURL(t *testing.T) {
	t.Parallel()
	r := newRig(t, &pyService{statuses: []string{succeeded(3, 2)}})
	r.cfg.ServiceURL = "  " + strings.Replace(r.cfg.ServiceURL, "http", "HTTP", 1) + "/ "
	reasons(t, r.score(t))
	require.Equal(t, []string{"GET /health", "POST /v1/runs", "GET /v1/runs/ID"}, r.kinds())
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	r := newRig(t, new(pyService))
	for name, change := range map[string]func(*scorer.Config){
		"token":     func(c *scorer.Config) { c.AuthToken = "s3cret\r\nX: y" },
		"timeout":   func(c *scorer.Config) { c.Timeout = -1 },
		"interval":  func(c *scorer.Config) { c.PollInterval = -1 },
		"tolerance": func(c *scorer.Config) { c.Tolerance = -1 },
		"limit":     func(c *scorer.Config) { c.MaxArtifactBytes = -1 },
		"folder":    func(c *scorer.Config) { c.ReportDir = "" },
		"headers":   func(c *scorer.Config) { c.Request.RoutingHeaders = []string{"Host"} },
	} {
		cfg := r.cfg
		change(&cfg)
		_, err := scorer.New(cfg)
		var setup *scorer.SetupError
		require.ErrorAs(t, err, &setup, name)
		require.NotContains(t, err.Error(), "s3cret")
	}
	cfg := r.cfg
	cfg.AuthToken = "s3cret"
	require.NotContains(t, fmt.Sprintf("%v %+v %#v", cfg, cfg, cfg), "s3cret")

	r.cfg.Request.Workers = 0
	e, err := r.scorer(t).Score(context.Background())
	require.ErrorContains(t, err, "workers")
	require.Nil(t, e)
	require.Empty(t, r.kinds())
}

// An interrupt while artifacts come leaves a run that is over alone.
func TestInterruptDuringDownload(t *testing.T) {
	t.Parallel()
	bubble(t, &pyService{artifact: hang, statuses: []string{list("preds.json", own("preds.json"), "status.json", own("status.json"))}}, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(7*time.Second, func() { cancel(errSignal) })
		e, err := r.scorer(t).Score(ctx)
		require.ErrorIs(t, err, errSignal)
		incomplete(t, e, scorer.Interrupted)
		require.Equal(t, []string{"preds.json"}, r.downloads())
		require.Zero(t, r.cancels())
		synctest.Wait()
	})
}
