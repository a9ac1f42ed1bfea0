//go:build unix

package stdio

import (
	"os/exec"
	"syscall"
)

// canAsk tells whether a child can be asked to end, other than by closing its
// standard input.
const canAsk = true

// isolate gives the child a process group of its own, so that it can be ended
// together with all that it started. A terminal's Ctrl-C then reaches us only.
func isolate(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// ask tells the child and its descendants to end.
func ask(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

// kill ends the child and its descendants.
func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// orphans tells whether descendants of a child that has ended still run. As
// long as they do, no other process can get the number of their group; to call
// it long after the last has ended would be unsafe.
func orphans(cmd *exec.Cmd) bool { return syscall.Kill(-cmd.Process.Pid, 0) == nil }
