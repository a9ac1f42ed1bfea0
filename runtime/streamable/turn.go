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
	defer t.mu.Unlock()
	for t.taken {
		if t.free == nil {
			t.free = sync.NewCond(&t.mu)
		}
		t.free.Wait()
	}
	t.taken = true
}

// TryLock is Lock without waiting. It returns whether the lock was free.
func (t *turn) TryLock() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.taken
	t.taken = true
	return !was
}

// Unlock implements [sync.Locker].
func (t *turn) Unlock() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken = false
	if t.free != nil {
		t.free.Signal()
	}
}
