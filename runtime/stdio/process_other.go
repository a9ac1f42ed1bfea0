//go:build !unix

package stdio

import "os/exec"

// canTerminate is whether terminate is supported.
const canTerminate = false

// setGroup does nothing, because there are no process groups.
func setGroup(*exec.Cmd) {}

// terminate does nothing.
func terminate(*exec.Cmd) {}

// kill ends the child.
func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

// hasDescendants returns false, because the descendants are not known.
func hasDescendants(*exec.Cmd) bool { return false }
