//go:build unix

package toolfile

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// group gives a program a process group of its own, which ends with it: a
// script's children must not outlive it.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
}
