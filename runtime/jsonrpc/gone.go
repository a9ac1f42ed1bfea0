//go:build !windows && !plan9

package jsonrpc

import "syscall"

// brokenPipe is what the system says about a pipe that nobody reads any more.
var brokenPipe = []error{syscall.EPIPE}
