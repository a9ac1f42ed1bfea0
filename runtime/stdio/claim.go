package stdio

import (
	"io"
	"sync/atomic"
)

// claimed tells whether somebody serves the standard input and output of this
// process.
var claimed atomic.Bool

// pipes are the standard input and output that this process was started with.
type pipes struct {
	in      io.ReadCloser
	out     io.WriteCloser
	restore func() // gives them back, and may close in and out
}

// claim takes the standard input and output away from everything else in this
// process: what reads from them by mistake finds the end, and what prints to
// them ends up in standard error, be it a library or a child. Messages and
// nothing else travel on the real ones.
func claim() (*pipes, error) {
	if !claimed.CompareAndSwap(false, true) {
		return nil, ErrClaimed
	}
	p, err := divert()
	if err != nil {
		claimed.Store(false)
		return nil, err
	}
	undo := p.restore
	p.restore = func() {
		undo()
		claimed.Store(false)
	}
	return p, nil
}
