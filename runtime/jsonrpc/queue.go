package jsonrpc

import "sync"

// queue calls a function with one item after another, in the order in which they were added. It has
// a goroutine only while it has items. Its lock is a leaf: it is taken under no other lock, and no
// other lock is taken under it. It has no type parameter for the same reason as an [idTable].
type queue struct {
	do       func(item any)
	maxItems int             // limits the waiting items
	maxSize  int             // limits the size of the waiting items together; one item may exceed it
	tasks    *sync.WaitGroup // counts the goroutine

	mu      sync.Mutex
	waiting []queued
	first   [1]queued // the array of waiting, which seldom grows
	size    int
	busy    bool
	idle    event // when no item is waiting or being processed
	closed  bool
}

// queued is an item of a queue.
type queued struct {
	item any
	size int
}

// add adds an item and reports whether it will be processed. It reports false if the queue is full
// or closed.
func (q *queue) add(item any, size int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || len(q.waiting) >= q.maxItems || q.size > 0 && q.size+size > q.maxSize {
		return false
	}
	if len(q.waiting) == 0 {
		q.waiting = q.first[:0]
	}
	q.waiting = append(q.waiting, queued{item, size})
	q.size += size
	if !q.busy {
		q.busy = true
		q.tasks.Add(1)
		go q.run() // ends when no item is waiting
	}
	return true
}

// run processes the items. If an item ends the goroutine, as a failing test does, another goroutine
// continues.
func (q *queue) run() {
	defer q.tasks.Done()
	done := false
	defer func() {
		if !done {
			q.tasks.Add(1)
			go q.run() // ends when no item is waiting
		}
	}()
	for {
		item, ok := q.next()
		if !ok {
			done = true
			return
		}
		q.do(item)
	}
}

// next removes and returns the oldest item.
func (q *queue) next() (item any, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.waiting, q.busy = nil, false
		q.idle.signal()
		return item, false
	}
	oldest := q.waiting[0]
	q.waiting[0] = queued{}
	q.waiting = q.waiting[1:]
	q.size -= oldest.size
	return oldest.item, true
}

func (q *queue) isBusy() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.busy
}

// processed returns a channel that is closed when no item is waiting or being processed.
func (q *queue) processed() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.idle.wait(!q.busy)
}

// close makes the queue refuse further items. The waiting items are still processed.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
}

// event wakes the goroutines that wait for something. The owner's lock guards it.
type event struct{ ch chan struct{} } // nil if no goroutine waits

// signal wakes the goroutines that wait.
func (e *event) signal() {
	if e.ch != nil {
		close(e.ch)
		e.ch = nil
	}
}

// wait returns a channel that is closed by the next signal. It is closed already if the event has
// happened.
func (e *event) wait(happened bool) <-chan struct{} {
	if happened {
		return closedChannel
	}
	if e.ch == nil {
		e.ch = make(chan struct{})
	}
	return e.ch
}

var closedChannel = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// waitGroup waits for a group, at most until done is closed. It reports whether the group is done.
func waitGroup(done <-chan struct{}, g *sync.WaitGroup) bool {
	finished := make(chan struct{})
	go func() { // ends when the group is done
		g.Wait()
		close(finished)
	}()
	select {
	case <-finished:
		return true
	case <-done:
		return false
	}
}
