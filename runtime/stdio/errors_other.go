//go:build !windows && !plan9

package stdio

import (
	"io"
	"syscall"
)

// closedPipe has the errors of writing to a pipe that the reader closed.
var closedPipe = []error{syscall.EPIPE, io.ErrClosedPipe}
