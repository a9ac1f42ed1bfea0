//go:build unix

package proxy

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// NotifySignals passes the signals that ask a process to end to the channel. Writing to a
// client that has vanished does not end this process then.
func NotifySignals(c chan<- os.Signal) (stop func()) {
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	broken := make(chan os.Signal, 1) // is never read: the write returns an error, too
	signal.Notify(broken, syscall.SIGPIPE)
	return func() {
		signal.Stop(c)
		signal.Stop(broken)
	}
}

// setGroup gives the child a process group of its own. Ctrl-C in a terminal then reaches
// it once, through this process.
func setGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// signalGroup sends a signal to the child and its descendants.
func signalGroup(cmd *exec.Cmd, s os.Signal) {
	if number, ok := s.(syscall.Signal); ok {
		_ = syscall.Kill(-cmd.Process.Pid, number) // fails if all have ended
	}
}

func exitStatus(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
