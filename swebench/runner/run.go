package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/homing-go/homing/swebench"
	"github.com/homing-go/homing/swebench/dataset"
	"github.com/homing-go/homing/swebench/harness"
	"github.com/homing-go/homing/swebench/phase"
	"github.com/homing-go/homing/swebench/sandbox"
)

// The labels of sandboxes.
const (
	// LabelOwner is what marks the sandboxes of one output folder, those in which
	// [harness.Native] grades included.
	LabelOwner = "homing.runner"
	// LabelRun, LabelInstance and LabelAttempt tell people what a sandbox is for.
	LabelRun      = "homing.run"
	LabelInstance = "homing.instance"
	LabelAttempt  = "homing.attempt"
)

// Run runs the agents on all rows, or goes on with what the folder has of them, and has the
// predictions graded. It returns when nothing that it started is left.
//
// The result tells what there is, also beside an error, save a *[ConfigError]. The error is
// that of ctx, a *[TimeoutError], one of the folder, or that of the evaluator, which then is
// also among the reasons. Instances that failed are no error.
func Run(ctx context.Context, cfg Config) (Result, error) {
	cfg, err := cfg.checked()
	if err != nil {
		return Result{}, err
	}
	f, err := openFolder(&cfg)
	if err != nil {
		return Result{}, err
	}
	defer f.close() //nolint:errcheck // it was a lock
	r := &run{Config: cfg, folder: f, begin: time.Now(), rows: cfg.Shard.of(cfg.Rows), failures: map[string]string{}}
	report, err := r.whole(ctx)
	return r.result(report, err), err
}

// A run is one call of Run.
type run struct {
	Config
	*folder

	begin    time.Time
	rows     []dataset.Row
	jobs     []*job // of all rows, once they were looked at
	preds    *predictions
	statuses *statuses
	graded   bool

	failures map[string]string // of images, by image; it does not change any more when workers run
	told     sync.Mutex
	ended    int
}

func (r *run) whole(ctx context.Context) (harness.Report, error) {
	var err error
	if r.preds, err = openPredictions(r.path(swebench.FilePreds)); err != nil {
		return harness.Report{}, err
	}
	r.statuses = newStatuses(r.dir, r.begin)
	if err := r.limited(ctx, swebench.PhaseAgent, r.AgentTimeout, r.agents); err != nil {
		return harness.Report{}, err
	}
	var report harness.Report
	err = r.limited(ctx, swebench.PhaseEval, r.EvalTimeout, func(ctx context.Context) (err error) {
		report, err = r.grade(ctx)
		return err
	})
	return report, err
}

