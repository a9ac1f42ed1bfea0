//go:build !windows && !plan9

package brokenpipe

import "syscall"

var systemErrors = []error{syscall.EPIPE, syscall.ECONNRESET}
