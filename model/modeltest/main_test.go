package modeltest_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeT stands for a test, to see how a server ends it.
type fakeT struct {
	testing.TB

	mu       sync.Mutex
	errors   []string
	cleanups []func()
}

func (*fakeT) Helper() {}

func (*fakeT) Context() context.Context { return context.Background() }

func (t *fakeT) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }

func (t *fakeT) Errorf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.errors = append(t.errors, fmt.Sprintf(format, args...))
}

// Fatalf ends run.
func (t *fakeT) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	panic(fatal{})
}

type fatal struct{}

func (t *fakeT) Failed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.errors) > 0
}

// end runs the cleanups, as at the end of a test, and returns the messages.
func (t *fakeT) end() string {
	for i := len(t.cleanups) - 1; i >= 0; i-- {
		t.cleanups[i]()
	}
	t.cleanups = nil
	return strings.Join(t.errors, "\n")
}

// run runs f as the body of a test, and returns the messages.
func (t *fakeT) run(f func()) string {
	func() {
		defer func() {
			if r := recover(); r != nil && r != (fatal{}) {
				panic(r)
			}
		}()
		f()
	}()
	return t.end()
}
