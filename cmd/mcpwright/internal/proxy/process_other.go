//go:build !unix

package proxy

import (
	"os"
	"os/exec"
	"os/signal"
)

// NotifySignals passes interrupts to the channel.
func NotifySignals(c chan<- os.Signal) (stop func()) {
	signal.Notify(c, os.Interrupt)
	return func() { signal.Stop(c) }
}

// setGroup does nothing, because there are no process groups.
func setGroup(*exec.Cmd) {}

// signalGroup ends the child, because other signals cannot be sent to it.
func signalGroup(cmd *exec.Cmd, _ os.Signal) { _ = cmd.Process.Kill() }

func exitStatus(state *os.ProcessState) int { return state.ExitCode() }
