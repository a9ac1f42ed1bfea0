package jsonrpc

import "sync"

// lane does one thing after another, in the order in which they were put on
// it. Its goroutine is there only while there is something to do. Its lock is
// taken under no other and takes no other.
type lane[T any] struct {
	do        func(T)
	limit     int             // how many may wait
	mostWeigh int             // how heavy what waits may be, unless it is one alone
	tasks     *sync.WaitGroup // counts the goroutine

	mu      sync.Mutex
	waiting []load[T]
	one     [1]load[T] // where waiting begins, which seldom gets longer
	weight  int
	busy    bool
	calm    moment // when nothing is waiting or being done
	ended   bool
}

// load is one thing on a lane, and how heavy it is.
type load[T any] struct {
	x      T
	weight int
}

// put reports whether x will be done: not if too much is waiting, and not after
// the end.
func (l *lane[T]) put(x T, weight int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended || len(l.waiting) >= l.limit || l.weight > 0 && l.weight+weight > l.mostWeigh {
		return false
	}
	if len(l.waiting) == 0 {
		l.waiting = l.one[:0]
	}
	l.waiting = append(l.waiting, load[T]{x, weight})
	l.weight += weight
	if !l.busy {
		l.busy = true
		l.tasks.Add(1)
		go l.run() // ends when nothing is waiting
	}
	return true
}

// run does what is waiting. Should something end the goroutine, as a failing
// test does, another one goes on.
func (l *lane[T]) run() {
	defer l.tasks.Done()
	done := false
	defer func() {
		if !done {
			l.tasks.Add(1)
			go l.run() // ends as this one should have
		}
	}()
	for {
		x, ok := l.next()
		if !ok {
			done = true
			return
		}
		l.do(x)
	}
}

// next takes what has waited longest.
func (l *lane[T]) next() (x T, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 {
		l.waiting, l.busy = nil, false
		l.calm.come()
		return x, false
	}
	first := l.waiting[0]
	l.waiting[0] = load[T]{}
	l.waiting = l.waiting[1:]
	l.weight -= first.weight
	return first.x, true
}

// done returns a channel that is closed when nothing is waiting or being done.
func (l *lane[T]) done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calm.await(!l.busy)
}

// end lets nothing more be put on the lane. What is waiting is still done.
func (l *lane[T]) end() {
	l.mu.Lock()
	l.ended = true
	l.mu.Unlock()
}
