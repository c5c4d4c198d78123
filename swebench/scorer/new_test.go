package scorer_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
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

// Whatever a service answers, neither the key, nor the credentials of the endpoint's URL, nor a
// piece of them is in an error, an entry, a log line or a file.
func TestHostileAnswersShowNoSecret(t *testing.T) {
	t.Parallel()
	const key = "endpoint-key-0123456789"
	echo := "bad " + key + " http://u:pass-0123456789@endpoint/v1 " + `{\"k\":\"` + key + `\"} `
	for name, s := range map[string]*pyService{
		"submit":   {submit: fail(400, echo)},
		"cut":      {submit: fail(500, strings.Repeat(" ", 64<<10-9)+key)},
		"short":    {submit: shortened(500, "bad endpoint-key-01234")},
		"poll":     {poll: fail(403, echo), cancel: fail(500, echo)},
		"failed":   {statuses: []string{status("failed", "error", `"`+echo+`"`, "message", `"`+echo+`"`)}},
		"counters": {statuses: []string{status("succeeded", "result", `{"submitted_instances":"`+key+`"}`)}},
		"names":    {statuses: []string{status("succeeded", "result", `{"submitted_instances":3,"resolved_instances":1,"`+key+`":{"`+key+`":"`+echo+`"}}`)}},
		"artifact": {statuses: []string{status("succeeded", "artifacts", `{"`+key+`":"x","preds.json":"/v1/runs/`+runID+`/artifacts/preds.json"}`)}, artifact: fail(403, echo)},
	} {
		r := newRig(t, s)
		r.cfg.Request.EndpointURLs = []string{"http://u:pass-0123456789@endpoint/v1"}
		e := r.score(t)
		all := fmt.Sprintf("%+v", e.Reasons) + strings.Join(r.log.with(""), "")
		for _, file := range r.files(t) {
			all += r.file(t, strings.Split(strings.Replace(file, "ID", runID, 1), "/")...)
		}
		require.NotContains(t, all, "endpoint-key", name)
		require.NotContains(t, all, "pass-0123", name)
	}
}

// shortened announces more than it sends.
func shortened(code int, text string) func(http.ResponseWriter, *http.Request, int) bool {
	return func(w http.ResponseWriter, _ *http.Request, _ int) bool {
		w.Header().Set("Content-Length", strconv.Itoa(len(text)+100))
		w.WriteHeader(code)
		_, _ = io.WriteString(w, text)
		return true
	}
}
