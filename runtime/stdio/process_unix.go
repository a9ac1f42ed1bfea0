//go:build unix

package stdio

import (
	"os/exec"
	"syscall"
)

// canTerminate is whether terminate is supported.
const canTerminate = true

// setGroup gives the child a process group of its own, so that it can be ended
// together with its descendants. Ctrl-C in a terminal then interrupts only this
// process.
func setGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// terminate asks the child and its descendants to end.
func terminate(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

// kill ends the child and its descendants.
func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// hasDescendants reports whether descendants of a child that has ended still run.
// While they run, no other process can get the id of their group. It must not be
// called long after the last one has ended, when the id may be in use again.
func hasDescendants(cmd *exec.Cmd) bool { return syscall.Kill(-cmd.Process.Pid, 0) == nil }
