package model

import (
	"context"
	"sync"
	"time"
)

// A bucket is a budget of retries: each takes one, each answer gives a part of one back,
// and time gives the rest back slowly. It keeps a dead server from being asked by every
// trajectory as often as the policy of one call allows. A nil bucket has no bottom.
type bucket struct {
	mu                sync.Mutex
	level, size       float64
	perAnswer, perSec float64
	last              time.Time
}

func newBucket(size int, perAnswer, perSec float64) *bucket {
	if size < 0 {
		return nil
	}
	return &bucket{level: float64(size), size: float64(size), perAnswer: perAnswer, perSec: perSec, last: time.Now()}
}

// take reports whether there was one left.
func (b *bucket) take() bool {
	if b == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.level = min(b.size, b.level+now.Sub(b.last).Seconds()*b.perSec)
	b.last = now
	if b.level < 1 {
		return false
	}
	b.level--
	return true
}

// give is called for each answer.
func (b *bucket) give() {
	if b != nil {
		b.add(b.perAnswer)
	}
}

// put puts back what was taken and not used.
func (b *bucket) put() {
	if b != nil {
		b.add(1)
	}
}

func (b *bucket) add(n float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.level = min(b.size, b.level+n)
}

type budgetKey struct{}

// trajectoryBudget is the bucket of the trajectory that makes a call, which travels in
// the context because a Client in between need not know of it.
type trajectoryBudget struct {
	once   sync.Once
	bucket *bucket
}

func (t *trajectoryBudget) of(policy Retry) *bucket {
	t.once.Do(func() { t.bucket = newBucket(policy.TrajectoryBudget, 1, 0) })
	return t.bucket
}

func budgetFrom(ctx context.Context, policy Retry) *bucket {
	if t, ok := ctx.Value(budgetKey{}).(*trajectoryBudget); ok {
		return t.of(policy)
	}
	return nil
}
