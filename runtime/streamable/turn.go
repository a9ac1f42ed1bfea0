package streamable

import (
	"sync"
	"sync/atomic"
)

// turn is a lock for what is held while a client is written to. To wait for it is
// to wait for the client, which may take long: unlike for a [sync.Mutex], a test
// with a time of its own lets that pass meanwhile.
type turn struct {
	taken   atomic.Bool
	waiting atomic.Int32
	line    atomic.Pointer[line] // made by the first who has to wait
}

// line is where those stand who wait for their turn.
type line struct {
	mu   sync.Mutex // held while somebody begins or ends to wait
	free *sync.Cond
}

// Lock implements [sync.Locker].
func (t *turn) Lock() {
	if !t.TryLock() {
		t.wait()
	}
}

// TryLock is Lock without waiting. It returns whether the lock was free.
func (t *turn) TryLock() bool { return t.taken.CompareAndSwap(false, true) }

// wait is Lock where somebody else has it. Who looks whether it is free has said
// before that he waits, so that Unlock does not miss him.
func (t *turn) wait() {
	l := t.line.Load()
	if l == nil {
		l = new(line)
		l.free = sync.NewCond(&l.mu)
		if !t.line.CompareAndSwap(nil, l) {
			l = t.line.Load()
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	t.waiting.Add(1)
	for !t.TryLock() {
		l.free.Wait()
	}
	t.waiting.Add(-1)
}

// Unlock implements [sync.Locker].
func (t *turn) Unlock() {
	t.taken.Store(false)
	if t.waiting.Load() > 0 {
		t.wake()
	}
}

// wake wakes one who waits.
func (t *turn) wake() {
	l := t.line.Load()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free.Signal()
}
