//go:build unix

package runner

import (
	"os/exec"
	"syscall"
)

// endsWhole makes a command that has to end end with all its children.
func endsWhole(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
