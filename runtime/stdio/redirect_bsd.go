//go:build unix && !linux && !solaris

package stdio

import (
	"io"
	"syscall"
)

// newThreadReader returns nil: this system has no threadReader.
func newThreadReader(int) io.ReadCloser { return nil }

// dup2 makes to a duplicate of the descriptor from.
func dup2(from, to int) error { return syscall.Dup2(from, to) }
