package sandbox_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/homing-go/homing/swebench/sandbox"
)

func Example() {
	ctx := context.Background()
	repository, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(repository)

	var runtime sandbox.Runtime = sandbox.NewLocal(sandbox.LocalConfig{})
	s, err := runtime.Start(ctx, sandbox.Spec{Root: repository, Labels: map[string]string{"run": "example"}})
	if err != nil {
		panic(err)
	}
	defer s.Stop(ctx)

	if err := s.CopyIn(ctx, "greeting.txt", strings.NewReader("hello"), 0o644); err != nil {
		panic(err)
	}
	res, err := sandbox.Exec(ctx, s, sandbox.Command{Shell: "cat greeting.txt; exit 3", Timeout: time.Minute})
	if err != nil {
		panic(err) // the place has failed, not the command
	}
	fmt.Println(string(res.Stdout.Bytes()), res.ExitCode)

	res, err = sandbox.Exec(ctx, s, sandbox.Command{Shell: "sleep 1000 & wait", Timeout: 50 * time.Millisecond})
	fmt.Println(res.TimedOut, res.ExitCode, err)
	// Output:
	// hello 3
	// true -1 <nil>
}