// limited runs a phase within its limit.
func (r *run) limited(ctx context.Context, p swebench.Phase, limit time.Duration, do func(context.Context) error) error {
	if limit <= 0 {
		return do(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := do(limited)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		return &TimeoutError{Phase: p, Limit: limit}
	}
	return err
}

// agents runs the instances that are not finished.
func (r *run) agents(ctx context.Context) error {
	var all, open []*job
	for _, row := range r.rows {
		i, err := openInstance(r.folder, row.InstanceID)
		if err != nil {
			return err
		}
		all = append(all, &job{run: r, instance: i, row: row})
		if i.finished(r.preds) {
			r.statuses.ends[i.id] = ending{i.Status, i.Reason}
			continue
		}
		open = append(open, all[len(all)-1])
	}
	r.jobs, r.ended = all, len(r.statuses.ends)
	if r.ended > 0 {
		if err := r.statuses.write(); err != nil {
			return err
		}
	}
	r.tell(Progress{Phase: swebench.PhaseAgent, Total: len(r.rows), Finished: r.ended})
	if err := r.strangers(); err != nil {
		return err
	}
	if err := r.sweep(ctx, all); err != nil {
		return err
	}
	if len(open) == 0 {
		return nil
	}
	if err := r.prepare(ctx, open); err != nil {
		return err
	}
	return r.work(ctx, open)
}

// strangers refuses a folder with predictions for instances that are not in the dataset.
func (r *run) strangers() error {
	known := map[string]bool{}
	for _, row := range r.Rows {
		known[row.InstanceID] = true
	}
	var strange []string
	for id := range r.preds.all() {
		if !known[id] {
			strange = append(strange, id)
		}
	}
	if len(strange) == 0 {
		return nil
	}
	slices.Sort(strange)
	return &ConfigError{Field: "Dir", Reason: fmt.Sprintf("%s has predictions for %d instances that are not in the dataset: %s", r.dir, len(strange), named(strange))}
}

// sweep ends what an earlier process of this folder has left: processes of commands, and
// sandboxes in which nothing goes on.
func (r *run) sweep(ctx context.Context, all []*job) error {
	if r.fresh {
		return nil
	}
	phase.Sweep(r.Owner)
	keep := map[string]bool{}
	for _, j := range all {
		if id := j.underWay(); id != "" {
			keep[id] = true
		} else if j.Sandbox != "" {
			j.remove(ctx)
		}
	}
	gone, err := sandbox.Sweep(ctx, r.Runtime, map[string]string{LabelOwner: r.Owner}, func(info sandbox.Info) bool { return keep[info.ID] })
	if len(gone) > 0 {
		r.Logger.Info("sandboxes of an earlier process were removed", "count", len(gone))
	}
	return err
}

// prepare describes the sandboxes and fetches the images, before any clock starts.
func (r *run) prepare(ctx context.Context, open []*job) error {
	var images []string
	for _, j := range open {
		if j.underWay() != "" {
			continue
		}
		image := r.image(ctx, j.row)
		if image != "" && !slices.Contains(images, image) {
			images = append(images, image)
		}
	}
	if len(images) == 0 {
		return nil
	}
	err := r.Runtime.Prepare(ctx, images...)
	var missing *sandbox.ImageError
	var disk *sandbox.DiskError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &missing):
		for _, m := range missing.Missing {
			r.failures[m.Image] = fmt.Sprintf("the image %s is missing: %v", m.Image, m.Err)
		}
		r.Logger.Warn("images are missing", "error", r.Redact.Text(missing.Error()))
	case errors.As(err, &disk):
		for _, image := range images {
			r.failures[image] = disk.Error()
		}
		r.Logger.Warn("images cannot be fetched", "error", disk.Error())
	}
	if missing == nil && disk == nil {
		return err
	}
	return nil
}

// image is what has to be there before an instance can start.
func (r *run) image(ctx context.Context, row dataset.Row) string {
	if w, ok := r.Runtime.(*Workspace); ok {
		return w.ImageOf(row) // without making its checkout
	}
	spec, err := harness.Describe(ctx, r.Runtime, r.Spec, r.Arch, row)
	if err != nil {
		return "" // its instance will say so
	}
	return spec.Image
}

// work gives the instances to the workers, in the order of the rows.
func (r *run) work(ctx context.Context, open []*job) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	queue := make(chan *job)
	var workers sync.WaitGroup
	for w := range min(r.Workers, len(open)) {
		workers.Go(func() {
			if wait(ctx, time.Duration(w)*r.Stagger) != nil {
				return
			}
			for j := range queue {
				if err := j.do(ctx); err != nil {
					stop(err)
					return
				}
			}
		})
	}
	func() {
		defer close(queue)
		for _, j := range open {
			select {
			case queue <- j:
			case <-ctx.Done():
				return
			}
		}
	}()
	workers.Wait()
	return context.Cause(ctx)
}

// wait waits, or returns the error of ctx.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *run) tell(p Progress) {
	r.told.Lock()
	defer r.told.Unlock()
	r.Progress(p)
}

// maxNamed is how many instances a text names.
const maxNamed = 10

func named(ids []string) string {
	text := ""
	for n, id := range ids {
		if n == maxNamed {
			return fmt.Sprintf("%s and %d more", text, len(ids)-n)
		}
		if n > 0 {
			text += ", "
		}
		text += id
	}
	return text
}
