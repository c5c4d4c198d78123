// Package load runs many trajectories at a time against one client, for the commands
// that measure or prove something with them.
package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/homing-go/homing/model"
	"github.com/homing-go/homing/routing"
)

// Config is the work.
type Config struct {
	Client model.Client
	// Trajectories run with Turns each, Concurrency of them at a time.
	Trajectories, Turns, Concurrency int
	// Turn returns what a trajectory sends in a turn, both counted from 0.
	Turn func(trajectory, turn int) []model.Message
	// Progress gets a line that is written over and over; nil means none.
	Progress io.Writer
}

// Result is what came of it.
type Result struct {
	// FirstByte are the times to first byte of all answers, in order of length.
	FirstByte []time.Duration
}

// Terminal returns f if it is a terminal, for [Config.Progress], else nil.
func Terminal(f *os.File) io.Writer {
	if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		return f
	}
	return nil
}

// Quantile returns the time that q of the answers did not exceed, q from 0 to 1.
func (r Result) Quantile(q float64) time.Duration {
	if len(r.FirstByte) == 0 {
		return 0
	}
	return r.FirstByte[int(q*float64(len(r.FirstByte)-1))]
}

// Run sends all trajectories, each under a random session. A trajectory ends at its
// first failure; the others go on, and the failures come back joined.
func Run(ctx context.Context, cfg Config) (Result, error) {
	var (
		mu     sync.Mutex
		result Result
		errs   []error
		group  sync.WaitGroup
		next   = make(chan int)
	)
	turnDone := func(d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		result.FirstByte = append(result.FirstByte, d)
		if cfg.Progress != nil {
			fmt.Fprintf(cfg.Progress, "\r%d of %d requests", len(result.FirstByte), cfg.Trajectories*cfg.Turns)
		}
	}
	for range cfg.Concurrency {
		group.Go(func() {
			for n := range next {
				if err := cfg.run(ctx, n, turnDone); err != nil {
					mu.Lock()
					errs = append(errs, fmt.Errorf("trajectory %d: %w", n, err))
					mu.Unlock()
				}
			}
		})
	}
	for n := range cfg.Trajectories {
		next <- n
	}
	close(next)
	group.Wait()
	if cfg.Progress != nil {
		fmt.Fprint(cfg.Progress, "\r\033[K")
	}
	slices.Sort(result.FirstByte)
	return result, errors.Join(errs...)
}

func (cfg Config) run(ctx context.Context, n int, done func(time.Duration)) error {
	trajectory := model.NewTrajectory(cfg.Client, routing.NewSession(routing.NewID()))
	for turn := range cfg.Turns {
		answer, err := trajectory.Send(ctx, cfg.Turn(n, turn)...)
		if err != nil {
			return fmt.Errorf("turn %d: %w", turn+1, err)
		}
		done(answer.Timing.FirstByte)
	}
	return trajectory.End(ctx)
}
