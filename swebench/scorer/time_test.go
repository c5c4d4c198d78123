package scorer_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/homing-go/homing/internal/memhttp"
	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/scorer"
	"github.com/stretchr/testify/require"
)

// bubble runs test with a scorer in front of s, under a clock that goes on by itself.
func bubble(t *testing.T, s *pyService, test func(t *testing.T, r *rig)) {
	t.Helper()
	if s.capabilities == nil {
		s.capabilities = capable()
	}
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		server := memhttp.Serve(s)
		transport := server.Transport()
		defer server.Close()
		defer transport.CloseIdleConnections()
		defer synctest.Wait() // a handler that has been given up has begun, too: Close waits for handlers
		log := new(lines)
		test(t, &rig{pyService: s, log: log, cfg: scorer.Config{
			ServiceURL: server.URL(), AuthToken: s.token, DatasetName: "swe_bench", ReportDir: dir, Transport: transport, Logger: slog.New(slog.NewTextHandler(log, nil)),
			Request: swebench.RunRequest{
				ModelName: "m", EndpointURLs: []string{"http://endpoint"}, Subset: "verified", Split: "test",
				NumInstances: 3, Workers: 10, MaxEvalWorkers: 10, EvaluatedInstanceIDs: []string{"c", "a", "b"}, Template: "default",
			},
		}})
	})
}

// hang answers nothing until the client is gone.
func hang(_ http.ResponseWriter, r *http.Request, _ int) bool {
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// A health that does not come is given up after exactly 10 seconds.
func TestCase022_PreflightLimit(t *testing.T) {
	t.Parallel()
	bubble(t, &pyService{health: hang}, func(t *testing.T, r *rig) {
		begin := time.Now()
		e := r.setupError(t)
		require.Equal(t, 10*time.Second, time.Since(begin))
		require.Contains(t, e.Error(), "timed out")
	})
}

// Each kind of request has its own limit.
func TestLimits(t *testing.T) {
	t.Parallel()
	bubble(t, &pyService{submit: hang}, func(t *testing.T, r *rig) {
		begin := time.Now()
		incomplete(t, r.score(t), scorer.SubmitUnclear)
		require.Equal(t, 30*time.Second, time.Since(begin))
	})
	bubble(t, &pyService{poll: upTo(1, hang), statuses: []string{succeeded(3, 2)}}, func(t *testing.T, r *rig) {
		begin := time.Now()
		reasons(t, r.score(t))
		require.Equal(t, (5+30+5)*time.Second, time.Since(begin))
	})
	bubble(t, &pyService{poll: fail(400, ""), cancel: hang}, func(t *testing.T, r *rig) {
		begin := time.Now()
		incomplete(t, r.score(t), scorer.PollFailed, scorer.CancelFailed)
		require.Equal(t, (5+10)*time.Second, time.Since(begin))
	})
	bubble(t, &pyService{artifact: hang, statuses: []string{list("preds.json", own("preds.json"))}}, func(t *testing.T, r *rig) {
		begin := time.Now()
		reasons(t, r.score(t))
		require.Equal(t, (5+60+1+60+1+60)*time.Second, time.Since(begin))
	})
}

// An artifact that comes slowly, but comes, is whole; an answer in drops ends some time.
func TestSlowAnswers(t *testing.T) {
	t.Parallel()
	drops := func(n int, every time.Duration) func(http.ResponseWriter, *http.Request, int) bool {
		return func(w http.ResponseWriter, r *http.Request, _ int) bool {
			for range n {
				if _, err := io.WriteString(w, " "); err != nil {
					break
				}
				_ = http.NewResponseController(w).Flush()
				time.Sleep(every)
			}
			return true
		}
	}
	bubble(t, &pyService{artifact: drops(10, 50*time.Second), statuses: []string{list("preds.json", own("preds.json"))}}, func(t *testing.T, r *rig) {
		reasons(t, r.score(t))
		require.Equal(t, "          ", r.file(t, "swe_bench_runs", runID, "preds.json"))
	})
	bubble(t, &pyService{health: drops(1000, 9*time.Second)}, func(t *testing.T, r *rig) {
		begin := time.Now()
		r.setupError(t)
		require.Equal(t, 40*time.Second, time.Since(begin))
	})
}

// Polls are 5 seconds apart, the first after the first pause.
func TestPollInterval(t *testing.T) {
	t.Parallel()
	bubble(t, &pyService{statuses: []string{status("queued"), status("running"), succeeded(3, 2)}}, func(t *testing.T, r *rig) {
		begin := time.Now()
		reasons(t, r.score(t))
		require.Equal(t, 15*time.Second, time.Since(begin))
	})
}

// When the deadline passes, the run is cancelled under its ID and with the token; there is no
// score, and no error.
func TestCase035_Deadline(t *testing.T) {
	t.Parallel()
	bubble(t, &pyService{token: "tok-0123456789", statuses: []string{status("running")}}, func(t *testing.T, r *rig) {
		r.cfg.PollInterval = 10 * time.Minute
		begin := time.Now()
		incomplete(t, r.score(t), scorer.DeadlineExceeded)
		require.Equal(t, 24*time.Hour, time.Since(begin))
		cancels := r.seen("POST", "/v1/runs/"+runID+"/cancel")
		require.Len(t, cancels, 1)
		require.Equal(t, []string{"Bearer tok-0123456789"}, cancels[0].header["Authorization"])
		require.Empty(t, cancels[0].body)
		require.Equal(t, 24*6, r.polls())
	})
	// A poll interval beyond the deadline, and a poll that hangs across it.
	for name, poll := range map[string]func(http.ResponseWriter, *http.Request, int) bool{"interval": nil, "hang": hang} {
		bubble(t, &pyService{poll: poll, statuses: []string{status("running")}}, func(t *testing.T, r *rig) {
			r.cfg.Timeout = 3 * time.Second
			begin := time.Now()
			incomplete(t, r.score(t), scorer.DeadlineExceeded)
			require.LessOrEqual(t, time.Since(begin), 4*time.Second, name)
			require.Equal(t, 1, r.polls())
			require.Equal(t, 1, r.cancels())
		})
	}
	// A run that is over at the last moment counts.
	bubble(t, &pyService{statuses: []string{succeeded(3, 2)}}, func(t *testing.T, r *rig) {
		r.cfg.Timeout = 3 * time.Second
		reasons(t, r.score(t))
	})
}

// Failed polls are tried again after longer and longer pauses, or as Retry-After says; a
// success begins anew.
func TestCase038_Backoff(t *testing.T) {
	t.Parallel()
	bubble(t, &pyService{poll: fail(503, "")}, func(t *testing.T, r *rig) {
		begin := time.Now()
		incomplete(t, r.score(t), scorer.PollFailed)
		require.Equal(t, (5+5+10+20+6*30)*time.Second, time.Since(begin))
		require.Equal(t, 10, r.polls())
	})
	// Short intervals have time for a service to come back, too.
	bubble(t, &pyService{poll: fail(503, "")}, func(t *testing.T, r *rig) {
		r.cfg.PollInterval = 10 * time.Millisecond
		begin := time.Now()
		incomplete(t, r.score(t), scorer.PollFailed)
		require.Greater(t, time.Since(begin), 30*time.Second)
		require.Less(t, time.Since(begin), time.Minute)
	})
	bubble(t, &pyService{statuses: []string{status("running")}, poll: func(w http.ResponseWriter, q *http.Request, n int) bool {
		return n%10 != 0 && fail(503, "")(w, q, n)
	}}, func(t *testing.T, r *rig) {
		r.cfg.Timeout = time.Hour
		incomplete(t, r.score(t), scorer.DeadlineExceeded)
	})
	bubble(t, &pyService{statuses: []string{succeeded(3, 2)}, poll: func(w http.ResponseWriter, q *http.Request, n int) bool {
		if n > 2 {
			return false
		}
		w.Header().Set("Retry-After", []string{"20", "100000"}[n-1])
		return fail(429, "")(w, q, n)
	}}, func(t *testing.T, r *rig) {
		begin := time.Now()
		reasons(t, r.score(t))
		require.Equal(t, (5+20+30)*time.Second, time.Since(begin))
	})
}

var errSignal = errors.New("a signal")

// An interrupt cancels the run on the service, in time of its own, and comes back as it is;
// the entry says so.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	for name, poll := range map[string]func(http.ResponseWriter, *http.Request, int) bool{"pause": nil, "poll": hang} {
		bubble(t, &pyService{poll: poll, statuses: []string{status("running")}}, func(t *testing.T, r *rig) {
			ctx, cancel := context.WithCancelCause(context.Background())
			time.AfterFunc(7*time.Second, func() { cancel(errSignal) })
			e, err := r.scorer(t).Score(ctx)
			require.ErrorIs(t, err, errSignal, name)
			incomplete(t, e, scorer.Interrupted)
			require.Equal(t, 1, r.cancels())
		})
	}
}

