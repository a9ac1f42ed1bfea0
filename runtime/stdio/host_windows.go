package stdio

import (
	"io"
	"syscall"
)

// inherited are the variables that every child gets.
var inherited = []string{
	"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT",
	"PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT",
	"TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR",
}

// hangups are the errors of writing to somebody who has gone. The number is
// that of "the pipe is being closed".
var hangups = []error{syscall.ERROR_BROKEN_PIPE, syscall.Errno(232), io.ErrClosedPipe}
