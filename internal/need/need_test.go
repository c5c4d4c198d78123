package need_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/homing-go/homing/internal/need"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A recorder is a test that only tells how it would have ended.
type recorder struct {
	testing.TB

	skipped, failed string
}

func (r *recorder) Helper() {}

func (r *recorder) Skipf(format string, args ...any) {
	r.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.failed = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func programs(names ...string) *recorder {
	r := &recorder{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		need.Programs(r, names...)
	}()
	<-done
	return r
}

func TestAMissingProgramSkipsUnlessItIsListed(t *testing.T) {
	t.Setenv("HOMING_REQUIRE", "")
	require.Equal(t, &recorder{}, programs("go"))
	require.Equal(t, &recorder{skipped: "no-such-program is missing: skipped"}, programs("go", "no-such-program"))
	require.False(t, need.Listed("go"))

	t.Setenv("HOMING_REQUIRE", "go, no-such-program ,other")
	require.Equal(t, &recorder{}, programs("go"))
	require.Equal(t, &recorder{failed: "HOMING_REQUIRE demands no-such-program: no-such-program is missing"}, programs("no-such-program"))
	require.Equal(t, &recorder{skipped: "no-such is missing: skipped"}, programs("no-such"), "a part of a name is another")
	require.True(t, need.Listed("other"))
}
