package stdio

import (
	"io"
	"syscall"
)

// closedPipe has the errors of writing to a pipe that the reader closed. Number 232
// is ERROR_NO_DATA, "the pipe is being closed".
var closedPipe = []error{syscall.ERROR_BROKEN_PIPE, syscall.Errno(232), io.ErrClosedPipe}
