package jsonrpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
)

// LineWriter is a [Writer] over a stream of bytes: one message on each line.
// Messages that come while others are being written go out together with one
// Write, and a megabyte of them may wait; then their senders wait too.
//
// A message counts as written when it is taken. If it then cannot be written,
// the calls that wait at the [Conn] fail, and so does everything that comes
// later: a stream that broke inside a line cannot be mended.
type LineWriter struct {
	w    io.Writer
	rest func() // is finish; a method value takes memory whenever it is made

	mu      sync.Mutex
	waiting []byte
	spare   []byte // what waiting was before, to be used again
	writing bool   // somebody is at it, and sees to all that is waiting
	err     error
	changed moment // when a Write is over
	broken  func(error)
}

const (
	// mostWaiting is how many bytes wait before senders do.
	mostWaiting = 1 << 20
	// mostRounds is how often one sender writes for the others.
	mostRounds = 4
)

var errLineFeed = errors.New("line feed in a message")

// NewLineWriter returns a writer to w. A Write that is stuck ends when w is
// closed, by its owner.
func NewLineWriter(w io.Writer) *LineWriter {
	l := &LineWriter{w: w}
	l.rest = l.finish
	return l
}

// WriteMessage implements [Writer]. With a context that cannot end, the
// message is written in the goroutine that brings it, if nobody else is
// writing; that saves waking another. A request is not: its sender loses patience
// with a peer that does not read.
func (l *LineWriter) WriteMessage(ctx context.Context, data []byte) error {
	return l.WriteWithInfo(ctx, MessageInfo{}, data)
}

// WriteWithInfo implements [InfoWriter]. Where more is to follow, whoever is
// about to write lets the others bring it first.
func (l *LineWriter) WriteWithInfo(ctx context.Context, e MessageInfo, data []byte) error {
	if bytes.IndexByte(data, '\n') >= 0 {
		return fmt.Errorf("%w: %w", ErrNotWritten, errLineFeed)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	isRequest := e.Method != "" && !e.ID.IsZero()
	if isRequest && e.Patience >= 0 && len(l.waiting) >= mostWaiting {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, e.Patience, errPatience)
		defer cancel()
	}
	for l.err == nil && len(l.waiting) >= mostWaiting {
		if err := l.wait(ctx); err != nil {
			return fmt.Errorf("%w: %w", ErrNotWritten, err)
		}
	}
	if l.err != nil {
		return fmt.Errorf("%w: %w", ErrNotWritten, l.err)
	}
	l.waiting = append(append(l.waiting, data...), '\n')
	if l.writing {
		return nil
	}
	l.writing = true
	if e.More {
		l.mu.Unlock()
		runtime.Gosched()
		l.mu.Lock()
	}
	if isRequest || ctx.Done() != nil || !l.write(mostRounds) {
		go l.rest() // ends when nothing waits; w has to be closed if it is stuck
		return nil
	}
	return l.err
}

// finish writes until nothing waits.
func (l *LineWriter) finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.write(mostRounds) {
	}
}

// write writes what is waiting, and again what came meanwhile, at most so many
// times. It returns true when nothing waits. The lock is held, except while
// writing.
func (l *LineWriter) write(rounds int) bool {
	for ; len(l.waiting) > 0 && l.err == nil; rounds-- {
		if rounds == 0 {
			return false
		}
		out := l.waiting
		l.waiting = l.spare
		l.mu.Unlock()
		_, err := l.w.Write(out)
		l.mu.Lock()
		l.spare = nil
		if cap(out) <= mostKept {
			l.spare = out[:0]
		}
		l.changed.come()
		if err != nil {
			l.fail(err)
		}
	}
	l.writing = false
	l.changed.come()
	return true
}

// fail makes err the end of the stream.
func (l *LineWriter) fail(err error) {
	l.err, l.waiting, l.spare = err, nil, nil
	if f := l.broken; f != nil {
		l.mu.Unlock()
		f(err)
		l.mu.Lock()
	}
}

// errPatience is why a request was not written that waited for too long.
var errPatience = errors.New("the peer does not read")

// wait waits until something has changed. The lock is held, except while
// waiting.
func (l *LineWriter) wait(ctx context.Context) error {
	changed := l.changed.await(false)
	l.mu.Unlock()
	defer l.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Flush waits until all that was taken has been written, at most until ctx
// ends.
func (l *LineWriter) Flush(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.writing {
		if err := l.wait(ctx); err != nil {
			return err
		}
	}
	return l.err
}

func (l *LineWriter) onBreak(f func(error)) {
	l.mu.Lock()
	l.broken = f
	l.mu.Unlock()
}
