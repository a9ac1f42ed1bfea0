package jsonrpc

import (
	"context"
	"sync"
	"sync/atomic"
)

// backChannel controls when a handler may send messages that belong to the message it handles. It
// is closed when the handler returns: nothing that belongs to a request follows its response. The
// zero backChannel is open. Most handlers send nothing, so the state is allocated with the first
// use.
type backChannel struct {
	state atomic.Pointer[backChannelState]
}

// backChannelState is the state of a backChannel.
//
// The lock is held while a message is written: exclusively for a progress report, so that reports
// are sent in the order in which they were compared, and shared for all other messages. The only
// locks taken under it belong to the Writer; in process, they belong to the caller's progress
// callback and to the table with its deadline.
type backChannelState struct {
	mu       sync.RWMutex
	closed   atomic.Bool
	reported bool
	last     float64 // the progress reported last

	questions atomic.Int32 // requests to the peer that the handler waits for
}

// closedUnused is the state of every backChannel that was closed before it was used.
var closedUnused = func() *backChannelState {
	s := new(backChannelState)
	s.closed.Store(true)
	return s
}()

// use returns the state, which it allocates if necessary.
func (b *backChannel) use() *backChannelState {
	s := b.state.Load()
	if s == nil {
		if made := new(backChannelState); b.state.CompareAndSwap(nil, made) {
			return made
		}
		s = b.state.Load()
	}
	return s
}

// enter reports whether a message may be sent. If so, leave must be called afterwards.
func (b *backChannel) enter() bool {
	s := b.use()
	s.mu.RLock()
	return s.entered()
}

// tryEnter is like enter, but reports false if it would have to wait.
func (b *backChannel) tryEnter() bool {
	s := b.use()
	return s.mu.TryRLock() && s.entered()
}

// entered completes enter: it releases the lock if the channel is closed.
func (s *backChannelState) entered() bool {
	if s.closed.Load() {
		s.mu.RUnlock()
		return false
	}
	return true
}

func (b *backChannel) leave() { b.state.Load().mu.RUnlock() }

// countQuestions adds n to the requests to the peer that the handler waits for.
func (b *backChannel) countQuestions(n int32) { b.use().questions.Add(n) }

// asks reports whether the handler waits for a response of the peer.
func (b *backChannel) asks() bool {
	s := b.state.Load()
	return s != nil && s.questions.Load() > 0
}

// isOpen reports whether a message may be sent now.
func (b *backChannel) isOpen() bool {
	s := b.state.Load()
	return s == nil || !s.closed.Load()
}

// report calls send, unless the channel is closed or the progress is not greater than the progress
// reported before.
func (b *backChannel) report(progress float64, send func() error) error {
	s := b.use()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() || s.reported && progress <= s.last {
		return nil
	}
	if err := send(); err != nil {
		return err
	}
	s.reported, s.last = true, progress
	return nil
}

// close closes the channel after the messages that are being written.
func (b *backChannel) close() {
	if !b.state.CompareAndSwap(nil, closedUnused) {
		s := b.state.Load()
		s.mu.Lock()
		s.closed.Store(true)
		s.mu.Unlock()
	}
}

// closeNow closes the channel without waiting for the messages that are being written.
func (b *backChannel) closeNow() {
	if !b.state.CompareAndSwap(nil, closedUnused) {
		b.state.Load().closed.Store(true)
	}
}

// outlet is a Writer, and the back channel of the request that its messages belong to.
type outlet struct {
	Writer
	back *backChannel // nil for messages that belong to no request
}

// write writes a message, unless its back channel is closed.
func (o outlet) write(ctx context.Context, e MessageInfo, data []byte) error {
	if o.back != nil {
		if !o.back.enter() {
			return errResponded
		}
		defer o.back.leave()
	}
	if w, ok := o.Writer.(InfoWriter); ok {
		return w.WriteWithInfo(ctx, e, data)
	}
	return o.WriteMessage(ctx, data)
}