// A cancel that times out or breaks does not replace the interrupt.
func TestCase037_CancelFailsOnInterrupt(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(http.ResponseWriter, *http.Request, int) bool{"hang": hang, "drop": drop, "500": fail(500, ""), "text": reply("x")} {
		bubble(t, &pyService{cancel: fault, statuses: []string{status("running")}}, func(t *testing.T, r *rig) {
			ctx, cancel := context.WithCancelCause(context.Background())
			time.AfterFunc(7*time.Second, func() { cancel(errSignal) })
			begin := time.Now()
			e, err := r.scorer(t).Score(ctx)
			require.ErrorIs(t, err, errSignal, name)
			require.LessOrEqual(t, time.Since(begin), 17*time.Second)
			require.Equal(t, scorer.Interrupted, e.Reasons[0].Code)
		})
	}
}

// An interrupt while the submission is under way waits a little for the run's ID, to cancel
// the run.
func TestInterruptDuringSubmission(t *testing.T) {
	t.Parallel()
	slow := func(d time.Duration) func(http.ResponseWriter, *http.Request, int) bool {
		return func(http.ResponseWriter, *http.Request, int) bool { time.Sleep(d); return false }
	}
	bubble(t, &pyService{submit: slow(4 * time.Second), statuses: []string{status("running")}}, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(time.Second, func() { cancel(errSignal) })
		e, err := r.scorer(t).Score(ctx)
		require.ErrorIs(t, err, errSignal)
		incomplete(t, e, scorer.Interrupted)
		require.Equal(t, 1, r.cancels())
	})
	bubble(t, &pyService{submit: hang}, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(time.Second, func() { cancel(errSignal) })
		begin := time.Now()
		e, err := r.scorer(t).Score(ctx)
		require.ErrorIs(t, err, errSignal)
		require.Equal(t, 6*time.Second, time.Since(begin))
		incomplete(t, e, scorer.SubmitUnclear, scorer.Interrupted)
	})
	bubble(t, &pyService{health: hang}, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(time.Second, func() { cancel(errSignal) })
		e, err := r.scorer(t).Score(ctx)
		require.ErrorIs(t, err, errSignal)
		require.Nil(t, e)
	})
}
