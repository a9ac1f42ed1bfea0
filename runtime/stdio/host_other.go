//go:build !windows && !plan9

package stdio

import (
	"io"
	"syscall"
)

// inherited are the variables that every child gets.
var inherited = []string{
	"HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER",
}

// hangups are the errors of writing to somebody who has gone.
var hangups = []error{syscall.EPIPE, io.ErrClosedPipe}
