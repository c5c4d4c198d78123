package sandbox_test

import (
	"context"
	"os/exec"
	"testing"

	"github.com/homing-go/homing/swebench/sandbox"
)

// BenchmarkRun is the cost of one command that does nothing; bare is a process without any
// sandbox. The engines' share is measured where a program is run with images of its own.
func BenchmarkRun(b *testing.B) {
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			if err := exec.CommandContext(b.Context(), "sh", "-c", ":").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("local", func(b *testing.B) {
		s, err := sandbox.NewLocal(sandbox.LocalConfig{Folder: b.TempDir()}).Start(b.Context(), sandbox.Spec{Root: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		defer s.Stop(context.WithoutCancel(b.Context()))
		for b.Loop() {
			if _, err := s.Run(b.Context(), sh(":")); err != nil {
				b.Fatal(err)
			}
		}
	})
}
