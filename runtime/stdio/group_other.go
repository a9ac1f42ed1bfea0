//go:build !unix

package stdio

import "os/exec"

// canAsk tells whether a child can be asked to end, other than by closing its
// standard input.
const canAsk = false

// isolate does nothing: there are no process groups here.
func isolate(*exec.Cmd) {}

// ask is not called here.
func ask(*exec.Cmd) {}

// kill ends the child.
func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

// orphans tells whether descendants of a child that has ended still run, as
// far as can be known.
func orphans(*exec.Cmd) bool { return false }
