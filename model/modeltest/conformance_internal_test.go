package modeltest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type failing struct {
	testing.TB
	message string
}

func (*failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) { f.message = fmt.Sprintf(format, args...) }

// A check that a client keeps from returning fails by itself.
func TestHangingPromise(t *testing.T) {
	t.Parallel()
	end := make(chan struct{})
	f := &failing{TB: t}
	within(f, time.Millisecond, func() { <-end })
	require.Equal(t, "the client hangs: no end after 1ms", f.message)
	close(end)
	f = &failing{TB: t}
	within(f, time.Minute, func() {})
	require.Empty(t, f.message)
}
