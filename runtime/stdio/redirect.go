package stdio

import (
	"io"
	"sync/atomic"
)

// standardIO has the standard input and output that this process was started with.
type standardIO struct {
	in      io.ReadCloser
	out     io.WriteCloser
	restore func() // restores standard input and output, and may close in and out
}

// redirected is whether a [Serve] uses the standard input and output of this process.
var redirected atomic.Bool

// redirectOnce calls redirect unless another Serve has done so. Then all other reads
// from standard input in this process and its children return the end of the file,
// and all other writes to standard output go to standard error. That way libraries
// and children cannot write between the messages.
func redirectOnce() (*standardIO, error) {
	if !redirected.CompareAndSwap(false, true) {
		return nil, ErrClaimed
	}
	std, err := redirect()
	if err != nil {
		redirected.Store(false)
		return nil, err
	}
	undo := std.restore
	std.restore = func() {
		undo()
		redirected.Store(false)
	}
	return std, nil
}
