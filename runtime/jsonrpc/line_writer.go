package jsonrpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/mcpwright/mcp/runtime/internal/buffer"
)

// LineWriter is a [Writer] that writes each message as one line to a stream. Messages that arrive
// during a Write are written together by the next one. Up to 1 MiB of messages may wait; after
// that, senders wait.
//
// A message counts as written when the LineWriter accepts it. If the stream then fails, the calls
// that wait at the [Conn] fail, and so do all later messages: a stream that ended inside a line
// cannot be continued.
type LineWriter struct {
	w      io.Writer
	finish func() // is writeAll: a method value allocates whenever it is made

	mu        sync.Mutex
	waiting   []byte
	spare     []byte // was waiting before; used again
	writing   bool   // a goroutine writes everything that is waiting
	err       error
	changed   event // after each Write
	onFailing func(error)
}

const (
	// maxWaitingBytes is how many bytes wait before senders have to wait.
	maxWaitingBytes = 1 << 20
	// maxRounds limits how often the goroutine of one sender calls Write for all senders.
	maxRounds = 4
)

var errLineFeed = errors.New("message contains a line feed")

// NewLineWriter returns a LineWriter for w. It never closes w. Closing w ends a Write that blocks.
func NewLineWriter(w io.Writer) *LineWriter {
	l := &LineWriter{w: w}
	l.finish = l.writeAll
	return l
}

// WriteMessage implements [Writer]. If ctx cannot end and no other goroutine is writing, it writes
// the message in the calling goroutine, which is faster than waking another goroutine. Requests are
// always written by another goroutine, because their senders must be able to time out.
func (l *LineWriter) WriteMessage(ctx context.Context, data []byte) error {
	return l.WriteWithInfo(ctx, MessageInfo{}, data)
}

// WriteWithInfo implements [InfoWriter]. If more messages are likely to follow, it yields before it
// writes, so that they are written together.
func (l *LineWriter) WriteWithInfo(ctx context.Context, e MessageInfo, data []byte) error {
	if bytes.IndexByte(data, '\n') >= 0 {
		return fmt.Errorf("%w: %w", ErrNotWritten, errLineFeed)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	isRequest := e.Method != "" && !e.ID.IsZero()
	if isRequest && e.Patience >= 0 && len(l.waiting) >= maxWaitingBytes {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, e.Patience, errNotAccepted)
		defer cancel()
	}
	for l.err == nil && len(l.waiting) >= maxWaitingBytes {
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
	if isRequest || ctx.Done() != nil || !l.write(maxRounds) {
		go l.finish() // ends when nothing is waiting, or when w is closed
		return nil
	}
	return l.err
}

// tryWriteMessage implements tryWriter. It accepts a message only if no goroutine is writing.
func (l *LineWriter) tryWriteMessage(data []byte) bool {
	if bytes.IndexByte(data, '\n') >= 0 {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.writing || l.err != nil {
		return false
	}
	l.waiting = append(append(l.waiting, data...), '\n')
	l.writing = true
	go l.finish() // ends when nothing is waiting, or when w is closed
	return true
}

// Flush waits until all accepted messages have been written, at most until ctx ends.
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

// onFailure implements failingWriter: f is called if an accepted message cannot be written.
func (l *LineWriter) onFailure(f func(error)) {
	l.mu.Lock()
	l.onFailing = f
	l.mu.Unlock()
}

// writeAll writes until nothing is waiting.
func (l *LineWriter) writeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.write(maxRounds) {
	}
}

// write writes what is waiting, and then what has arrived meanwhile, for a limited number of
// rounds. It reports whether nothing is waiting any more. The lock is held, except during a Write.
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
		if cap(out) <= buffer.MaxPooled {
			l.spare = out[:0]
		}
		l.changed.signal()
		if err != nil {
			l.fail(err)
		}
	}
	l.writing = false
	l.changed.signal()
	return true
}

// fail stops the writer because of an error of the stream.
func (l *LineWriter) fail(err error) {
	l.err, l.waiting, l.spare = err, nil, nil
	if f := l.onFailing; f != nil {
		l.mu.Unlock()
		f(err)
		l.mu.Lock()
	}
}

// wait waits for the end of a Write. The lock is held, except while waiting.
func (l *LineWriter) wait(ctx context.Context) error {
	changed := l.changed.wait(false)
	l.mu.Unlock()
	defer l.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
