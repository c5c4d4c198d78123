package phase_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/homing-go/homing/swebench/phase"
	"github.com/homing-go/homing/swebench/redact"
)

func Example() {
	dir, err := os.MkdirTemp("", "phase")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "agent.log")
	log, err := phase.Create(name, redact.New("sk-secret"), false)
	if err != nil {
		panic(err)
	}
	err = phase.Command{
		Name: "agent", Argv: []string{"go", "env", "SECRET", "GOARCHES"}, Log: log, Dir: dir,
		Env: phase.AgentEnv(os.Environ(), "http://localhost:8000", "sk-secret"),
	}.Run(context.Background())
	text, _ := os.ReadFile(name)
	fmt.Printf("%q %v\n", text, err)
	// Output: "\n\n" <nil>
}
