package brokenpipe

import "syscall"

var systemErrors = []error{
	syscall.EPIPE,
	syscall.ERROR_BROKEN_PIPE,
	syscall.Errno(232), // ERROR_NO_DATA: the pipe is being closed
	syscall.WSAECONNABORTED,
	syscall.WSAECONNRESET,
}
