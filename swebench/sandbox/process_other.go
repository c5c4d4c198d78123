//go:build !unix

package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"strings"
)

// Without process groups a command is ended alone.

func ownGroup(*exec.Cmd) {}

func endGroup(pid int) { _ = endProcess(pid) }

func endProcess(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

func exitCode(state *os.ProcessState) int { return state.ExitCode() }

func isTooLong(err error) bool {
	var engine *EngineError
	return errors.As(err, &engine) && strings.Contains(engine.Stderr, "argument list too long")
}

func ownedByUs(os.FileInfo) bool { return true }

func tryLock(*os.File) error { return errors.ErrUnsupported }

func freeBytes(string) (int64, error) { return 0, errors.ErrUnsupported }
