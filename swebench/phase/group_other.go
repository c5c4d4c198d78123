//go:build !unix

package phase

import (
	"os"
	"os/exec"
)

func ownSession(*exec.Cmd) {}

func terminate(p *os.Process) { _ = p.Kill() }

func kill(p *os.Process) { _ = p.Kill() }
