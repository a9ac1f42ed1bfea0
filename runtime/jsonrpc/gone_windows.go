package jsonrpc

import "syscall"

// brokenPipe is what the system says about a pipe that nobody reads any more.
var brokenPipe = []error{
	syscall.EPIPE,
	syscall.ERROR_BROKEN_PIPE,
	syscall.Errno(232), // the pipe is being closed
}
