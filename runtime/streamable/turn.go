package streamable

import "sync"

// turn is a lock for what is held while a client is written to. To wait for it is
// to wait for the client, which may take long: unlike for a [sync.Mutex], a test
// with a time of its own lets that pass meanwhile.
type turn struct {
	mu    sync.Mutex
	taken bool
	free  *sync.Cond // made by the first who has to wait
}

// Lock implements [sync.Locker].
func (t *turn) Lock() {
	t.mu.Lock()
	for t.taken {
		if t.free == nil {
			t.free = sync.NewCond(&t.mu)
		}
		t.free.Wait()
	}
	t.taken = true
	t.mu.Unlock()
}

// TryLock is Lock without waiting. It returns whether the lock was free.
func (t *turn) TryLock() bool {
	t.mu.Lock()
	was := t.taken
	t.taken = true
	t.mu.Unlock()
	return !was
}

// Unlock implements [sync.Locker].
func (t *turn) Unlock() {
	t.mu.Lock()
	t.taken = false
	if t.free != nil {
		t.free.Signal()
	}
	t.mu.Unlock()
}
